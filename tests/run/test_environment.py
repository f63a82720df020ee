"""A full disk, a missing command and a failing setup say nothing about the work: no attempt counts, nothing is lost."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.errors import StorageError
from nexus_mcp.run import events as ev
from nexus_mcp.run.decide import count_used
from nexus_mcp.run.environment_faults import is_full
from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.processes import is_alive
from nexus_mcp.run.projection import RunRecord
from nexus_mcp.run.setup import Run
from nexus_mcp.run.worktrees import Repository
from tests.run.runs import Ground
from tests.support import Json

ONE: list[Json] = [{"id": 1, "title": "One", "owner": "engineer"}]
WORK: list[Json] = [{"write": "f1", "text": "1\n"}]
FULL = os.strerror(errno.ENOSPC)


def one(tmp_path: Path, *sessions: list[Json], **more: list[list[Json]]) -> Ground:
    return Ground(tmp_path, ONE, {"1-engineer": [*sessions], **more})


def outcomes(state: RunRecord) -> list[str | None]:
    return [one.attempt.outcome.category for one in state.task(1).attempts if one.attempt.outcome is not None]


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ("test ! -e f1 || no-such-command", "test cannot be started (127)"),
        (f"test ! -e f1 || {{ echo 'cc: {FULL}'; exit 1; }}", "The disk is full: test ends with: cc: No space left"),
    ],
)
def test_a_check_that_cannot_run_judges_nothing(tmp_path: Path, check: str, sentence: str) -> None:
    """It is repeated once, in a new attempt with setup; then the run pauses, and the budget is as before."""
    state = one(tmp_path, WORK, [*WORK, {"append": "f1", "text": "2\n"}]).run(checks={"test": check})
    assert outcomes(state) == ["environment"] * 2
    assert count_used(state.task(1).facts(), "standard") == 0
    assert sentence in (state.paused or "")
    assert state.ended is not None
    assert state.ended.status == "paused"


def test_a_check_that_could_not_run_at_the_base_excuses_nothing(tmp_path: Path) -> None:
    """The disk was full when the run began; later the check runs, fails, and nothing is merged."""
    check = f"test -e f1 || {{ echo '{FULL}'; exit 1; }}; exit 1"
    tiers = [{"tier": "standard", "attempts": 1}]
    ground = one(tmp_path, WORK)
    state = ground.run(checks={"test": check, "lint": "true"}, mend=0, tiers=tiers)
    assert outcomes(state) == ["tests-failing"]
    assert not [event for event in ground.log() if event.type == "merged"]


@pytest.mark.parametrize("setup", ["no-such-command", f"echo 'cp: {FULL}'; exit 1", "exit 7"])
def test_a_setup_that_fails_pauses_the_run(tmp_path: Path, setup: str) -> None:
    """The sentence names setup, and no session is started."""
    ground = one(tmp_path, WORK)
    state = ground.run(setup=[setup])
    assert outcomes(state) == ["environment"] * 2
    assert (state.paused or "").startswith("Setup failed")
    assert not [event for event in ground.log() if event.type == "process_started"]


def test_a_harness_that_is_not_there_pauses_the_run(tmp_path: Path) -> None:
    """The program vanished after the precheck: exit code 127 of the shell that starts it."""
    template = {"command": ["no-such-harness"], "format": "jsonl"}
    state = one(tmp_path, WORK).run(drivers={"fake": template})
    assert outcomes(state) == ["environment"] * 2
    assert "The harness cannot be started" in (state.paused or "")


def test_a_reviewer_whose_harness_is_not_there_pauses_the_run(tmp_path: Path) -> None:
    """That it gave no verdict says nothing about the work."""
    ground = one(tmp_path, WORK)
    drivers = {"fake": ground.config().drivers["fake"].model_dump(), "gone": {"command": ["no-such-harness"]}}
    state = ground.run(harness={"do": "fake", "check": "gone"}, drivers=drivers, review={"do": ["tester"]})
    assert set(outcomes(state)) == {"environment"}
    assert state.paused is not None


def failing(times: int) -> object:
    """Return a replacement of Repository.collect that meets a full disk this many times."""
    real, left = Repository.collect, [times]

    async def collect(self: Repository, *words: object, **more: object) -> tuple[str, str]:
        if left[0]:
            left[0] -= 1
            raise GitFailed(("add", "--all"), 128, f"error: unable to write file: {FULL}")
        return await real(self, *words, **more)  # type: ignore[arg-type]

    return collect


def test_git_that_meets_a_full_disk_is_tried_again(tmp_path: Path) -> None:
    """The step is repeated, and the attempt goes on as if nothing had happened."""
    ground = one(tmp_path, WORK)
    with patch.object(Repository, "collect", failing(1)):
        state = ground.run()
    assert (state.task(1).state, outcomes(state)) == ("completed", [None])


def test_a_disk_that_stays_full_pauses_the_run(tmp_path: Path) -> None:
    """The attempt stays where the log has it: the next run collects its work, and needs no second session."""
    ground = one(tmp_path, WORK, [{"exit": 1}])
    with patch.object(Repository, "collect", failing(2)):
        state = ground.run()
    assert state.ended is not None
    assert (state.ended.status, outcomes(state)) == ("paused", [])
    assert "The disk is full" in (state.paused or "")
    state = ground.run()
    assert (state.task(1).state, outcomes(state)) == ("completed", [None])
    assert ground.tree()["f1"] == "1"


def without_space(command: str, times: int, code: int = 128) -> object:
    """Return a replacement of Git.outputs for which a command of git meets a full disk this many times."""
    real, left = Git.outputs, [times]

    async def outputs(self: Git, *words: str, **more: object) -> tuple[int, str, str]:
        if words[0] == command and "--abort" not in words and left[0]:
            left[0] -= 1
            return code, "", f"fatal: unable to write loose object file: {FULL}\nfatal: update_ref failed"
        return await real(self, *words, **more)  # type: ignore[arg-type]

    return outputs


# The second merge is a true one: the branch of task 2 began before task 1 was merged.
PAIR: list[Json] = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}]
APART: dict[str, Json] = {"1": [[{"write": "f1", "text": "1\n"}]], "2": [[{"write": "f2", "text": "2\n"}]]}
SAME: dict[str, Json] = {
    "1": [[{"write": "f", "text": "1\n"}]],
    "2": [[{"run": "sleep 1"}, {"write": "f", "text": "2\n"}], [{"write": "f", "text": "1\n2\n"}]],
}


@pytest.mark.parametrize("code", [1, 128])
@pytest.mark.parametrize("has_trees", [True, False], ids=["merge-tree", "merge"])
def test_a_merge_that_meets_a_full_disk_is_no_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_trees: bool, code: int
) -> None:
    """The run pauses with the accepted attempt as it is; the next run merges it without another session."""
    monkeypatch.setattr("nexus_mcp.run.worktrees._VERSION", [(2, 39) if has_trees else (2, 30)])
    ground = Ground(tmp_path, PAIR, APART)
    with patch.object(Git, "outputs", without_space("merge-tree" if has_trees else "merge", 2, code)):
        state = ground.run()
    assert "The disk is full" in (state.paused or "")
    assert not [event for event in ground.log() if event.type in ("conflict", "judged") and not getattr(event, "ok", 0)]
    state = ground.run()
    assert [state.task(id_).state for id_ in (1, 2)] == ["completed", "completed"]
    assert [len(state.task(id_).attempts) for id_ in (1, 2)] == [1, 1]
    assert ground.tree() == {"README.md": "x", "f1": "1", "f2": "2"}


def test_a_conflict_that_cannot_be_shown_is_not_sent_to_its_owner(tmp_path: Path) -> None:
    """The merge into the worktree of the owner meets a full disk: the session would see no conflict to mend."""
    ground = Ground(tmp_path, PAIR, SAME)
    with patch.object(Git, "outputs", without_space("merge", 2)):
        state = ground.run(jobs=2)
    assert "The disk is full" in (state.paused or "")
    assert len([event for event in ground.log() if event.type == "process_started"]) == 2
    state = ground.run(jobs=2)
    assert state.task(2).state == "completed"
    assert ground.tree()["f"] == "1\n2"


def test_a_full_disk_is_no_forged_branch(tmp_path: Path) -> None:
    """A killed executor moved the branch and did not log it; its successor cannot compute the merge again."""
    ground = Ground(tmp_path, ONE, {"1-engineer": [WORK]})
    with patch.object(Run, "emit", stop_at_merged), pytest.raises(Killed):
        ground.run()
    with patch.object(Git, "outputs", without_space("merge-tree", 2)):
        state = ground.run()
    assert "The disk is full" in (state.paused or "")
    state = ground.run()
    assert state.task(1).state == "completed"
    assert ground.tree()["f1"] == "1"


class Killed(BaseException):
    """The end of the executor."""


def stop_at_merged(run: Run, event: ev.Event) -> ev.AnyEvent:
    if isinstance(event, ev.Merged):
        raise Killed
    return EMIT(run, event)


EMIT = Run.emit


@pytest.mark.parametrize(
    ("error", "is_so"),
    [
        (GitFailed(("add",), 128, f"fatal: unable to write loose object file: {FULL}"), True),
        (GitFailed(("add",), 128, "fatal: sha1 file 'index.lock' write error. Out of diskspace"), True),
        (GitFailed(("add",), 128, f"error: {os.strerror(errno.EFBIG)}"), True),
        (GitFailed(("add",), -signal.SIGXFSZ, ""), True),
        (GitFailed(("add",), 128, "fatal: not a git repository"), False),
        (StorageError("a", "write", os.strerror(errno.EDQUOT)), True),
        (StorageError("a", "write", os.strerror(errno.EACCES)), False),
        (OSError(errno.ENOSPC, FULL), True),
        (OSError(errno.EPERM, "no"), False),
        (None, False),
    ],
)
def test_a_full_disk_is_recognised(error: BaseException | None, is_so: bool) -> None:
    """By the number of an error, its text, the output of git, or the signal that ended it."""
    assert is_full(error) is is_so


def limited(ground: Ground, size: int) -> subprocess.CompletedProcess[str]:
    """Run `nexus-mcp run` with a limit on the size of files."""
    return subprocess.run(
        [sys.executable, "-m", "nexus_mcp", "run", "--trust", "--merge", "never"],
        cwd=ground.root,
        env=ground.environ(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


@pytest.mark.parametrize(
    ("line", "file"), [('{"kind": "usage"}', "events.jsonl"), ('{"kind": "text", "text": "abcdefg"}', "attempts/1-1")]
)
def test_a_run_that_cannot_write_ends_with_a_sentence(tmp_path: Path, line: str, file: str) -> None:
    """Exit code 3, no process left, nothing lost: the next run goes on with the session."""
    flood = {"run": f"i=0; while [ $i -lt 600 ]; do echo '{line}'; i=$((i+1)); done; sleep 300"}
    ground = one(tmp_path, [*WORK, flood], [{"append": "f1", "text": "2\n"}])
    ground.configure()
    done = limited(ground, 30_000)
    ground.find_run()
    assert done.returncode == 3, done.stdout + done.stderr
    assert file in done.stdout
    assert "then continue with nexus-mcp run" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    started = [event for event in ground.log() if isinstance(event, ev.ProcessStarted)]
    assert not any(is_alive(event.pid, event.create_time) for event in started)
    assert ground.cli("--merge", "never")[0] == 0
    assert ground.tree()["f1"] == "1\n2"
    assert len(ground.state().task(1).attempts) == 1


def test_a_check_that_passed_when_the_run_began_has_to_pass(tmp_path: Path) -> None:
    """It fails when the run goes on, because the machine is under load: that excuses no failure of the work."""
    script: dict[str, Json] = {"1-engineer": [[{"say": "STATUS: blocked\nWhich?"}], [{"write": "broken", "text": "x"}]]}
    ground = Ground(tmp_path, ONE, script)
    flag = tmp_path / "load"
    ground.configure(checks={"test": f"test ! -e broken && test ! -e {flag}"}, tiers=[{"tier": "high", "attempts": 1}])
    assert ground.cli("--trust", "--merge", "never")[0] == 3
    assert ground.cli("answer", "q1", "that")[0] == 0
    flag.touch()
    code, out, _ = ground.cli("--merge", "never")
    assert (code, ground.statuses()) == (1, ["pending"]), out
    assert "on the merged work so far, check test fails" in out
