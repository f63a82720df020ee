"""The questions of a run: when each trigger asks, what each answer does, and its fallback."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from nexus_mcp.run import events as ev
from nexus_mcp.run import log_entries
from nexus_mcp.run.config import RunConfig, Trigger
from nexus_mcp.run.decide import (
    Action,
    Ask,
    Attempt,
    Fail,
    Halt,
    Limits,
    Mend,
    Merge,
    Pause,
    Retry,
    Skip,
    Start,
    Task,
    decide,
    decide_unjudged,
)
from nexus_mcp.run.outcome import Category, Outcome
from nexus_mcp.run.projection import project
from nexus_mcp.run.sensitive import security_findings, sensitive_files
from nexus_mcp.run.triggers import EFFECTS, ROWS, RUN_EFFECTS, fallback, fault, question_text, read
from tests.run.runs import GOOD

WORK = Task(3, "test-after")
NONE = Limits()
ONE_TIER = [{"tier": "standard", "attempts": 1}]
DONE = Attempt(1, "standard", "test-after", Outcome(), is_reviewed=True, security=("deploy/.env",))
NAMES: dict[Trigger, str] = {
    "security-review": "abort",
    "cost-exceeded": "abort",
    "merge-conflict": "abort",
    "cost-warning": "escalate",
    "max-retries": "skip",
    "pre-merge": "escalate",
    "human-review": "skip",
    "story-ambiguity": "continue",
    "review-gate": "continue",
}
OF_TASK = [name for name in NAMES if not ROWS[name].is_of_run and name != "story-ambiguity"]


def _failed(category: Category) -> Attempt:
    return Attempt(1, "standard", "test-after", Outcome(category, f"it was {category}"))


MOMENTS: dict[Trigger, tuple[Attempt, dict[str, Any]]] = {
    "security-review": (DONE, {}),
    "review-gate": (DONE, {}),
    "pre-merge": (DONE, {}),
    "merge-conflict": (_failed("merge-conflict"), {"mend": 1}),
    "max-retries": (_failed("tests-failing"), {"mend": 0, "tiers": ONE_TIER}),
    "human-review": (_failed("regression"), {"mend": 0}),
}
"""The last attempt of a task, and the configuration, in which a trigger asks."""
WITHOUT: dict[Trigger, Action] = {
    **dict.fromkeys(("security-review", "review-gate", "pre-merge"), Merge()),
    "merge-conflict": Mend("it was merge-conflict", "merge-conflict"),
    "max-retries": Fail("it was tests-failing"),
    "human-review": Pause("it was regression"),
}
"""What happens in this moment without the question."""


def _config(*triggers: str, **values: Any) -> RunConfig:
    return RunConfig.model_validate({"questions": {"triggers": dict.fromkeys(triggers, True)}, **values})


def _moment(trigger: Trigger, answer: str | None = None, *, on: bool = True, task: Task = WORK) -> Action | None:
    attempt, values = MOMENTS[trigger]
    if answer is not None:
        attempt = replace(attempt, answers={trigger: answer})
    return decide(task, (attempt,), _config(*([trigger] if on else []), **values), NONE)


def test_names_and_fallbacks_are_those_of_the_specification() -> None:
    """Nine triggers; each fallback is one of the answers, and each answer has an effect."""
    assert {name: row.fallback for name, row in ROWS.items()} == NAMES
    assert set(get_args(Trigger)) == set(NAMES)
    for row in ROWS.values():
        assert row.fallback in row.answers
        assert set(row.answers) <= set(RUN_EFFECTS if row.is_of_run else EFFECTS)
    assert set(MOMENTS) == set(OF_TASK)


@pytest.mark.parametrize("trigger", OF_TASK)
def test_a_trigger_asks_only_if_it_is_on(trigger: Trigger) -> None:
    """Off, the moment passes without a question; on, the question names its answers."""
    assert _moment(trigger, on=False) == WITHOUT[trigger]
    action = _moment(trigger)
    assert isinstance(action, Ask)
    assert action.trigger == trigger
    assert all(word in action.question for word in ROWS[trigger].answers)


@pytest.mark.parametrize("trigger", OF_TASK)
def test_each_answer_has_its_effect(trigger: Trigger) -> None:
    """The table EFFECTS for each trigger; the reason names the trigger."""
    steps = {answer: _moment(trigger, answer) for answer in ROWS[trigger].answers}
    kinds: dict[str, type] = {"retry": Retry, "skip": Skip, "escalate": Pause, "abort": Fail}
    assert steps.pop("continue", WITHOUT[trigger]) == WITHOUT[trigger]
    for answer, step in steps.items():
        assert type(step) is kinds[answer]
        assert isinstance(step, Retry) or step.reason.startswith(f"{trigger}: ")  # type: ignore[union-attr]


@pytest.mark.parametrize("trigger", OF_TASK)
def test_a_text_goes_into_the_session(trigger: Trigger) -> None:
    """It resumes the author; if the harness cannot resume, a new attempt at the same tier has it."""
    step = _moment(trigger, "Use the old name")
    assert isinstance(step, Mend)
    assert step.findings.endswith("Use the old name")
    step = _moment(trigger, "Use the old name", task=replace(WORK, can_resume=False))
    if trigger != "merge-conflict":  # without a session to resume, the author cannot resolve it
        assert isinstance(step, Start)
        assert (step.number, step.tier, step.base) == (2, "standard", "previous")


@pytest.mark.parametrize("trigger", [name for name in OF_TASK if "continue" not in ROWS[name].answers])
def test_a_yes_where_nothing_can_go_on_pauses(trigger: Trigger) -> None:
    """`continue` has no meaning at the end of a task, so a person looks."""
    assert isinstance(_moment(trigger, "yes"), Pause)


def test_the_questions_before_a_merge_come_one_after_the_other() -> None:
    """First security, then the review, then the merge; an answer opens the next one."""
    config = _config("security-review", "review-gate", "pre-merge")
    answers: dict[Trigger, str] = {}
    order = []
    while isinstance(action := decide(WORK, (replace(DONE, answers=answers),), config, NONE), Ask):
        order.append(action.trigger)
        answers = {**answers, action.trigger: "continue"}
    assert order == ["security-review", "review-gate", "pre-merge"]
    assert action == Merge()


def test_work_without_a_reason_or_a_reviewer_is_not_asked_about() -> None:
    """security-review needs a file or finding, review-gate a verdict that accepts."""
    plain = Attempt(1, "standard", "test-after", Outcome())
    assert decide(WORK, (plain,), _config("security-review", "review-gate"), NONE) == Merge()


def test_files_of_an_earlier_attempt_are_a_reason_too() -> None:
    """The second attempt began with them."""
    first = replace(_failed("tests-failing"), security=(".env",))
    action = decide(WORK, (first, replace(DONE, number=2, security=())), _config("security-review"), NONE)
    assert isinstance(action, Ask)
    assert ".env" in action.question


def test_a_conflict_that_no_session_can_resolve_is_a_matter_of_human_review() -> None:
    """merge-conflict asks before the mend only."""
    config = _config("merge-conflict", "human-review", mend=1)
    mended = replace(_failed("merge-conflict"), mends=(Outcome("merge-conflict", "first"),))
    action = decide(WORK, (mended,), config, NONE)
    assert isinstance(action, Ask)
    assert action.trigger == "human-review"


def test_only_one_question_comes_at_the_end_of_the_tiers() -> None:
    """With both triggers on, max-retries asks; with human-review alone, it asks only before a pause."""
    judged, plain = _failed("verifier-rejected"), _failed("tests-failing")
    values: dict[str, Any] = {"mend": 0, "tiers": ONE_TIER}
    for attempt, triggers, expected in (
        (judged, ("max-retries", "human-review"), "max-retries"),
        (judged, ("human-review",), "human-review"),
    ):
        action = decide(WORK, (attempt,), _config(*triggers, **values), NONE)
        assert isinstance(action, Ask)
        assert action.trigger == expected
    assert decide(WORK, (plain,), _config("human-review", **values), NONE) == Fail("it was tests-failing")


def test_work_that_nothing_can_judge_is_a_matter_of_human_review() -> None:
    """No reviewer gave a verdict, or no check passes."""
    attempt = Attempt(1, "standard", "test-after")
    assert decide_unjudged(WORK, (attempt,), _config(), "no verdict") == Pause("no verdict")
    on = _config("human-review")
    assert isinstance(decide_unjudged(WORK, (attempt,), on, "no verdict"), Ask)
    answered = replace(attempt, answers={"human-review": "retry"})
    assert decide_unjudged(WORK, (answered,), on, "no verdict") == Retry()


@pytest.mark.parametrize(
    ("cost", "answer", "expected"),
    [
        (3.9, None, Start),
        (4.0, None, Ask),
        (4.0, "continue", Start),
        (4.0, "escalate", Halt),
        (4.0, "abort", Halt),
        (4.0, "what?", Halt),
    ],
)
def test_the_warning_about_the_cost_asks_before_the_next_step(cost: float, answer: str | None, expected: type) -> None:
    """At the share of the limit; only `continue` goes on, and `abort` ends the run as at the limit."""
    config = _config("cost-warning", max_cost_usd=5.0)
    spent = Limits(cost_usd=cost, cost_answer=answer)
    action = decide(WORK, (), config, spent)
    assert type(action) is expected
    assert not isinstance(action, Halt) or action.is_limit == (answer == "abort")
    assert isinstance(decide(WORK, (), _config(max_cost_usd=5.0), spent), Start)
    assert decide(WORK, (Attempt(1, "standard", "test-after", Outcome()),), config, spent) == Merge()


def test_the_question_about_the_cost_comes_once() -> None:
    """Its answer is a fact of the run. Once the run goes on after the pause, it is obeyed."""
    log: list[ev.AnyEvent] = [
        ev.RunStarted(run="r", pid=1, host="h", base="b"),
        ev.Question(id="q1", trigger="cost-warning", summary="?"),
    ]
    assert project(log).cost_answer is None
    log.append(ev.Answered(id="q1", answer="escalate", by="timeout"))
    killed = [*log, ev.RunStarted(run="r", pid=2, host="h", base="b")]
    assert project(killed).cost_answer == "escalate"
    log += [ev.Paused(reason="cost"), ev.RunStarted(run="r", pid=2, host="h", base="b")]
    assert project(log).cost_answer == "continue"


def test_an_answer_belongs_to_one_outcome() -> None:
    """After a mend, or another outcome, the same trigger asks again: it is about other work."""
    at: dict[str, Any] = {"task": 3, "attempt": 1}
    log: list[ev.AnyEvent] = [
        ev.AttemptPlanned(tier="standard", strategy="test-after", harness="h", **at),
        ev.Judged(ok=True, **at),
        ev.Question(id="q1", trigger="pre-merge", summary="?", **at),
        ev.Answered(id="q1", answer="continue", by="person", **at),
    ]

    def answers(*more: ev.AnyEvent) -> object:
        last = project([*log, *more]).task(3).last
        assert last is not None
        return last.attempt.answers

    assert answers() == {"pre-merge": "continue"}
    conflict = ev.Judged(ok=False, category="merge-conflict", **at)
    assert answers(conflict) == {}
    assert answers(ev.Mended(findings="f", **at)) == {}


def test_a_question_that_paused_its_task_stays_open() -> None:
    """A later answer lets the task go on; then the question is closed."""
    at: dict[str, Any] = {"task": 3, "attempt": 1}
    log: list[ev.AnyEvent] = [
        ev.AttemptPlanned(tier="standard", strategy="test-after", harness="h", **at),
        ev.Judged(ok=True, **at),
        ev.Question(id="q1", trigger="pre-merge", summary="?", **at),
        ev.Answered(id="q1", answer="escalate", by="timeout", **at),
        ev.TaskPaused(task=3, reason="pre-merge"),
    ]
    assert [one.id for one in project(log).open_questions()] == ["q1"]
    log += [ev.Answered(id="q1", answer="continue", by="person", **at), ev.TaskReady(task=3)]
    assert project(log).open_questions() == []


def test_reasons_of_security_come_from_files_and_verdicts() -> None:
    """They stay when the work is mended, and reviewers that accept are noted."""
    at: dict[str, Any] = {"task": 3, "attempt": 1}
    finding = {"severity": "must", "place": "a.py:3", "what": "SQL injection"}
    log: list[ev.AnyEvent] = [
        ev.AttemptPlanned(tier="standard", strategy="test-after", harness="h", **at),
        ev.ProcessStarted(role="owner", pid=1, create_time=1.0, **at),
        ev.Collected(files=["a.py", "config/.env.local"], **at),
        ev.VerdictGiven(verdict={**GOOD, "approved": False, "findings": [finding]}, **at),
        ev.Judged(ok=False, category="verifier-rejected", **at),
        ev.Mended(findings="f", **at),
        ev.VerdictGiven(verdict=GOOD, **at),
        ev.Judged(ok=True, **at),
    ]
    last = project(log).task(3).last
    assert last is not None
    assert last.attempt.security == ("config/.env.local", "a.py:3 SQL injection")
    assert last.attempt.is_reviewed


@pytest.mark.parametrize(
    "path",
    [
        *(".env", "a/.env.production", "keys/server.pem", "src/UserCredentials.java", "id_ed25519.pub"),
        *(".github/workflows/ci.yml", ".claude/settings.json", "docs/CODEOWNERS", "app/permissions.py", ".ssh/config"),
        *(".github", ".GitHub/x", "secret/prod", "deploy/.ENV/prod", "old/Credentials/a.txt"),
    ],
)
def test_files_of_secrets_and_permissions_are_recognised(path: str) -> None:
    """By the name of the file or of a folder above it, in any case; also a link in the place of such a folder."""
    assert sensitive_files([path, "src/main.py"]) == (path,)


@pytest.mark.parametrize("path", ["src/main.py", "environment.md", "tests/test_keys.py", "monkey.txt", "README.md"])
def test_other_files_are_no_reason_to_ask(path: str) -> None:
    """A question for each task would soon be answered unread."""
    assert sensitive_files([path]) == ()


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ({**GOOD, "quality": {"rating": "good", "issues": ["The password is logged", "Long line"]}}, 1),
        ({**GOOD, "fixes": ["Check the authorization"]}, 1),
        ({**GOOD, "findings": [{"severity": "could", "what": "Rename it"}]}, 0),
        ({**GOOD, "approved": False, "reasoning": "VERDICT: reject\nSQL injection in search()"}, 1),
        ({**GOOD, "reasoning": "No security problem was found"}, 0),
        ({"approved": True}, 0),
        (None, 0),
    ],
)
def test_findings_of_security_are_recognised(verdict: dict[str, Any] | None, expected: int) -> None:
    """By their words; what is no verdict has none."""
    assert len(security_findings(verdict)) == expected


@pytest.mark.parametrize(
    ("trigger", "text", "expected"),
    [
        ("pre-merge", " Yes. ", "continue"),
        ("pre-merge", "no", "escalate"),
        ("pre-merge", "", "escalate"),
        ("pre-merge", "rename it", None),
        ("max-retries", "continue", "escalate"),
        ("cost-exceeded", "no", "abort"),
        ("cost-exceeded", "later", "abort"),
        ("cost-warning", "later", "escalate"),
        ("story-ambiguity", "skip", None),
    ],
)
def test_an_unclear_answer_lets_nothing_go_on(trigger: Trigger, text: str, expected: str | None) -> None:
    """Only the words of `continue` do; the answer to an agent's question is never a word of the run."""
    assert read(trigger, text) == expected


def test_a_change_of_accepted_work_needs_a_limit_that_is_not_reached() -> None:
    """A person wants a change before the merge: its session is a next step, which costs. The merge itself is free."""
    spent = Limits(cost_usd=2.0)
    limits = _config("pre-merge", "cost-exceeded", max_cost_usd=1.0)
    asked = replace(DONE, security=(), answers={"pre-merge": "rename it"})
    action = decide(WORK, (asked,), limits, spent)
    assert isinstance(action, Ask)
    assert action.trigger == "cost-exceeded"
    assert decide(WORK, (replace(asked, answers={"pre-merge": "yes"}),), limits, spent) == Merge()


def test_a_question_is_shown_to_its_end() -> None:
    """Its answers are there, after many files."""
    files = tuple(f"deploy/environments/of/a/customer/number-{number}/.env" for number in range(12))
    text = question_text("security-review", f"Task 3 concerns security: {'; '.join(files)}. Merge it?")
    event = ev.Question(id="q1", trigger="security-review", summary=text, seq=1, at="2026-01-01T00:00:00.000Z", task=3)
    assert log_entries.line(event).endswith("escalate, abort or a text for the session.")


def test_a_question_that_waits_comes_before_one_that_paused_its_task() -> None:
    """A line on the terminal answers the first one: refused work must not get the approval that was meant for other
    work.
    """
    log: list[ev.AnyEvent] = [
        ev.RunStarted(run="r", pid=1, host="h", base="b", seq=1, at="t"),
        ev.Question(id="q1", trigger="pre-merge", summary="?", seq=2, at="t", task=3),
        ev.Answered(id="q1", answer="no", by="terminal", seq=3, at="t", task=3),
        ev.TaskPaused(reason="no", seq=4, at="t", task=3),
        ev.Question(id="q2", trigger="pre-merge", summary="?", seq=5, at="t", task=4),
    ]
    assert [one.id for one in project(log).open_questions()] == ["q2", "q1"]


def test_a_blank_answer_to_an_agent_is_refused() -> None:
    """Its session would go on with nothing."""
    assert fault("story-ambiguity", " \n") == "Write a text for the agent."


def test_faults_name_the_answers() -> None:
    """`run answer` refuses what is none."""
    assert fault("cost-warning", "maybe") == "Its answers are continue, escalate or abort."
    assert fault("max-retries", "yes").startswith("Its answers are retry, skip")
    assert [fault(name, "no") for name in NAMES] == [""] * len(NAMES)


def test_a_fallback_of_the_configuration_holds_where_it_is_an_answer() -> None:
    """It can never be `continue`."""
    questions = RunConfig.model_validate({"questions": {"fallback": "escalate"}}).questions
    found = {name: fallback(name, questions) for name in NAMES}
    kept = {"cost-exceeded": "abort", "story-ambiguity": "continue"}
    assert found == {name: kept.get(name, "escalate") for name in NAMES}
    with pytest.raises(ValueError, match="fallback"):
        RunConfig.model_validate({"questions": {"fallback": "continue"}})
