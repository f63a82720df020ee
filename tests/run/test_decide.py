"""The next step of a task: two tables by name, each failure category, and invariants of any history."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.run.config import TIERS, RunConfig, TierBudget
from nexus_mcp.run.decide import (
    RULES,
    Action,
    Ask,
    Attempt,
    Complete,
    Fail,
    Limits,
    Mend,
    Merge,
    Pause,
    Start,
    Task,
    count_used,
    decide,
)
from nexus_mcp.run.outcome import JUDGEMENT, Category, Outcome

WORK = Task(3, "test-after")
STRICT = Task(3, "three-session-tdd")
NONE = Limits()


def _config(**values: Any) -> RunConfig:
    return RunConfig.model_validate({"mend": 0, **values})


def _failed(category: Category, failures: int | None = None) -> Outcome:
    return Outcome(category, f"it was {category}", failures)


def _play(task: Task, config: RunConfig, *outcomes: Outcome) -> list[Action]:
    """Return the actions that these outcomes of attempts lead to, the first start included."""
    attempts: tuple[Attempt, ...] = ()
    actions: list[Action] = []
    for outcome in outcomes:
        action = decide(task, attempts, config, NONE)
        assert action is not None
        actions.append(action)
        if isinstance(action, Start):
            attempts = (*attempts, Attempt(action.number, action.tier, action.strategy, outcome))
        else:
            assert isinstance(action, Mend), action
            last = attempts[-1]
            assert last.outcome is not None
            attempts = (*attempts[:-1], replace(last, mends=(*last.mends, last.outcome), outcome=outcome))
    action = decide(task, attempts, config, NONE)
    assert action is not None
    return [*actions, action]


def _shape(action: Action) -> Any:
    return (action.strategy, action.tier) if isinstance(action, Start) else type(action).__name__


def test_five_attempts() -> None:
    """The specification's example: strict, then lite at the same tier, then up through the tiers, and a person last."""
    budget = [{"tier": "fast", "attempts": 2}, {"tier": "standard", "attempts": 2}, {"tier": "high", "attempts": 1}]
    config = _config(tiers=budget)
    failing = _failed("tests-failing")
    actions = _play(STRICT, config, _failed("isolation-violation"), failing, failing, failing, failing)
    assert [_shape(one) for one in actions] == [
        ("three-session-tdd", "fast"),
        ("tdd-lite", "fast"),
        ("tdd-lite", "standard"),
        ("tdd-lite", "standard"),
        ("tdd-lite", "high"),
        "Pause",
    ]
    succeeded = _play(STRICT, config, _failed("isolation-violation"), failing, failing, failing, Outcome())
    assert _shape(succeeded[-1]) == "Merge"


@pytest.mark.parametrize(
    ("category", "end"),
    [
        ("isolation-violation", "Pause"),
        ("session-failure", "Fail"),
        ("tests-failing", "Fail"),
        ("verifier-rejected", "Pause"),
        ("no-change", "Pause"),
        ("no-tests", "Pause"),
        ("capability-violation", "Pause"),
        ("harness-failure", "Fail"),
    ],
)
def test_per_category_exhausted(category: Category, end: str) -> None:
    """A category that repeats at every attempt ends as its row says once the tiers are used up."""
    attempts = 4 if category == "harness-failure" else 3
    actions = _play(WORK, _config(), *[_failed(category)] * attempts)
    assert [type(one).__name__ for one in actions] == ["Start"] * attempts + [end]


def test_isolation_violation_of_a_strict_strategy_becomes_lite_at_the_same_tier() -> None:
    """The second violation, in lite, escalates."""
    actions = _play(STRICT, _config(), *[_failed("isolation-violation")] * 2)
    assert [_shape(one) for one in actions] == [
        ("three-session-tdd", "standard"),
        ("tdd-lite", "standard"),
        ("tdd-lite", "high"),
    ]


def test_failing_tests_are_mended_while_failures_do_not_grow() -> None:
    """The session is resumed `mend` times at most, and not again once more tests fail than before."""
    config = _config(mend=2)
    outcomes = [_failed("tests-failing", count) for count in (5, 5, 4)]
    assert [_shape(one) for one in _play(WORK, config, *outcomes)][1:] == ["Mend", "Mend", ("test-after", "standard")]
    growing = [_failed("tests-failing", count) for count in (2, 3)]
    assert [_shape(one) for one in _play(WORK, config, *growing)][1:] == ["Mend", ("test-after", "standard")]


def test_a_rejected_attempt_is_mended_once_with_the_findings_word_for_word() -> None:
    """The findings of the verifier are the text of the mend."""
    actions = _play(WORK, _config(mend=2), *[_failed("verifier-rejected")] * 2)
    assert actions[1] == Mend("it was verifier-rejected", "verifier-rejected")
    assert isinstance(actions[2], Start)


def test_without_a_harness_that_resumes_nothing_is_mended() -> None:
    """A driver that cannot resume a session skips the mend."""
    task = replace(WORK, can_resume=False)
    assert all(isinstance(one, Start) for one in _play(task, _config(mend=2), _failed("tests-failing")))


@pytest.mark.parametrize("category", ["merge-conflict", "regression"])
def test_a_conflict_or_regression_resumes_the_owner_once(category: Category) -> None:
    """Then a person is needed; no further attempt is made."""
    actions = _play(WORK, _config(mend=1), *[_failed(category)] * 2)
    assert [_shape(one) for one in actions][1:] == ["Mend", "Pause"]


def test_a_fault_of_the_environment_pauses_the_run_at_its_second_time() -> None:
    """The first one uses up no attempt."""
    first, second, third = _play(WORK, _config(), *[_failed("environment")] * 2)
    assert (_shape(first), second, third) == (
        ("test-after", "standard"),
        Start(2, "standard", "test-after", base="previous"),
        Pause("it was environment", "run"),
    )


def test_a_blocked_agent_asks_and_goes_on_with_the_answer() -> None:
    """The answer goes into the same session, and the attempt does not count."""
    asking = Attempt(1, "standard", "test-after", _failed("blocked"))
    assert decide(WORK, (asking,), _config(), NONE) == Ask("story-ambiguity", "it was blocked")
    answered = replace(asking, answers={"story-ambiguity": "Blue"})
    assert decide(WORK, (answered,), _config(), NONE) == Mend("Blue", "blocked")
    assert count_used((answered,), "standard") == 0


def test_a_success_is_merged_before_the_task_is_complete() -> None:
    """Only a merged attempt completes a task."""
    done = Attempt(1, "standard", "test-after", Outcome())
    assert decide(WORK, (done,), _config(), NONE) == Merge()
    assert decide(WORK, (replace(done, is_merged=True),), _config(), NONE) == Complete()


def test_a_running_attempt_is_waited_for() -> None:
    """There is no next step while the last attempt has no outcome."""
    assert decide(WORK, (Attempt(1, "standard", "test-after"),), _config(), NONE) is None


@pytest.mark.parametrize(
    ("limit", "spent"),
    [
        ({"max_cost_usd": 1.0}, Limits(cost_usd=1.0)),
        ({"max_minutes": 5}, Limits(minutes=5.0)),
        ({"max_attempts": 2}, Limits(attempts=2)),
    ],
)
def test_a_limit_asks_before_the_next_attempt(limit: dict[str, float], spent: Limits) -> None:
    """Nothing starts beyond cost, time or attempts; a success is still merged."""
    action = decide(WORK, (), _config(**limit), spent)
    assert isinstance(action, Ask)
    assert action.trigger == "cost-exceeded"
    done = Attempt(1, "standard", "test-after", Outcome())
    assert decide(WORK, (done,), _config(**limit), spent) == Merge()


def test_a_cost_that_no_session_reports_holds_no_limit() -> None:
    """The run asks before it starts more: it could cost any amount. Without a limit it goes on."""
    spent = Limits(is_cost_reported=False)
    action = decide(WORK, (), _config(max_cost_usd=1.0), spent)
    assert isinstance(action, Ask)
    assert "reported no cost" in action.question
    assert isinstance(decide(WORK, (), _config(), spent), Start)


def test_the_advisor_comes_before_the_second_escalation() -> None:
    """It is asked once, for work only, and not when the config switches it off."""
    budget = [{"tier": tier, "attempts": 1} for tier in ("fast", "standard", "high")]
    failing = [_failed("tests-failing")] * 2
    advised = [one.advise for one in _play(WORK, _config(tiers=budget), *failing) if isinstance(one, Start)]
    assert advised == [False, False, True]
    for task, more in ((WORK, {"advisor": False}), (replace(WORK, is_work=False), {})):
        actions = _play(task, _config(tiers=budget, **more), *failing)
        assert not any(one.advise for one in actions if isinstance(one, Start))


def test_without_escalation_only_the_first_tier_is_used() -> None:
    """`escalate: false` ends the task after the attempts of its tier."""
    actions = _play(WORK, _config(escalate=False), *[_failed("session-failure")] * 2)
    assert [_shape(one) for one in actions] == [("test-after", "standard")] * 2 + ["Fail"]


def test_every_category_has_a_rule_or_asks() -> None:
    """No category is forgotten, and every category of judgement is one."""
    categories = set(get_args(Category.__value__ if hasattr(Category, "__value__") else Category))
    assert set(RULES) == categories - {"blocked", "limit"}
    assert categories >= JUDGEMENT


_OUTCOMES = st.builds(
    Outcome, st.sampled_from([None, *RULES, "limit"]), st.just("reason"), st.none() | st.integers(0, 9)
)


@given(
    outcomes=st.lists(_OUTCOMES, max_size=40),
    task=st.builds(
        Task, st.just(1), st.sampled_from(["test-after", "tdd-lite", "three-session-tdd"]), can_resume=st.booleans()
    ),
    mend=st.integers(0, 3),
    budgets=st.lists(st.integers(1, 3), min_size=1, max_size=3),
)
def test_every_history_ends_within_its_budget(
    outcomes: list[Outcome], task: Task, mend: int, budgets: list[int]
) -> None:
    """Whatever the attempts come to: no tier gets more counted attempts than its budget, numbers never repeat, tiers
    only rise, nothing follows an end, and without a success nothing is merged.
    """
    tiers = [TierBudget(tier=tier, attempts=n) for tier, n in zip(TIERS, budgets, strict=False)]
    config = RunConfig(tiers=tiers, mend=mend)
    attempts: tuple[Attempt, ...] = ()
    for outcome in outcomes:
        action = decide(task, attempts, config, NONE)
        if isinstance(action, Start):
            assert action.number == len(attempts) + 1
            attempts = (*attempts, Attempt(action.number, action.tier, action.strategy, outcome))
        elif isinstance(action, Mend):
            last = attempts[-1]
            assert last.outcome is not None
            assert len(last.mends) < max(mend, 1) * len(RULES)
            attempts = (*attempts[:-1], replace(last, mends=(*last.mends, last.outcome), outcome=outcome))
        else:
            assert isinstance(action, Merge | Pause | Fail)
            end = attempts[-1].outcome
            assert isinstance(action, Merge) == (end is not None and end.ok)
            break
    order = [one.tier for one in tiers]
    assert [order.index(one.tier) for one in attempts] == sorted(order.index(one.tier) for one in attempts)
    for budget in tiers:
        assert count_used(attempts, budget.tier) <= budget.attempts
