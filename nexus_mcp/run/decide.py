"""Decide the next step of a task from its attempts: one pure function, without files, clocks or processes.

RULES has a row for each failure category but `blocked` and `limit`: how often the session is resumed, and what the next
attempt is, or that the task pauses. JUDGEMENT of outcome.py decides how the task ends when its tiers are used up.
"Escalate" is the next attempt at the same tier while it has attempts left, then at the next tier. Where a trigger of
triggers.py is on, a question comes first, and its answer in the log decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from nexus_mcp.run.config import RunConfig, Strategy, Tier, Trigger
from nexus_mcp.run.outcome import JUDGEMENT, Category, Outcome
from nexus_mcp.run.triggers import question_text, read
from nexus_mcp.wording import and_more

Scope = Literal["task", "run"]
_LITE: Strategy = "tdd-lite"
_STRICT: Strategy = "three-session-tdd"
_NO_BUDGET: frozenset[Category] = frozenset(("environment", "blocked", "limit"))
"""Attempts that end with these categories do not count: they say nothing about the model."""
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a task. `mends` are the outcomes of its earlier sessions that were mended, oldest first.

    `outcome` is the last one, None while the attempt runs. `is_merged`: its commit is part of the integration branch.
    `answers` maps a trigger to the answer to its question about the present outcome. `is_reviewed`: a reviewer accepted
    the work. `security` are the reasons for `security-review`: files and findings.
    """

    number: int
    tier: Tier
    strategy: Strategy
    outcome: Outcome | None = None
    mends: tuple[Outcome, ...] = ()
    is_merged: bool = False
    answers: Mapping[Trigger, str] = field(default_factory=dict)
    is_reviewed: bool = False
    security: tuple[str, ...] = ()


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
    """What the run has used so far. If `is_cost_reported` is false, a session reported no cost, and `cost_usd` is too
    low. `cost_answer` is the answer to `cost-warning`, None without one.
    """

    cost_usd: float = 0.0
    minutes: float = 0.0
    attempts: int = 0
    is_cost_reported: bool = True
    cost_answer: str | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """Begin an attempt. `base`: at the commit of the previous attempt (`previous`) or of the integration branch.

    `advise`: ask the advisor first. `findings` go into the brief.
    """

    number: int
    tier: Tier
    strategy: Strategy
    base: Literal["integration", "previous"] = "integration"
    advise: bool = False
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mend:
    """Resume the session of the last attempt with these findings. It uses up no attempt.

    `why` is None if a person wants a change of accepted work.
    """

    findings: str
    why: Category | None


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
    """The task failed: no tier is left, or the answer to a question was `abort`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave the task out, as a person or the fallback answered."""

    reason: str


@dataclass(frozen=True, slots=True)
class Retry:
    """Give the task new attempts, as a person answered."""


@dataclass(frozen=True, slots=True)
class Halt:
    """Start nothing new in the whole run; the task keeps its state. `is_limit`: the run ends as if a limit was
    reached.
    """

    reason: str
    is_limit: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a person. The answer gets into the log, and the next decision depends on it."""

    trigger: Trigger
    question: str


Action = Start | Mend | Merge | Complete | Pause | Fail | Skip | Retry | Halt | Ask


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule for failures of one category. `mends`: how often the session is resumed first; None means as often as
    `mend` in the config.

    `then`: the next attempt escalates or stays at the tier, or the task pauses. `lite`: after these strategies the next
    attempt takes a less strict one: tdd-lite, then test-after. `once`: `then` applies only to the first of several such
    attempts in a row.
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
"""`blocked` and `limit` have no row: `blocked` asks the question `story-ambiguity`, and `limit` pauses the run."""


def decide(task: Task, attempts: tuple[Attempt, ...], config: RunConfig, spent: Limits) -> Action | None:
    """Return the next step of the task; None while its last attempt runs.

    `attempts` are those since the last `run retry`, oldest first. A Start has the highest of their numbers plus 1; the
    log numbers a new attempt after all attempts of the task.
    """
    last = attempts[-1] if attempts else None
    if last is not None and last.outcome is None:
        return None
    accepted: Action | None = None
    if last is not None and last.outcome is not None and last.outcome.ok:
        accepted = Complete() if last.is_merged else _before_merge(task, attempts, last, config)
        if not isinstance(accepted, Mend | Start):
            return accepted
    over = _over(config, spent)
    if over and not (last is not None and last.outcome is not None and last.outcome.category == "limit"):
        return Ask("cost-exceeded", over)
    warned = _cost_step(config, spent)
    if warned is not None or accepted is not None:
        return warned or accepted
    if last is None or last.outcome is None:
        return Start(1, config.tiers[0].tier, task.strategy)
    return _after(task, attempts, last, last.outcome, config)


def decide_unjudged(task: Task, attempts: tuple[Attempt, ...], config: RunConfig, reason: str) -> Action:
    """Return the next step of a task whose last attempt only a person can judge; `reason` says why."""
    return _judged_by_person(reason, task, attempts, config)


def _judged_by_person(reason: str, task: Task, attempts: tuple[Attempt, ...], config: RunConfig) -> Action:
    text = f"A person has to judge task {task.id}: {reason}"
    return _question("human-review", text, task, attempts, config) or Pause(reason)


def _before_merge(task: Task, attempts: tuple[Attempt, ...], last: Attempt, config: RunConfig) -> Action:
    """Return the step for accepted work: a question, the effect of its answer, or the merge."""
    for trigger, text in _gates(task, attempts, last):
        step = _question(trigger, text, task, attempts, config)
        if step is not None:
            return step
    return Merge()


def _gates(task: Task, attempts: tuple[Attempt, ...], last: Attempt) -> Iterator[tuple[Trigger, str]]:
    """Yield each trigger that concerns the merge of accepted work, with its question, in the order of asking."""
    reasons = tuple(dict.fromkeys(reason for attempt in attempts for reason in attempt.security))
    if reasons:  # of all attempts: a later one may begin with the files of an earlier one
        more = and_more(len(reasons) - _SHOWN)
        yield "security-review", f"Task {task.id} concerns security: {'; '.join(reasons[:_SHOWN])}{more}. Merge it?"
    if last.is_reviewed:
        yield "review-gate", f"The reviewers accepted attempt {last.number} of task {task.id}. Do you accept it, too?"
    yield "pre-merge", f"Attempt {last.number} of task {task.id} is verified. Merge it into the integration branch?"


def _question(
    trigger: Trigger, text: str, task: Task, attempts: tuple[Attempt, ...], config: RunConfig
) -> Action | None:
    """Return the step that a trigger leads to: its question, or the effect of the answer.

    Return None if the trigger is off, or if the answer is `continue`. An answer in the log counts even if the trigger
    was switched off later: work that a person refused is not merged.
    """
    last = attempts[-1]
    answer = last.answers.get(trigger)
    if answer is None:
        return Ask(trigger, question_text(trigger, text)) if config.questions.asks(trigger) else None
    reason = f"{trigger}: {text}"
    match read(trigger, answer):
        case "continue":
            return None
        case "retry":
            return Retry()
        case "skip":
            return Skip(reason)
        case "escalate":
            return Pause(reason)
        case "abort":
            return Fail(reason)
    category, why = (None, "") if last.outcome is None else (last.outcome.category, last.outcome.reason)
    findings = f"{why}\n\nA person answered:\n{answer}" if why else answer
    return Mend(findings, category) if task.can_resume else _same_tier(last, attempts, (findings,))


def _cost_step(config: RunConfig, spent: Limits) -> Action | None:
    """Return the question `cost-warning`, or the effect of its answer; None if the run continues."""
    limit = config.max_cost_usd
    if limit is None or not config.questions.asks("cost-warning"):
        return None
    if spent.cost_answer is None and spent.cost_usd < limit * config.cost_warning:
        return None
    reason = f"The run has cost {spent.cost_usd:.2f} USD; its limit is {limit:.2f} USD."
    if spent.cost_answer is None:
        return Ask("cost-warning", question_text("cost-warning", reason))
    answer = read("cost-warning", spent.cost_answer)
    return None if answer == "continue" else Halt(reason, is_limit=answer == "abort")


def _after(task: Task, attempts: tuple[Attempt, ...], last: Attempt, outcome: Outcome, config: RunConfig) -> Action:
    category = outcome.category
    assert category is not None
    if category == "limit":
        return Pause(outcome.reason, "run")
    if category == "blocked":
        answer = last.answers.get("story-ambiguity")
        if answer is None:
            return Ask("story-ambiguity", outcome.reason)
        return Mend(answer, category) if task.can_resume else _same_tier(last, attempts, (answer,))
    rule = RULES[category]
    if _may_mend(rule, last, outcome, config) and task.can_resume:
        mend = Mend(outcome.reason, category)
        if category != "merge-conflict":
            return mend
        text = f"{outcome.reason} Shall the author of task {task.id} resolve it?"
        return _question("merge-conflict", text, task, attempts, config) or mend
    if rule.then == "pause":
        return _judged_by_person(outcome.reason, task, attempts, config)
    if category == "environment" and _times(attempts, category) > 1:
        return Pause(outcome.reason, "run")
    if last.strategy in rule.lite:
        strategy: Strategy = _LITE if last.strategy == _STRICT else "test-after"
        return _same_tier_or_end(task, attempts, last, config, strategy)
    if rule.then == "same-tier" and (not rule.once or _times(attempts, category) == 1):
        if category in ("environment", "harness-failure"):
            return _same_tier(last, attempts, ())
        return _same_tier_or_end(task, attempts, last, config, last.strategy, base="integration")
    return _escalate(task, attempts, last, config)


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


def count_used(attempts: tuple[Attempt, ...], tier: Tier) -> int:
    """Return how many attempts count for the budget of a tier. A harness-failure counts only if the attempt before it
    ended with a harness-failure, too.
    """
    count = 0
    before: Category | None = None
    for attempt in attempts:
        category = None if attempt.outcome is None else attempt.outcome.category
        is_free = category in _NO_BUDGET or (category == "harness-failure" and before != "harness-failure")
        count += attempt.tier == tier and not is_free
        before = category
    return count


def _escalate(task: Task, attempts: tuple[Attempt, ...], last: Attempt, config: RunConfig) -> Action:
    tier = _next_tier(attempts, last, config)
    if tier is None:
        return _end(task, attempts, config)
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
        if count_used(attempts, budget.tier) < budget.attempts:
            return budget.tier
    return None


def _same_tier_or_end(  # noqa: PLR0917
    task: Task,
    attempts: tuple[Attempt, ...],
    last: Attempt,
    config: RunConfig,
    strategy: Strategy,
    base: Literal["integration", "previous"] = "previous",
) -> Action:
    """Return an attempt at the same tier while it has attempts left, else one at the next tier."""
    tier = _next_tier(attempts, last, config)
    if tier is None:
        return _end(task, attempts, config)
    if tier != last.tier:
        base = "previous"
    return Start(_next_number(attempts), tier, strategy, base=base, findings=_findings(last))


def _same_tier(last: Attempt, attempts: tuple[Attempt, ...], findings: tuple[str, ...]) -> Start:
    """Return an attempt that repeats the last one, even if the tier has no attempts left."""
    return Start(_next_number(attempts), last.tier, last.strategy, base="previous", findings=findings)


def _end(task: Task, attempts: tuple[Attempt, ...], config: RunConfig) -> Action:
    """Return the end of a task whose tiers are used up: paused if a person has to judge an attempt, else failed. If the
    trigger `max-retries` is on, its question comes first; if not, `human-review` may ask before a pause.
    """
    last = attempts[-1].outcome
    reason = "" if last is None else last.reason
    is_judged = any(one.outcome is not None and one.outcome.category in JUDGEMENT for one in attempts)
    question = _question("max-retries", f"The attempts of task {task.id} are used up: {reason}", task, attempts, config)
    if question is not None:
        return question
    return _judged_by_person(reason, task, attempts, config) if is_judged else Fail(reason)


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
        return f"A session reported no cost, so {limit} cannot be enforced. Set run.prices, or leave the limit out."
    if config.max_minutes is not None and spent.minutes >= config.max_minutes:
        return f"The run has taken {spent.minutes:.0f} minutes; its limit is {config.max_minutes}."
    if config.max_attempts is not None and spent.attempts >= config.max_attempts:
        return f"The run has made {spent.attempts} attempts; its limit is {config.max_attempts}."
    return ""
