"""Questions of the triggers in whole runs: answered by a person, by their fallback, and across a kill."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.run import control, engine
from nexus_mcp.run import events as ev
from nexus_mcp.run.questions import Questions
from nexus_mcp.run.setup import Run
from tests.run.runs import GOOD, Ground
from tests.run.test_command import WAIT_S, until
from tests.support import Json

ONE: list[Json] = [{"id": 1, "title": "One"}]
WORK: dict[str, Json] = {"1": [[{"write": "f1", "text": "1"}]]}
USAGE = '{"kind": "usage", "input": 9, "output": 3, "cost_usd": 1.0}'


class _Killed(Exception):
    pass


def _asks(*triggers: str, **more: Any) -> Json:
    return {"questions": {"triggers": dict.fromkeys(triggers, True), **more}}


def _answers(*texts: str) -> Any:
    """Return a function that answers the questions of a run with these texts, in order."""
    left = list(texts)

    def begin(run: Run) -> None:
        def look(event: ev.AnyEvent) -> None:
            if isinstance(event, ev.Question):
                control.drop(run.folder, {"command": "answer", "id": event.id, "text": left.pop(0), "by": "person"})

        run.listeners.append(look)

    return begin


def _die() -> None:
    raise _Killed


def _dies_at(kind: type[ev.Event]) -> Any:
    """Return a function that ends the executor of a run right after the first event of this type, as a kill does."""

    def begin(run: Run) -> None:
        def look(event: ev.AnyEvent) -> None:
            if isinstance(event, kind):
                raise _Killed

        run.listeners.append(look)

    return begin


def _dies_after(kind: type[ev.Event], *texts: str) -> Any:
    """Return a function that answers the questions, and ends the executor right after the first event of the type."""

    def begin(run: Run) -> None:
        _answers(*texts)(run)
        _dies_at(kind)(run)

    return begin


def _kinds(ground: Ground, *names: str) -> list[str]:
    return [event.type for event in ground.log() if event.type in names]


def test_pre_merge_waits_for_run_answer(tmp_path: Path) -> None:
    """A headless run asks before the merge, and merges after `nexus-mcp run answer q1 yes`; a wrong word is refused."""
    ground = Ground(tmp_path, ONE, WORK)
    ground.configure(**_asks("pre-merge", "cost-warning"))
    process = ground.start("--trust", "--headless", "--merge", "never")

    def is_asked() -> bool:
        ground.find_run()
        return bool(ground.run_id) and bool(ground.state().open_questions())

    until(is_asked)
    assert "f1" not in ground.tree()
    code, _, err = ground.cli("answer", "q1", "")
    assert (code, "Its answers are continue, retry" in err) == (2, True), err
    assert ground.cli("answer", "q1", "yes")[0] == 0
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, out + err
    assert ground.tree()["f1"] == "1"
    assert [(one.answer, one.by) for one in ground.state().answers.values()] == [("yes", "person")]


def test_the_question_of_a_skipped_task_takes_no_answer(tmp_path: Path) -> None:
    """A person skipped the task while its question waited: the run does not wait for it any more."""
    ground = Ground(tmp_path, ONE, WORK)

    def begin(run: Run) -> None:
        def look(event: ev.AnyEvent) -> None:
            if isinstance(event, ev.Question):
                control.drop(run.folder, {"command": "skip", "task": 1})

        run.listeners.append(look)

    state = ground.run(before=begin, **_asks("pre-merge"))
    assert (state.task(1).state, "f1" in ground.tree()) == ("skipped", False)
    code, _, err = ground.cli("answer", "q1", "continue")
    assert (code, "q1 is closed" in err, "Open questions: none." in err) == (2, True, True), err


def test_pre_merge_without_an_answer_pauses_the_task_until_a_late_one(tmp_path: Path) -> None:
    """The fallback is `escalate`: exit code 3 and the command to go on. The verified work is merged without a session
    more.
    """
    ground = Ground(tmp_path, ONE, WORK)
    ground.configure(**_asks("pre-merge", timeout_s=1))
    code, out, err = ground.cli("--trust", "--headless", "--merge", "never")
    assert (code, "nexus-mcp run answer q1 TEXT" in out) == (3, True), out + err
    assert [(one.answer, one.by) for one in ground.state().answers.values()] == [("escalate", "timeout")]
    assert (ground.statuses(), "f1" in ground.tree()) == (["pending"], False)
    assert ground.cli("answer", "q1", "continue")[0] == 0
    code, out, err = ground.cli("--headless", "--merge", "never")
    assert code == 0, out + err
    assert (ground.tree()["f1"], len(ground.state().task(1).attempts)) == ("1", 1)
    assert _kinds(ground, "process_started") == ["process_started"]
    assert ground.cli("answer", "q1", "skip")[0] == 2


@pytest.mark.parametrize(("kind", "questions"), [(ev.Question, 1), (ev.Answered, 1)])
def test_a_kill_at_a_question_never_asks_twice(tmp_path: Path, kind: type[ev.Event], questions: int) -> None:
    """Killed before the answer, the next executor asks under the same id; killed after it, the answer holds."""
    ground = Ground(tmp_path, ONE, WORK)
    asks = _asks("pre-merge")

    def both(run: Run) -> None:
        if kind is ev.Answered:
            _answers("yes")(run)
        _dies_at(kind)(run)

    with pytest.raises(_Killed):
        ground.run(before=both, **asks)
    assert "f1" not in ground.tree()
    state = ground.run(before=_resumed, **asks)
    assert state.task(1).state == "completed"
    assert _kinds(ground, "question", "answered", "merged") == ["question"] * questions + ["answered", "merged"]


def _resumed(run: Run) -> None:
    """Answer the open questions of an earlier executor."""
    for one in run.state.open_questions():
        control.drop(run.folder, {"command": "answer", "id": one.id, "text": "yes", "by": "person"})


@pytest.mark.parametrize(
    ("answer", "state"), [("skip", "skipped"), ("abort", "failed"), ("escalate", "paused"), ("no", "paused")]
)
def test_an_answer_ends_the_task_also_after_a_kill(tmp_path: Path, answer: str, state: str) -> None:
    """The executor died between the answer and its effect; nothing is merged."""
    ground = Ground(tmp_path, ONE, WORK)
    asks = _asks("review-gate", "pre-merge")

    with pytest.raises(_Killed):
        ground.run(before=_dies_after(ev.Answered, answer), **asks)
    assert ground.run(**asks).task(1).state == state
    assert _kinds(ground, "question", "merged") == ["question"]
    assert ground.statuses() == ["pending"]


def test_an_answer_holds_after_its_trigger_was_switched_off(tmp_path: Path) -> None:
    """A person refused the merge, and the executor died; the next one has a configuration without the trigger."""
    ground = Ground(tmp_path, ONE, WORK)

    with pytest.raises(_Killed):
        ground.run(before=_dies_after(ev.Answered, "abort"), **_asks("pre-merge"))
    assert (ground.run().task(1).state, "f1" in ground.tree()) == ("failed", False)


def test_a_text_before_the_merge_goes_into_the_session(tmp_path: Path) -> None:
    """The session mends the work, the checks run again, and the question about the new work comes."""
    script = {"1": [[{"write": "f1", "text": "1"}], [{"write": "f1", "text": "2"}]]}
    ground = Ground(tmp_path, ONE, script)
    state = ground.run(before=_answers("Write a 2", "continue"), **_asks("pre-merge"))
    assert (state.task(1).state, ground.tree()["f1"], len(state.task(1).attempts)) == ("completed", "2", 1)
    assert [event.findings for event in ground.log() if event.type == "mended"] == ["Write a 2"]
    assert len(state.questions) == 2


def test_a_retry_after_all_tiers_gives_new_attempts(tmp_path: Path) -> None:
    """max-retries asks in place of the failure."""
    bad = [{"write": "broken", "text": "b"}]
    script = {"1": [bad, [{"run": "git rm -q -f broken; rm -f broken"}, {"write": "f1", "text": "1"}]]}
    ground = Ground(tmp_path, ONE, script)
    tiers = [{"tier": "standard", "attempts": 1}]
    state = ground.run(before=_answers("retry"), tiers=tiers, mend=0, **_asks("max-retries"))
    assert (state.task(1).state, len(state.task(1).attempts)) == ("completed", 2)
    assert _kinds(ground, "task_retried", "task_failed") == ["task_retried"]


def test_numbers_of_attempts_never_repeat(tmp_path: Path) -> None:
    """The branches of all attempts differ, also after several retries."""
    ground = Ground(tmp_path, ONE, {"1": [[{"exit": 1}]]})
    tiers = [{"tier": "standard", "attempts": 2}]
    state = ground.run(before=_answers("retry", "retry", "abort"), tiers=tiers, **_asks("max-retries"))
    assert state.task(1).state == "failed"
    assert [one.attempt.number for one in state.task(1).attempts] == [1, 2, 3, 4, 5, 6]


def test_max_retries_without_an_answer_skips_the_task(tmp_path: Path) -> None:
    """What depends on it is blocked, and the other task is done."""
    tasks = [*ONE, {"id": 2, "title": "Two"}, {"id": 3, "title": "Three", "deps": [1]}]
    script = {"1": [[{"exit": 1}]], "2": [[{"write": "f2", "text": "2"}]]}
    ground = Ground(tmp_path, tasks, script)
    tiers = [{"tier": "standard", "attempts": 1}]
    state = ground.run(tiers=tiers, **_asks("max-retries", timeout_s=1))
    assert [state.task(id_).state for id_ in (1, 2, 3)] == ["skipped", "completed", "blocked"]


def test_a_conflict_is_resolved_after_the_answer(tmp_path: Path) -> None:
    """merge-conflict asks once, before the session gets the conflict; then the merge is tried again."""
    mend = [{"run": "grep -q '<<<<' a && printf 'one\\ntwo\\n' > a"}]
    script = {"1": [[{"write": "a", "text": "one\n"}], mend], "2": [[{"write": "a", "text": "two\n"}], mend]}
    ground = Ground(tmp_path, [*ONE, {"id": 2, "title": "Two"}], script, files={"a": "zero\n"})
    state = ground.run(before=_answers("continue"), jobs=2, **_asks("merge-conflict"))
    assert [state.task(id_).state for id_ in (1, 2)] == ["completed", "completed"]
    assert _kinds(ground, "conflict", "question", "answered", "mended") == [
        *("conflict", "question", "answered", "mended"),
    ]


def test_work_that_nothing_verifies_asks_a_person(tmp_path: Path) -> None:
    """The reviewer gave no verdict twice; the answer `retry` begins a new attempt, whose verdict accepts."""
    script: dict[str, Json] = {number: [[{"write": "f1", "text": "1"}]] for number in ("1-1", "1-2")}
    script |= {"1-tester": [[{"say": "?"}], [{"say": "?"}], [{"verdict": GOOD}]]}
    ground = Ground(tmp_path, ONE, script)
    state = ground.run(before=_answers("retry"), checks={}, review={"do": ["tester"]}, **_asks("human-review"))
    assert (state.task(1).state, len(state.task(1).attempts)) == ("completed", 2)


def test_a_file_of_secrets_is_not_merged_without_a_person(tmp_path: Path) -> None:
    """security-review falls back to `abort`: the task fails, and the question names the file."""
    ground = Ground(tmp_path, ONE, {"1": [[{"write": "deploy/.env", "text": "KEY=1"}]]})
    state = ground.run(**_asks("security-review", timeout_s=1))
    assert state.task(1).state == "failed"
    assert "deploy/.env" in state.task(1).reason
    assert ground.tree().keys() == {"README.md"}


def test_a_conflict_does_not_undo_a_sensitive_file_without_a_person(tmp_path: Path) -> None:
    """The author of task 2 gets a tree with the merged work of task 1, and deletes a file of it while it resolves the
    conflict: the file then is as in its own commit before, but the merge would remove it.
    """
    undo = [{"run": "printf 'one\\ntwo\\n' > a; git rm -q -f .github/ci.yml"}]
    first = [{"write": "a", "text": "one\n"}, {"write": ".github/ci.yml", "text": "x"}]
    waits = [{"run": f"until test -e {tmp_path}/merged; do :; done"}, {"write": "a", "text": "two\n"}]
    ground = Ground(tmp_path, [*ONE, {"id": 2, "title": "Two"}], {"1": [first], "2": [waits, undo]}, {"a": "zero\n"})

    def begin(run: Run) -> None:
        _answers("continue", "abort")(run)
        run.listeners.append(lambda event: (tmp_path / "merged").touch() if event.type == "merged" else None)

    state = ground.run(before=begin, jobs=2, **_asks("security-review"))
    assert [state.task(id_).state for id_ in (1, 2)] == ["completed", "failed"]
    assert ".github/ci.yml" in ground.tree()
    assert ".github/ci.yml" in state.questions["q2"].summary


@pytest.mark.parametrize(
    ("answer", "done", "status"), [("continue", 2, "completed"), ("no", 0, "paused"), ("abort", 0, "limit")]
)
def test_the_cost_warning_asks_once_in_a_run(tmp_path: Path, answer: str, done: int, status: str) -> None:
    """It concerns both tasks: one question, whichever needs the answer first. After a pause, the next run goes on."""
    first, then = {"write": "broken", "text": "b"}, {"run": "rm -f broken; echo x > f$NEXUS_TASK"}
    script = {name: [[first, {"print": USAGE}], [then, {"print": USAGE}]] for name in ("1", "2")}
    ground = Ground(tmp_path, [*ONE, {"id": 2, "title": "Two"}], script)
    values: Json = {"jobs": 2, "max_cost_usd": 10.0, "cost_warning": 0.1, **_asks("cost-warning")}
    state = ground.run(before=_answers(answer), **values)
    assert ground.statuses().count("completed") == done
    assert state.ended is not None
    assert (state.ended.status, [one.task for one in state.questions.values()]) == (status, [None])
    state = ground.run(**values)
    assert (ground.statuses(), len(state.questions)) == (["completed"] * 2, 1)


TWO: list[Json] = [*ONE, {"id": 2, "title": "Two", "deps": [1]}]
PAID = {name: [[{"write": f"f{name}", "text": name}, {"print": USAGE}]] for name in ("1", "2")}


@pytest.mark.parametrize("kind", [ev.Answered, ev.LimitRaised])
def test_a_raised_limit_holds_after_a_kill(tmp_path: Path, kind: type[ev.Event]) -> None:
    """The executor dies after the answer, or after its effect is in the log; the next one does not ask again."""
    ground = Ground(tmp_path, TWO, PAID)
    values: Json = {"max_cost_usd": 1.0, **_asks("cost-exceeded")}

    with pytest.raises(_Killed):
        ground.run(before=_dies_after(kind, "continue"), **values)
    assert ground.statuses() == ["completed", "pending"]
    state = ground.run(**values)
    assert (ground.statuses(), len(state.questions)) == (["completed"] * 2, 1)
    raised = [(event.name, event.before, event.after) for event in ground.log() if isinstance(event, ev.LimitRaised)]
    assert raised == [("cost", 1.0, 2.0)]


def test_a_new_limit_replaces_the_raised_one(tmp_path: Path) -> None:
    """The next run has another limit in its configuration, so it asks again."""
    ground = Ground(tmp_path, TWO, PAID)

    with pytest.raises(_Killed):
        ground.run(before=_dies_after(ev.LimitRaised, "continue"), max_cost_usd=1.0, **_asks("cost-exceeded"))
    state = ground.run(before=_answers("abort"), max_cost_usd=0.9, **_asks("cost-exceeded"))
    assert state.ended is not None
    assert (state.ended.status, len(state.questions)) == ("limit", 2)


def test_a_limit_is_raised_by_an_answer_that_came_between_two_executors(tmp_path: Path) -> None:
    """The first one died while it asked; `run answer` left the answer for the next one, which does not ask again."""
    ground = Ground(tmp_path, TWO, PAID)
    values: Json = {"max_cost_usd": 1.0, **_asks("cost-exceeded", timeout_s=1)}
    with pytest.raises(_Killed):
        ground.run(before=_dies_at(ev.Question), **values)
    request = {"command": "answer", "id": "q1", "text": "continue", "by": "person"}
    state = ground.run(before=lambda run: control.drop(run.folder, request), **values)
    assert (ground.statuses(), len(state.questions)) == (["completed"] * 2, 1)


def test_an_answer_about_the_limit_reaches_each_task_that_waits_for_it(tmp_path: Path) -> None:
    """Task 2 asked under an executor that died; under the next one task 1 asks first. A person answers the older
    question.
    """
    dies = [{"run": f"until test -e {tmp_path}/judged; do :; done"}, {"exit": 1}]
    script = {"1": [dies, [{"exit": 1}], [{"write": "f1", "text": "1"}]], "2": [[{"exit": 1}], PAID["2"][0]]}
    ground = Ground(tmp_path, [*ONE, {"id": 2, "title": "Two"}], script)
    values: Json = {"max_attempts": 2, **_asks("cost-exceeded", timeout_s=60)}
    with pytest.raises(_Killed):
        ground.run(before=_dies_at(ev.Question), jobs=2, **values)
    (tmp_path / "judged").touch()

    def begin(run: Run) -> None:
        def look(event: ev.AnyEvent) -> None:
            if isinstance(event, ev.Question):
                control.drop(run.folder, {"command": "answer", "id": "q1", "text": "continue", "by": "person"})

        run.listeners.append(look)

    state = ground.run(before=begin, **values)
    assert (ground.statuses(), sorted(state.answers)) == (["completed"] * 2, ["q1", "q2"])


def test_a_limit_that_was_raised_to_the_new_one_is_not_raised_again(tmp_path: Path) -> None:
    """The person sets the next run to 2 USD, to which an earlier answer had raised the limit, before it was raised
    further.
    """
    tasks: list[Json] = [{"id": id_, "title": f"{id_}", "deps": [id_ - 1] if id_ > 1 else []} for id_ in range(1, 6)]
    script = {f"{id_}": [[{"write": f"f{id_}", "text": "x"}, {"print": USAGE}]] for id_ in range(1, 6)}
    ground = Ground(tmp_path, tasks, script)

    def begin(run: Run) -> None:
        _answers("continue", "continue")(run)
        run.listeners.append(lambda event: _die() if (event.type, event.task) == ("task_done", 3) else None)

    with pytest.raises(_Killed):
        ground.run(before=begin, max_cost_usd=1.0, **_asks("cost-exceeded"))
    raised = [(event.before, event.after) for event in ground.log() if isinstance(event, ev.LimitRaised)]
    assert raised == [(1.0, 2.0), (2.0, 4.0)]
    state = ground.run(max_cost_usd=2.0, **_asks("cost-exceeded", timeout_s=1))
    assert state.ended is not None
    assert (state.ended.status, ground.statuses().count("completed")) == ("limit", 3)


def _asked(ground: Ground, id_: str) -> Json:
    folder = ground.root / ".nexus/state/runs" / ground.run_id
    return dict(json.loads((folder / "questions" / f"{id_}.json").read_text()))


def test_the_file_of_a_question_has_its_answer(tmp_path: Path) -> None:
    """The answer, by whom, and when; without an answer in time it is the fallback, by `timeout`."""
    ground = Ground(tmp_path, ONE, WORK)
    ground.run(before=_answers("continue"), **_asks("pre-merge"))
    first = _asked(ground, "q1")
    answered = next(event for event in ground.log() if isinstance(event, ev.Answered))
    assert (first["answer"], first["answeredBy"], first["answeredAt"]) == ("continue", "person", answered.at)


def test_an_answer_in_the_moment_of_the_timeout_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop handles both in one turn, the timeout first: no fallback is logged after the person's answer."""
    ground = Ground(tmp_path, ONE, WORK)
    made: list[Questions] = []

    def at_timeout() -> None:
        loop = asyncio.get_running_loop()
        now = loop.time
        loop.call_later(1.001, made[0].record_answer, "q1", "yes", "person")
        monkeypatch.setattr(loop, "time", lambda: now() + 5, raising=False)

    def begin(run: Run) -> None:
        def look(event: ev.AnyEvent) -> None:
            if isinstance(event, ev.Question):
                asyncio.get_running_loop().call_soon(at_timeout)

        run.listeners.append(look)

    def make(run: Run) -> Questions:
        made.append(Questions(run))
        return made[0]

    monkeypatch.setattr(engine, "Questions", make)
    state = ground.run(before=begin, **_asks("pre-merge", timeout_s=1))
    assert (state.task(1).state, _kinds(ground, "answered")) == ("completed", ["answered"])


def test_the_file_of_a_question_has_its_fallback(tmp_path: Path) -> None:
    """Without an answer in time, `answeredBy` is `timeout`."""
    ground = Ground(tmp_path, ONE, WORK)
    ground.run(**_asks("pre-merge", timeout_s=1))
    found = _asked(ground, "q1")
    assert (found["answer"], found["answeredBy"], found["fallback"]) == ("escalate", "timeout", "escalate")
    assert found["createdAt"] < found["deadline"] <= found["answeredAt"]


def test_the_next_executor_writes_an_answer_that_the_file_lacks(tmp_path: Path) -> None:
    """The first one died between the log and the file."""
    ground = Ground(tmp_path, ONE, WORK)

    with pytest.raises(_Killed):
        ground.run(before=_dies_after(ev.Answered, "yes"), **_asks("pre-merge"))
    before = _asked(ground, "q1")
    deadline = before["deadline"]
    assert ("answer" in before, deadline is None) == (False, False)
    ground.run(**_asks("pre-merge"))
    found = _asked(ground, "q1")
    assert (found["answer"], found["deadline"]) == ("yes", deadline)


def test_a_dry_run_names_the_questions(tmp_path: Path) -> None:
    """With the time for an answer, and what holds after it."""
    ground = Ground(tmp_path, ONE, WORK)
    ground.configure(**_asks("pre-merge", "security-review", timeout_s=60))
    out = ground.cli("--dry-run")[1]
    assert "After 60 s it takes the answer in parentheses: security-review (abort), pre-merge (escalate)." in out
