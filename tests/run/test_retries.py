"""`run retry` goes on with the work of the last attempt; `--fresh` begins at the merged work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.run import control
from nexus_mcp.run import events as ev
from nexus_mcp.run.setup import Run
from tests.run.runs import GOOD, Ground, git
from tests.support import Json

ONE: list[Json] = [{"id": 1, "title": "One"}]
ONCE: Json = {"mend": 0, "tiers": [{"tier": "standard", "attempts": 1}]}


def retried(ground: Ground, *, fresh: bool = False, **values: Any) -> list[ev.AttemptPlanned]:
    """Run the task to its end, retry it, run again, and return the plans of its attempts."""
    ground.run(**values)

    def retry(run: Run) -> None:
        control.drop(run.folder, {"command": "retry", "task": 1, "fresh": fresh})

    ground.run(before=retry, **values)
    return [event for event in ground.log() if isinstance(event, ev.AttemptPlanned)]


def test_retry_goes_on_with_the_work_that_failed(tmp_path: Path) -> None:
    """The next attempt has the files, and its brief says why the last one failed; no change of tier is logged."""
    bad = [{"write": "f1", "text": "1"}, {"write": "broken", "text": "b"}]
    ground = Ground(tmp_path, ONE, {"1": [bad, [{"run": "cp f1 f2; rm broken"}]]})
    _, plan = retried(ground, **ONCE)
    assert ground.statuses() == ["completed"]
    assert (ground.tree()["f2"], "broken" in ground.tree()) == ("1", False)
    assert plan.base == git(ground.root, "rev-parse", f"nexus/{ground.run_id}/1-1")
    assert "test fails" in plan.findings[0]
    assert not [event for event in ground.log() if isinstance(event, ev.Escalated)]


def test_fresh_retry_begins_at_the_merged_work(tmp_path: Path) -> None:
    """The work of the failed attempt is only on its branch."""
    script = {"1": [[{"write": "broken", "text": "b"}], [{"write": "f1", "text": "1"}]]}
    ground = Ground(tmp_path, ONE, script)
    first, plan = retried(ground, fresh=True, **ONCE)
    assert (ground.statuses(), set(ground.tree())) == (["completed"], {"README.md", "f1"})
    assert (plan.base, plan.findings) == (first.base, [])


def test_retry_of_unjudged_work_needs_no_change(tmp_path: Path) -> None:
    """No verdict came, so the task paused. The work may be complete, so an attempt without changes is reviewed."""
    script: dict[str, Json] = {"1-1": [[{"write": "f1", "text": "1"}]], "1-2": [[{"say": "It is done."}]]}
    script |= {"1-tester": [[{"say": "?"}], [{"say": "?"}], [{"verdict": GOOD}]]}
    ground = Ground(tmp_path, ONE, script)
    retried(ground, checks={}, review={"do": ["tester"]})
    assert (ground.statuses(), ground.tree()["f1"]) == (["completed"], "1")


def test_retry_of_failed_work_needs_a_change(tmp_path: Path) -> None:
    """The inherited work failed a check, so the attempt has to change files."""
    ground = Ground(tmp_path, ONE, {"1": [[{"write": "broken", "text": "b"}], [{"say": "It is done."}]]})
    retried(ground, **ONCE)
    categories = [event.category for event in ground.log() if isinstance(event, ev.Judged)]
    assert categories == ["tests-failing", "no-change"]


def test_retry_keeps_the_reasons_of_security(tmp_path: Path) -> None:
    """The file of secrets comes from the first attempt; the question before the merge of the second one names it."""
    bad = [{"write": "deploy/.env", "text": "KEY=1"}, {"write": "broken", "text": "b"}]
    ground = Ground(tmp_path, ONE, {"1": [bad, [{"run": "rm broken; echo 1 > f1"}]]})
    values: Json = {**ONCE, "questions": {"triggers": {"security-review": True}, "timeout_s": 1}}
    retried(ground, **values)
    [question] = ground.state().questions.values()
    assert (question.trigger, "deploy/.env" in question.summary) == ("security-review", True)
    assert "f1" not in ground.tree()


def test_retry_never_begins_with_forbidden_changes(tmp_path: Path) -> None:
    """The owner may not edit files, and edited one: the next attempt begins at the merged work."""
    tasks: list[Json] = [{"id": 1, "title": "One", "owner": "architect"}]
    ground = Ground(tmp_path, tasks, {"1": [[{"write": "f1", "text": "1"}]]})
    plans = retried(ground, **ONCE)
    assert len({plan.base for plan in plans}) == 1
    assert "capability-violation" in [event.category for event in ground.log() if isinstance(event, ev.Judged)]
    assert "f1" not in ground.tree()


def test_next_tier_never_begins_with_forbidden_changes(tmp_path: Path) -> None:
    """The second attempt changes only another file: with the first one's commit as its base, both would be merged."""
    tasks: list[Json] = [{"id": 1, "title": "One", "owner": "architect"}]
    ground = Ground(tmp_path, tasks, {"1": [[{"write": "f1", "text": "1"}], [{"say": "It is done."}]]})
    ground.run(mend=0, tiers=[{"tier": tier, "attempts": 1} for tier in ("standard", "high")])
    plans = [event for event in ground.log() if isinstance(event, ev.AttemptPlanned)]
    assert [plan.tier for plan in plans] == ["standard", "high"]
    assert len({plan.base for plan in plans}) == 1
    assert "f1" not in ground.tree()


@pytest.mark.parametrize("request_", [{"command": "pause"}, {"command": "stop"}])
def test_pause_leaves_a_waiting_question_open(tmp_path: Path, request_: dict[str, Any]) -> None:
    """The run takes no fallback; the next one asks again under the same id."""
    ground = Ground(tmp_path, ONE, {"1": [[{"write": "f1", "text": "1"}]]})
    values: Json = {"questions": {"triggers": {"security-review": True, "pre-merge": True}, "timeout_s": 600}}

    def drop_at_question(run: Run, answer: dict[str, Any]) -> None:
        def drop(event: ev.AnyEvent) -> None:
            if isinstance(event, ev.Question | ev.RunStarted):
                control.drop(run.folder, answer)

        run.listeners.append(drop)

    state = ground.run(before=lambda run: drop_at_question(run, request_), **values)
    assert (list(state.questions), state.answers) == (["q1"], {})
    assert state.task(1).state != "paused"
    yes = {"command": "answer", "id": "q1", "text": "yes", "by": "person"}
    state = ground.run(before=lambda run: control.drop(run.folder, yes), **values)
    assert (state.task(1).state, list(state.questions)) == ("completed", ["q1"])
