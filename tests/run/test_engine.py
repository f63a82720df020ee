"""Whole runs with the fake harness: parallel tasks, failures of each kind, and what is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.runs import GOOD, Ground, git


def test_three_tasks_are_done_and_merged_in_order(tmp_path: Path) -> None:
    """Each task runs when its dependency is merged; the integration branch has all, the checkout is untouched."""
    tasks = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two", "deps": [1]}, {"id": 3, "title": "Three"}]
    script = {str(n): [[{"write": f"f{n}.txt", "text": f"{n}\n"}, {"say": "done"}]] for n in (1, 2, 3)}
    ground = Ground(tmp_path, tasks, script)
    before = git(ground.root, "status", "--porcelain"), git(ground.root, "rev-parse", "HEAD")
    state = ground.run(jobs=2)
    assert state.ended is not None
    assert state.ended.status == "completed"
    assert ground.tree() == {"README.md": "x", "f1.txt": "1", "f2.txt": "2", "f3.txt": "3"}
    assert ground.statuses() == ["completed"] * 3
    assert (git(ground.root, "status", "--porcelain"), git(ground.root, "rev-parse", "HEAD")) == before
    assert not any((ground.worktrees / ground.run_id).glob("?-?"))


def test_failing_checks_are_mended_in_the_same_session(tmp_path: Path) -> None:
    """The session is resumed with the output of the check, and nothing is escalated."""
    script = {"1": [[{"write": "broken", "text": "b"}], [{"run": "rm broken"}, {"write": "ok", "text": "o"}]]}
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], script)
    state = ground.run()
    assert state.task(1).state == "completed"
    assert [len(one.attempt.mends) for one in state.task(1).attempts] == [1]
    assert "broken" not in ground.tree()


def test_a_task_that_never_passes_fails_and_blocks_what_depends_on_it(tmp_path: Path) -> None:
    """All tiers are used up; nothing unverified is merged, and the work stays on its branches."""
    script = {"1": [[{"append": "broken", "text": "b"}]], "2": [[{"write": "two", "text": "2"}]]}
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}, {"id": 2, "title": "Two", "deps": [1]}], script)
    state = ground.run(mend=0)
    assert (state.task(1).state, state.task(2).state) == ("failed", "blocked")
    assert [one.attempt.tier for one in state.task(1).attempts] == ["standard", "standard", "high"]
    assert "broken" not in ground.tree()
    assert git(ground.root, "show", f"nexus/{ground.run_id}/1-3:broken") == "bbb"
    assert ground.statuses() == ["pending", "pending"]


def test_a_rejected_verdict_is_mended_with_its_findings(tmp_path: Path) -> None:
    """The reviewer is another agent; its findings go back word for word."""
    bad = {**GOOD, "approved": False, "reasoning": "The name is wrong"}
    script = {
        "1-engineer": [[{"write": "a", "text": "1"}], [{"write": "a", "text": "2"}]],
        "1-tester": [[{"verdict": bad}], [{"verdict": GOOD}]],
    }
    ground = Ground(tmp_path, [{"id": 1, "title": "One", "owner": "engineer"}], script)
    state = ground.run(review={"do": ["tester"]})
    assert state.task(1).state == "completed"
    (attempt,) = state.task(1).attempts
    assert [one.reason for one in attempt.attempt.mends] == ["The name is wrong"]
    assert ground.tree()["a"] == "2"


@pytest.mark.parametrize("resolve", ["grep -q '<<<<' a && printf 'one\\ntwo\\n' > a", "git show HEAD:a > a"])
def test_a_conflict_goes_back_to_its_owner(tmp_path: Path, resolve: str) -> None:
    """The owner sees conflict markers in its worktree, resolves them, and the merge is tried again. If its own side
    alone is the result, the index equals HEAD, but the merge has to be committed: else the next one conflicts again.
    """
    mend = [{"run": resolve}]
    script = {"1": [[{"write": "a", "text": "one\n"}], mend], "2": [[{"write": "a", "text": "two\n"}], mend]}
    tasks = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}]
    ground = Ground(tmp_path, tasks, script, files={"a": "zero\n"})
    state = ground.run(jobs=2)
    assert [state.task(n).state for n in (1, 2)] == ["completed", "completed"]
    conflicts = [event for event in ground.log() if event.type == "conflict"]
    assert [event.files for event in conflicts] == [["a"]]


def test_a_blocked_agent_pauses_its_task_with_the_question(tmp_path: Path) -> None:
    """Without a trigger that asks, the question is recorded and the task pauses; the others go on."""
    script = {"1": [[{"say": "STATUS: blocked\nWhich colour?"}]], "2": [[{"write": "b", "text": "b"}]]}
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}], script)
    state = ground.run()
    assert (state.task(1).state, state.task(1).reason, state.task(2).state) == ("paused", "Which colour?", "completed")
    assert [question.summary for question in state.open_questions()] == ["Which colour?"]
