"""Decide the next step of a task from its attempts: one pure function, without files, clocks or processes.

RULES has a row for each failure category: how often the session is resumed, what the next attempt is, and how the task
ends when its tiers are used up. "Escalate" is the next attempt at the same tier while it has attempts left, then at the
next tier.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from nexus_mcp.run.config import RunConfig, Strategy, Tier, Trigger
from nexus_mcp.run.outcome import JUDGEMENT, Category, Outcome

Scope = Literal["task", "run"]
_LITE: Strategy = "tdd-lite"
_STRICT: Strategy = "three-session-tdd"
_NO_BUDGET: frozenset[Category] = frozenset(("environment", "blocked", "limit"))
"""Attempts that end with these categories do not count: they say nothing about the model."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a task. `mends` are the outcomes of its earlier sessions that were mended, oldest first.

    `outcome` is the last one, None while the attempt runs. `is_merged`: its commit is part of the integration branch.
    `answer` is the answer to its question, None without one.
    """

    number: int
    tier: Tier
    strategy: Strategy
    outcome: Outcome | None = None
    mends: tuple[Outcome, ...] = ()
    is_merged: bool = False
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """The facts of a task that the decision depends on. `strategy` is that of the first attempt.

    `is_work`: the task has to change files. `can_resume`: its harness can resume a session.
    """

    id: int
    strategy: Strategy
    is_work: bool = True
    can_resume: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    """What the run has used so far. Without `is_cost_reported`, a session reported no cost, and `cost_usd` is only a
    part.
    """

    cost_usd: float = 0.0
    minutes: float = 0.0
    attempts: int = 0
    is_cost_reported: bool = True


@dataclass(frozen=True, slots=True)
class Start:
    """Begin an attempt. `base`: at the commit of the previous attempt (`previous`) or of the integration branch.

    `again_setup`: run the setup commands again. `advise`: ask the advisor first. `findings` go into the brief.
    """

    number: int
    tier: Tier
    strategy: Strategy
    base: Literal["integration", "previous"] = "integration"
    again_setup: bool = False
    advise: bool = False
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mend:
    """Resume the session of the last attempt with these findings. It uses up no attempt."""

    findings: str
    why: Category


@dataclass(frozen=True, slots=True)
class Merge:
    """Merge the commit of the last attempt into the integration branch."""


@dataclass(frozen=True, slots=True)
class Complete:
    """The task is done and merged."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A person is needed: for this task, or for the whole run."""

    reason: str
    scope: Scope = "task"


@dataclass(frozen=True, slots=True)
class Fail:
    """The task failed, and no tier is left."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a person; the answer goes into a resumed session."""

    trigger: Trigger
    question: str


Action = Start | Mend | Merge | Complete | Pause | Fail | Ask


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule for failures of one category. `mends`: how often the session is resumed first; None means as often as
    `mend` in the config.

    `then`: the next attempt escalates or stays at the tier, or the task pauses. `lite`: a strict strategy becomes
    tdd-lite at the same tier first. `once`: `then` applies to the first such attempt of the task; later ones escalate.
    """

    mends: int | None = 0
    then: Literal["escalate", "same-tier", "pause"] = "escalate"
    once: bool = False
    lite: tuple[Strategy, ...] = field(default=())


RULES: dict[Category, Rule] = {
    "environment": Rule(then="same-tier", once=True),
    "harness-failure": Rule(then="same-tier", once=True),
    "session-failure": Rule(),
    "isolation-violation": Rule(lite=(_STRICT,)),
    "no-change": Rule(mends=1),
    "no-tests": Rule(lite=(_STRICT, _LITE)),
    "tests-failing": Rule(mends=None),
    "verifier-rejected": Rule(mends=1),
    "merge-conflict": Rule(mends=1, then="pause"),
    "regression": Rule(mends=1, then="pause"),
    "capability-violation": Rule(then="same-tier", once=True),
}
"""`blocked` and `limit` have no row: the run asks a person."""


def decide(task: Task, attempts: tuple[Attempt, ...], config: RunConfig, spent: Limits) -> Action | None:
    """Return the next step of the task; None while its last attempt runs.

    `attempts` are all attempts of the task, oldest first. The number of a new attempt is one more than the highest.
    """
    last = attempts[-1] if attempts else None
    if last is not None and last.outcome is None:
        return None
    if last is not None and last.outcome is not None and last.outcome.ok:
        return Complete() if last.is_merged else Merge()
    over = _over(config, spent)
    if over and not (last is not None and last.outcome is not None and last.outcome.category == "limit"):
        return Ask("cost-exceeded", over)
    if last is None or last.outcome is None:
        return Start(1, config.tiers[0].tier, task.strategy)
    return _after(task, attempts, last, last.outcome, config)


def _after(task: Task, attempts: tuple[Attempt, ...], last: Attempt, outcome: Outcome, config: RunConfig) -> Action:
    category = outcome.category
    assert category is not None
    if category == "limit":
        return Pause(outcome.reason, "run")
    if category == "blocked":
        if last.answer is None:
            return Ask("story-ambiguity", outcome.reason)
        return Mend(last.answer, category) if task.can_resume else _same_tier(last, attempts, (last.answer,))
    rule = RULES[category]
    if _may_mend(rule, last, outcome, config) and task.can_resume:
        return Mend(outcome.reason, category)
    if rule.then == "pause":
        return Pause(outcome.reason)
    if category == "environment" and _times(attempts, category) > 1:
        return Pause(outcome.reason, "run")
    if last.strategy in rule.lite:
        strategy: Strategy = _LITE if last.strategy == _STRICT else "test-after"
        return _same_tier_or_end(attempts, last, config, strategy)
    if rule.then == "same-tier" and (not rule.once or _times(attempts, category) == 1):
        if category in ("environment", "harness-failure"):
            return _same_tier(last, attempts, (), again_setup=category == "environment")
        return _same_tier_or_end(attempts, last, config, last.strategy, base="integration")
    return _escalated(task, attempts, last, config)


def _may_mend(rule: Rule, last: Attempt, outcome: Outcome, config: RunConfig) -> bool:
    """Return whether the session may be resumed with the findings: resumes are left, and the last one did not add
    failures.
    """
    same = [mend for mend in last.mends if mend.category == outcome.category]
    most = config.mend if rule.mends is None else min(rule.mends, config.mend) if config.mend else 0
    if len(same) >= most:
        return False
    before = same[-1].failures if same else None
    return before is None or outcome.failures is None or outcome.failures <= before


def _times(attempts: tuple[Attempt, ...], category: Category) -> int:
    """Return how many attempts in a row, up to the last one, ended with this category."""
    count = 0
    for attempt in reversed(attempts):
        if attempt.outcome is None or attempt.outcome.category != category:
            break
        count += 1
    return count


def used(attempts: tuple[Attempt, ...], tier: Tier) -> int:
    """Return how many attempts count for the budget of a tier. Of several harness-failures in a row, the first does not
    count.
    """
    count = 0
    before: Category | None = None
    for attempt in attempts:
        category = None if attempt.outcome is None else attempt.outcome.category
        is_free = category in _NO_BUDGET or (category == "harness-failure" and before != "harness-failure")
        count += attempt.tier == tier and not is_free
        before = category
    return count


def _escalated(task: Task, attempts: tuple[Attempt, ...], last: Attempt, config: RunConfig) -> Action:
    tier = _next_tier(attempts, last, config)
    if tier is None:
        return _end(attempts)
    escalations = sum(before.tier != after.tier for before, after in pairwise(attempts))
    is_second = config.advisor and task.is_work and tier != last.tier and escalations == 1
    return Start(
        _next_number(attempts), tier, last.strategy, base="previous", advise=is_second, findings=_findings(last)
    )


def _next_tier(attempts: tuple[Attempt, ...], last: Attempt, config: RunConfig) -> Tier | None:
    """Return the tier of the next attempt; None when all are used up."""
    names = [one.tier for one in config.tiers]
    at = names.index(last.tier) if last.tier in names else 0
    for budget in config.tiers[at : None if config.escalate else at + 1]:
        if used(attempts, budget.tier) < budget.attempts:
            return budget.tier
    return None


def _same_tier_or_end(
    attempts: tuple[Attempt, ...],
    last: Attempt,
    config: RunConfig,
    strategy: Strategy,
    base: Literal["integration", "previous"] = "previous",
) -> Action:
    """Return an attempt at the same tier while it has attempts left, else one at the next tier."""
    tier = _next_tier(attempts, last, config)
    if tier is None:
        return _end(attempts)
    if tier != last.tier:
        base = "previous"
    return Start(_next_number(attempts), tier, strategy, base=base, findings=_findings(last))


def _same_tier(
    last: Attempt, attempts: tuple[Attempt, ...], findings: tuple[str, ...], *, again_setup: bool = False
) -> Start:
    """Return an attempt that repeats the last one without using up its budget."""
    return Start(
        _next_number(attempts), last.tier, last.strategy, base="previous", again_setup=again_setup, findings=findings
    )


def _end(attempts: tuple[Attempt, ...]) -> Action:
    """Return the end of a task whose tiers are used up: paused if a person has to judge an attempt, else failed."""
    last = attempts[-1].outcome
    reason = "" if last is None else last.reason
    is_judged = any(one.outcome is not None and one.outcome.category in JUDGEMENT for one in attempts)
    return Pause(reason) if is_judged else Fail(reason)


def _findings(last: Attempt) -> tuple[str, ...]:
    return (last.outcome.reason,) if last.outcome is not None and last.outcome.reason else ()


def _next_number(attempts: tuple[Attempt, ...]) -> int:
    return 1 + max((one.number for one in attempts), default=0)


def _over(config: RunConfig, spent: Limits) -> str:
    """Return the limit that the run has reached as a sentence; "" for none."""
    if config.max_cost_usd is not None and spent.cost_usd >= config.max_cost_usd:
        return f"The run has cost {spent.cost_usd:.2f} USD; its limit is {config.max_cost_usd:.2f} USD."
    if config.max_cost_usd is not None and not spent.is_cost_reported:
        limit = f"the limit of {config.max_cost_usd:.2f} USD"
        return f"A session reported no cost, so {limit} cannot hold. Set run.prices, or leave the limit out."
    if config.max_minutes is not None and spent.minutes >= config.max_minutes:
        return f"The run has taken {spent.minutes:.0f} minutes; its limit is {config.max_minutes}."
    if config.max_attempts is not None and spent.attempts >= config.max_attempts:
        return f"The run has made {spent.attempts} attempts; its limit is {config.max_attempts}."
    return ""
