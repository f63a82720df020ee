"""Projects on which a run cannot work as they are: a sentence, a documented exit code, and nothing is lost."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import subprocess
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import psutil
import pytest

from nexus_mcp.cli import main
from nexus_mcp.errors import LockTimeout, StateError
from nexus_mcp.run import events as ev
from nexus_mcp.run.checks import run_check
from nexus_mcp.run.run_folder import RunBusy, RunLock
from nexus_mcp.run.setup import UNREADABLE_S, Run
from nexus_mcp.store.access import Deadline
from nexus_mcp.store.folder import Folder
from tests.run.runs import Ground, git
from tests.run.test_command import WAIT_S, at_work, ready, until
from tests.run.test_command import WORK as FILES
from tests.support import Json

ONE: list[dict[str, object]] = [{"id": 1, "title": "One", "acceptance": "a"}]
ASKS: dict[str, Json] = {"1": [[{"say": "STATUS: blocked\nWhich?"}], [{"write": "f1", "text": "1"}]]}
NEVER = ("--trust", "--merge", "never")


def edit(ground: Ground, text: str) -> None:
    """Replace the task list as an editor does."""
    path = ground.root / ".nexus/state/tasks.json"
    path.with_suffix(".new").write_text(text)
    os.replace(path.with_suffix(".new"), path)


def listed(ground: Ground) -> Json:
    return json.loads((ground.root / ".nexus/state/tasks.json").read_text())


def test_a_branch_in_the_way_is_a_blocker(tmp_path: Path) -> None:
    """git cannot make the branch nexus/RUN beside a branch nexus; the message says how to rename that branch."""
    ground = ready(tmp_path, ONE)
    git(ground.root, "branch", "nexus")
    code, out, _ = ground.cli(*NEVER)
    assert (code, ground.run_id) == (5, "")
    assert "git branch -m nexus NAME" in out


def test_a_cycle_is_named_beside_a_missing_dependency(tmp_path: Path) -> None:
    """A message names both faults."""
    rows: list[dict[str, object]] = [{"id": id_, "title": "T", "deps": [dep]} for id_, dep in ((1, 2), (2, 1), (3, 9))]
    code, out, _ = ready(tmp_path, rows).cli(*NEVER)
    assert code == 5
    assert "3 on 9" in out
    assert "cycle: 1, 2" in out


@pytest.mark.parametrize(
    ("file", "line"),
    [("events.jsonl", '{"seq": 99, "type": "future"}\n'), ("run.json", "")],
)
def test_a_run_of_a_newer_version_is_not_taken_up(tmp_path: Path, file: str, line: str) -> None:
    """Its log may have events that this version does not know. Nothing is written; --new begins another run."""
    ground = ready(tmp_path, ONE, ASKS)
    assert ground.cli(*NEVER)[0] == 3
    path = ground.root / ".nexus/state/runs" / ground.run_id / file
    text = path.read_text()
    path.write_text(text + line if line else text.replace('"version": 1', '"version": 2', 1))
    before = path.read_text()
    code, _, err = ground.cli(*NEVER)
    assert code == 2
    assert "newer version of nexus-mcp" in err
    assert "nexus-mcp run --new" in err
    assert path.read_text() == before
    assert ground.cli(*NEVER, "--new")[0] == 0


def test_a_run_does_not_go_on_with_the_tasks_of_another_list(tmp_path: Path) -> None:
    """Task 1 of a new list is not task 1 of the closed one: its attempt would be merged for the wrong task."""
    ground = ready(tmp_path, ONE, ASKS)
    assert ground.cli(*NEVER)[0] == 3
    document = listed(ground)
    edit(ground, json.dumps(document).replace("2026-01-01", "2026-02-02"))
    code, _, err = ground.cli(*NEVER)
    assert code == 2
    assert "worked on another task list" in err
    assert ground.cli(*NEVER, "--new")[0] == 0


def test_a_question_is_closed_when_its_task_goes_on(tmp_path: Path) -> None:
    """After a new attempt the question needs no answer, and the end of the run does not ask for one."""
    ground = ready(tmp_path, ONE, ASKS)
    assert "run answer q1" in ground.cli(*NEVER)[1]
    assert ground.cli("retry", "1", "--fresh")[0] == 0
    code, out, _ = ground.cli("--merge", "never")
    assert (code, "run answer" in out) == (0, False)


def test_a_task_list_that_breaks_stops_the_run(tmp_path: Path) -> None:
    """Exit code 3 and the place of the fault; once it is mended, the next run goes on with the same session."""
    ground = ready(
        tmp_path, ONE, {"1": [[{"write": "f1", "text": "1"}, {"hang": 300}], [{"write": "f2", "text": "2"}]]}
    )
    process = ground.start(*NEVER)
    until(lambda: at_work(ground) and any(ground.worktrees.glob("run-*/1-1/f1")))
    text = (ground.root / ".nexus/state/tasks.json").read_text()
    edit(ground, "{")
    out, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 3
    assert "tasks.json (line 1, column 2)" in out
    edit(ground, text)
    assert ground.cli("--merge", "never")[0] == 0
    assert {"f1", "f2"} <= ground.tree().keys()
    assert [event.attempt for event in ground.log() if isinstance(event, ev.AttemptPlanned)] == [1]


def test_a_setting_of_a_newer_version_is_named(tmp_path: Path) -> None:
    """The message has the place of the setting, and says that this version does not have it."""
    ground = ready(tmp_path, ONE)
    (ground.root / ".nexus/config.yml").write_text("run:\n  future: 1\n")
    code, _, err = ground.cli(*NEVER)
    assert code == 2
    assert "config.yml:2:3: run.future: this version of nexus-mcp has no such setting" in err


def test_half_a_task_list_is_read_again_without_a_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an editor saves the list in place, the list from before the save counts, and no other task waits."""
    ground = Ground(tmp_path, ONE, {"1": [[{"write": "f1", "text": "1"}]]})
    path = ground.root / ".nexus/state/tasks.json"
    now = [1000.0]

    def look(run: Run) -> None:
        with monkeypatch.context() as patched:
            patched.setattr("nexus_mcp.run.setup.time.monotonic", lambda: now[0])
            patched.setattr("nexus_mcp.run.setup.time.sleep", lambda _: pytest.fail("it waits"))
            whole = run.tasks()
            text = path.read_text()
            path.write_text(text[: len(text) // 2])
            assert run.tasks() == whole
            run.tasks()["tasks"].clear()
            assert run.tasks() == whole
            now[0] += UNREADABLE_S + 0.1
            with pytest.raises(StateError):
                run.tasks()
            path.write_text(text)
            assert run.tasks() == whole

    assert ground.run(before=look).task(1).state == "completed"


def test_a_project_without_tasks_gets_a_list_of_its_own(tmp_path: Path) -> None:
    """A caller that changes the empty list changes no other one."""
    ground = Ground(tmp_path, ONE, {})

    def look(run: Run) -> None:
        (ground.root / ".nexus/state/tasks.json").unlink()
        run.tasks()["tasks"].append({"id": 9})
        assert run.tasks()["tasks"] == []

    ground.run(before=look)


def working(tmp_path: Path, *more: Json, **values: object) -> tuple[Ground, subprocess.Popen[str]]:
    """Return a run whose first session waits for the file `go` beside the project, and its process."""
    wait = f"while ! test -e {tmp_path}/go; do sleep 0.05; done"
    ground = Ground(tmp_path, [*ONE, *more], {"1": [[{"write": "f1", "text": "1"}, {"run": wait}]], "*": [WORK]})
    ground.configure(**values)
    process = ground.start(*NEVER)
    until(lambda: at_work(ground) and any(ground.worktrees.glob("run-*/1-1/f1")))
    return ground, process


WORK: list[Json] = [{"write": "f2", "text": "2"}]


def test_a_task_that_is_added_while_it_runs_joins(tmp_path: Path) -> None:
    """It is done after the others, in the same run."""
    ground, process = working(tmp_path)
    document = listed(ground)
    document["tasks"].append({**document["tasks"][0], "id": 2, "title": "Two", "status": "pending"})
    edit(ground, json.dumps(document))
    (tmp_path / "go").touch()
    process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert ground.statuses() == ["completed", "completed"]


def test_an_edit_counts_from_the_next_attempt(tmp_path: Path) -> None:
    """The session at work has the old text; its work is merged all the same, and the edit stays."""
    ground, process = working(tmp_path)
    document = listed(ground)
    document["tasks"][0]["acceptance"] = "something else"
    edit(ground, json.dumps(document))
    (tmp_path / "go").touch()
    process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert listed(ground)["tasks"][0]["acceptance"] == "something else"
    assert ground.tree()["f1"] == "1"


def test_a_list_that_is_closed_while_it_runs_pauses_the_run(tmp_path: Path) -> None:
    """Exit code 3 with a sentence; the work of the session is in its worktree."""
    ground, process = working(tmp_path)
    (ground.root / ".nexus/state/tasks.json").unlink()
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 3, out + err
    assert "The task list was closed while the run was at work." in out
    assert (ground.worktrees / ground.run_id / "1-1" / "f1").read_text() == "1"


def test_a_check_that_never_ends_is_ended(tmp_path: Path) -> None:
    """After its timeout the check counts as failed; its processes are gone, and the work stays on its branch."""
    tiers = [{"tier": "standard", "attempts": 1}]
    check = f"test ! -e f1 || {{ echo $$ > {tmp_path}/pid; sleep 300; }}"
    ground = Ground(tmp_path, ONE, {"1": [[{"write": "f1", "text": "1"}]]})
    ground.configure(checks={"test": check}, check_timeout_s=1, mend=0, tiers=tiers)
    code, out, _ = ground.cli(*NEVER)
    assert code == 1
    assert "test fails: (ended after 1 seconds)" in out
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))
    assert git(ground.root, "show", f"nexus/{ground.run_id}/1-1:f1") == "1"


def test_an_unknown_owner_gets_a_plain_session(tmp_path: Path) -> None:
    """The precheck warns, and the task is done."""
    ground = ready(tmp_path, [{**ONE[0], "owner": "nobody"}], {"1": [[{"write": "f1", "text": "1"}]]})
    code, out, _ = ground.cli(*NEVER)
    assert code == 0
    assert "no agent of the catalog has this name, so the task gets a plain session: 1: nobody" in out


def test_a_workspace_lock_that_others_hold_for_long_pauses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under load the servers and hooks of many sessions may keep the lock: the executor waits, and the task goes on."""
    ground = Ground(tmp_path, ONE, {"1": [[{"write": "f1", "text": "1"}]]})
    monkeypatch.setattr("nexus_mcp.run.engine._LOOK_S", 0.01)
    held: list[int] = []
    tries: list[float] = []

    def at_most(deadline: Deadline, seconds: float) -> AbstractContextManager[None]:
        tries.append(seconds)
        if len(tries) == 3:
            os.close(held.pop())
        return known(deadline, seconds)

    known = Deadline.at_most
    monkeypatch.setattr(Deadline, "at_most", at_most)

    def hold(_: Run) -> None:
        tries.clear()
        held.append(os.open(ground.root / ".nexus/state/lock", os.O_RDWR | os.O_CREAT))
        fcntl.flock(held[0], fcntl.LOCK_EX)

    state = ground.run(before=hold)
    assert (state.task(1).state, state.task(1).reason) == ("completed", "")
    assert len(tries) > 3


def test_a_workspace_lock_that_is_held_at_the_start_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run does not start: the sentence names the process and the next step, and the exit code is that of a run that
    needs a person.
    """
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"write": "f1", "text": "1\n"}]]})
    ground.configure()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr("nexus_mcp.store.store.Store.locked_state", refused)
    assert main(["run", "--trust", "--headless", "--project", str(ground.root)]) == 3
    said = capsys.readouterr().out
    assert "process 77 has held it for 10 seconds" in said
    assert "then type nexus-mcp run. Nothing is lost." in said
    monkeypatch.undo()
    assert ground.cli("--trust", "--merge", "never")[0] == 0


def refused(_: object) -> object:
    raise LockTimeout(".nexus/state/workspace.lock", 10.0, 77)


def test_a_slow_reader_of_the_lock_is_no_other_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run status` holds it for a moment, which is long under load; a run that is alive is named at once."""
    ground = Ground(tmp_path, ONE, {})
    lock = ground.root / ".nexus/state/run.lock"
    lock.write_text(json.dumps({"run": "run-x", "pid": 1, "host": "h", "since": "s", "create_time": 0.0}))
    pauses: list[float] = []
    with lock.open("r+") as reader, Folder.root(str(lock.parent)) as state:
        fcntl.flock(reader, fcntl.LOCK_SH)

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 50:
                fcntl.flock(reader, fcntl.LOCK_UN)

        monkeypatch.setattr("nexus_mcp.run.run_folder.time.sleep", pause)
        with RunLock(state) as held:
            held.name("run-y")
            pauses[:] = [0.0] * 100
            with pytest.raises(RunBusy, match="run-y"):
                RunLock(state)
            assert len(pauses) < 120


def test_a_preview_of_a_task_that_does_not_exist(tmp_path: Path) -> None:
    """It says so, with the exit code of the run itself: nothing about it is completed."""
    ground = ready(tmp_path)
    code, out, _ = ground.cli("9", "--dry-run")
    assert (code, "no task 9" in out) == (5, True)
    code, out, _ = ground.cli("9", "--trust")
    assert (code, "no task 9" in out) == (5, True)


@pytest.mark.parametrize("words", [(), ("--new",)])
def test_two_executors_never_work_at_once(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Without the file of the lock the second one gets a lock of its own; the log still names the first one."""
    go = tmp_path / "go"
    waits: list[Json] = [{"run": f"until test -e {go}; do :; done"}, {"write": "f1", "text": "1\n"}]
    ground = ready(tmp_path, script={**FILES, "1": [waits]})
    with ground.start(*NEVER) as first:
        until(lambda: at_work(ground))
        (ground.root / ".nexus/state/run.lock").unlink()
        code, out, _ = ground.cli(*NEVER, *words)
        assert (code, f"Process {first.pid} works on" in out) == (6, True)
        go.touch()
        first.communicate(timeout=WAIT_S)
    assert first.returncode == 0
    assert [event.seq for event in ground.log()] == sorted({event.seq for event in ground.log()})


def test_a_check_that_leaves_a_server_has_ended(tmp_path: Path) -> None:
    """The server holds the output open; the result is that of the check, with its whole output."""
    command = f"sleep 300 & echo $! > {tmp_path}/pid; seq 100000; echo 3 failed; exit 7"
    result = asyncio.run(run_check("test", command, str(tmp_path), os.environ, WAIT_S))
    assert (result.code, result.failures, result.output[-16:]) == (7, 3, "100000\n3 failed\n")
    with suppress(psutil.NoSuchProcess):
        assert psutil.Process(int((tmp_path / "pid").read_text())).status() == psutil.STATUS_ZOMBIE
