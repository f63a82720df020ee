"""What is made while the disk is at work: early, seen by nobody before the change, and in nobody's way."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.server import app as apps
from nexus_mcp.server.app import App
from nexus_mcp.state import oplog as logged
from nexus_mcp.store import atomic, oplog
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.store.logged import entries

TASK = {"title": "Do", "context": "because"}
BROKEN = OSError(errno.EIO, "Input/output error")


@pytest.fixture
def app(tmp_path: Path) -> App:
    app = App(Workspace(str(tmp_path)))
    app.call("task_add", TASK).delivered()
    return app


def told(answer: Any) -> Any:
    return answer.result["structuredContent"]


def test_between_the_write_and_the_sync(app: App, tmp_path: Path) -> None:
    """The disk has all bytes to work at while the line and the answer are made; readers see the old file until then."""
    seen: list[str] = []
    before = (tmp_path / ".nexus/state/tasks.json").read_bytes()

    def noting(name: str, real: Any) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            seen.append(name)
            assert (tmp_path / ".nexus/state/tasks.json").read_bytes() == before
            (written,) = (tmp_path / ".nexus/state").glob(f"{atomic.PREFIX}*")
            assert len(json.loads(written.read_bytes())["tasks"]) == 2
            return real(*given, **more)

        return call

    with (
        patch.object(os, "posix_fadvise", noting("begin", os.posix_fadvise)),
        patch.object(oplog, "make_line", noting("line", oplog.make_line)),
        patch.object(apps, "_content", noting("answer", apps._content)),
        patch.object(atomic, "_sync", noting("sync", atomic._sync)),
    ):
        answer = app.call("task_add", TASK)
    assert seen == ["begin", "line", "answer", "sync"]
    assert told(answer)["task"]["id"] == 2


@pytest.mark.parametrize("failing", ["sync", "exchange"])
def test_a_change_that_fails_is_neither_noted_nor_answered(app: App, tmp_path: Path, failing: str) -> None:
    """What was made early of a change that was not made goes nowhere, and least of all to the next one."""
    noted = len(entries(tmp_path))
    broken = patch.object(atomic, "exchange", side_effect=BROKEN)
    if failing == "sync":
        broken = patch.object(atomic, "_sync", side_effect=BROKEN)
    with broken:
        answer = app.call("task_add", TASK)
    assert "nothing was changed" in told(answer)["error"]
    assert len(entries(tmp_path)) == noted
    assert told(app.call("task_add", {**TASK, "title": "Another"}))["task"]["title"] == "Another"
    assert told(app.call("plan_status", {})) == {"active": False}
    assert len(entries(tmp_path)) == noted + 1


@pytest.mark.parametrize("error", [BROKEN, KeyboardInterrupt()])
def test_what_fails_meanwhile(tmp_path: Path, error: BaseException) -> None:
    """Whatever is raised while the disk is at work ends it: no new file, nothing left beside it, nothing open."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/file").write_bytes(b"old")
    descriptors = len(os.listdir("/proc/self/fd"))

    def fail() -> None:
        raise error

    with Folder.root(str(tmp_path / "in")) as folder, pytest.raises(type(error)):
        atomic.replace(folder, "file", [b"new"], meanwhile=fail)
    assert {path.name: path.read_bytes() for path in (tmp_path / "in").iterdir()} == {"file": b"old"}
    assert len(os.listdir("/proc/self/fd")) == descriptors


@pytest.mark.parametrize("is_there", [True, False])
def test_a_system_that_cannot_be_told(app: App, monkeypatch: pytest.MonkeyPatch, *, is_there: bool) -> None:
    """Where writing cannot be begun early a change takes longer, and that is all."""
    if is_there:
        monkeypatch.setattr(os, "posix_fadvise", lambda *_: (_ for _ in ()).throw(BROKEN))
    else:
        monkeypatch.delattr(os, "posix_fadvise")
    assert told(app.call("task_add", TASK))["task"]["id"] == 2
    assert told(app.call("task_list", {}))["summary"]["total"] == 2


def test_a_line_that_cannot_be_made(app: App, tmp_path: Path) -> None:
    """It is not tried again, or everybody would wait for it twice: the change is made, and not noted."""
    noted = len(entries(tmp_path))
    with patch.object(logged, "entry", side_effect=MemoryError) as entry:
        assert told(app.call("task_add", TASK))["task"]["id"] == 2
    assert entry.call_count == 1
    assert len(entries(tmp_path)) == noted
