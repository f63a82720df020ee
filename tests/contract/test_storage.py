"""Full disks, folders that disappear, files of other users."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from nexus_mcp.store import oplog
from tests.contract.failing_disk import JOURNAL, assert_no_leftovers, disk, peek, reset, settle, steps
from tests.support import NAMES, READ_ONLY, SMALLEST, Client, Project, unpack, without_lock

WRITERS = [name for name in NAMES if name not in READ_ONLY]


@pytest.mark.requirement("storage.disk", "calls.failure-keeps", "task_close.atomic")
@pytest.mark.parametrize("tool", WRITERS)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_every_failing_change_is_absent_or_completed(
    call: Client, project: Project, make_app: Callable[..., Any], tool: str, code: int
) -> None:
    """After any failed write to the disk, nothing has changed, as the message says, or the change is recorded and
    completes.
    """
    outcomes = set()
    for number in range(1, steps(project, call, tool) + 1):
        before = reset(project)
        client = Client(make_app(project.root), project)

        def fail(name: str) -> None:
            raise OSError(code, os.strerror(code))

        with disk(number, fail):
            answer = client.app.call(tool, SMALLEST[tool])
        content = unpack(answer)
        answer.confirm_delivery()
        after = without_lock(project.snapshot())
        if not answer.result["isError"]:
            outcomes.add("done")  # what failed was not needed, like signing the lock
            continue
        message = content["error"]
        if "nothing was changed" in message:
            assert after == before, f"{tool}, change {number}"
            outcomes.add("nothing")
            assert client.send(tool, SMALLEST[tool])
        elif JOURNAL in after:
            outcomes.add("recorded")
            assert "recorded" in message
            assert not peek(client, "plan_status").get("error")
            assert JOURNAL not in project.snapshot()
            if tool == "task_close":
                assert len(project.json("history.json")["cycles"]) == 2
                assert not (project.state / "plan.json").exists()
        else:
            outcomes.add("unconfirmed")
        assert_no_leftovers(client, project)
    assert "nothing" in outcomes


@pytest.mark.requirement("storage.vanished")
@pytest.mark.parametrize("tool", NAMES)
def test_vanished_project_is_not_created_again(call: Client, project: Project, tool: str) -> None:
    """If the project folder is missing, every call fails and does not create it."""
    shutil.rmtree(project.root)
    message = call.refused(tool, SMALLEST[tool])
    assert str(project.root) in message
    assert not project.root.exists()


@pytest.mark.requirement("storage.vanished")
def test_file_in_place_of_the_project_fails_calls(call: Client, project: Project) -> None:
    """When the project has become a file, calls fail."""
    shutil.rmtree(project.root)
    project.root.write_text("kept")
    for tool in NAMES:
        assert call.refused(tool, SMALLEST[tool])
    assert project.root.read_text() == "kept"


@pytest.mark.requirement("storage.disk", "tree.first-write")
@pytest.mark.parametrize("tool", ["plan_start", "task_add", "task_close", "artifact_write"])
def test_full_disk_at_the_first_write_leaves_no_file(
    call: Client, project: Project, make_app: Callable[..., Any], tool: str
) -> None:
    """In an untouched project a first write that fails leaves no file, and succeeds once there is room."""
    with disk(0, lambda _: None) as seen:
        call.send(tool, SMALLEST[tool])
    for number in range(1, seen.count + 1):
        shutil.rmtree(project.nexus)

        def fail(name: str) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        client = Client(make_app(project.root), project)
        with disk(number, fail):
            answer = client.app.call(tool, SMALLEST[tool])
        content = unpack(answer)
        if "nothing was changed" in content.get("error", ""):
            files = [
                path
                for path, kind in without_lock(project.snapshot()).items()
                if path.startswith(".nexus") and kind != "folder"
            ]
            assert files == [], f"{tool}, change {number}"
            client.send(tool, SMALLEST[tool])
        project.nexus.mkdir(exist_ok=True)


@pytest.mark.requirement("storage.disk")
def test_full_disk_changes_nothing(project: Project, make_app: Callable[..., Any]) -> None:
    """With the file size limited by the system itself, a call that would exceed it changes nothing."""
    import resource
    import signal

    settle(project)
    before = without_lock(project.snapshot())
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            big = make_app(project.root).call("task_add", {"title": "T", "context": "x" * 10_000})
            close = make_app(project.root).call("task_close", {})
            told = "nothing was changed" in big.result["structuredContent"].get("error", "")
            os._exit(0 if told and close.result["isError"] else 3)
        finally:
            os._exit(4)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert without_lock(project.snapshot()) == before


@pytest.mark.requirement("tree.outside")
def test_temporary_files_of_others_stay(call: Client, project: Project) -> None:
    """Only our own leftovers are swept away."""
    settle(project)
    for name in (".tmp", "x.tmp", "plan.json~", ".plan.json.swp", "tasks.json.lock"):
        project.put(f"state/{name}", b"kept")
    call("task_close")
    names = sorted(path.name for path in project.state.iterdir() if path.name not in ("lock", "oplog.jsonl"))
    assert names == sorted([".tmp", "x.tmp", "plan.json~", ".plan.json.swp", "tasks.json.lock"])


@pytest.mark.requirement("storage.durable")
@pytest.mark.parametrize("tool", WRITERS)
def test_the_order_of_writes(call: Client, project: Project, tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is synced before it is renamed into place, and its folder after that, before the response is sent."""
    settle(project)
    monkeypatch.setattr(oplog, "note", lambda *_: None)  # the one file that is written without either
    with disk(0, lambda _: None) as seen:
        answer = call.app.call(tool, SMALLEST[tool])
    assert answer.result["isError"] is False
    names = [name for name in seen.names if name != "pread"]
    # A file that is to be looked at once it was replaced or removed is renamed for that: nothing is written then.
    renamed = [index for index, name in enumerate(names) if name in {"replace", "rename"}]
    looked_at = {index for index in renamed if names[index + 1] in {"exchange", "unlink"}}
    names = [name for index, name in enumerate(names) if index not in looked_at]
    places = [index for index, name in enumerate(names) if name in {"replace", "rename", "exchange", "link"}]
    assert places
    for index in places:
        assert names[index - 1] == "fsync"
        assert "fsync" in names[index + 1 :]
