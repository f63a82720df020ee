"""Another program saves a file while a call replaces it: the call runs again, or keeps the save as a copy."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store import atomic, conflicts
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.store.oplog_support import entries
from tests.support import SMALLEST

TASK = {"title": "Do", "context": "because"}


@pytest.fixture
def app(tmp_path: Path) -> App:
    app = App(Workspace(str(tmp_path)))
    app.call("task_add", TASK).confirm_delivery()
    return app


def _edited(path: Path, goal: str) -> None:
    value = {**json.loads(path.read_text()), "goal": goal}
    aside = path.parents[2] / "edited"
    aside.write_text(json.dumps(value))
    aside.replace(path)


def _before_exchange(save: Callable[[], None], times: int = 1) -> Any:
    real, left = atomic.exchange, [times]

    def exchange(folder: Folder, one: str, other: str) -> bool:
        if left[0]:
            left[0] -= 1
            save()
        return real(folder, one, other)

    return patch.object(atomic, "exchange", exchange)


def test_change_builds_on_a_save_after_the_last_check(app: App, tmp_path: Path) -> None:
    """The exchange of names reveals the save: it is put back, and the call runs again on it. No copy is needed."""
    path = tmp_path / ".nexus/state/tasks.json"
    with _before_exchange(lambda: _edited(path, "edited")):
        assert app.call("task_add", TASK).result["structuredContent"]["task"]["id"] == 2
    value = json.loads(path.read_text())
    assert (value["goal"], len(value["tasks"])) == ("edited", 2)
    assert list(path.parent.glob("conflict-*")) == list(path.parent.glob(".nexus-tmp-*")) == []


def test_endless_saves_end_the_call_unchanged(app: App, tmp_path: Path) -> None:
    """After the last try the call is refused with nothing changed, and the last save is in the file."""
    path = tmp_path / ".nexus/state/tasks.json"
    with _before_exchange(lambda: _edited(path, os.urandom(4).hex()), times=1000):
        told = app.call("task_add", TASK).result["structuredContent"]["error"]
    assert "another program keeps changing it; nothing was changed" in told
    assert len(json.loads(path.read_text())["tasks"]) == 1


def test_a_half_written_save_is_refused_and_ends_whole(app: App, tmp_path: Path) -> None:
    """The editor continues in the file, which has its name again."""
    path = tmp_path / ".nexus/state/tasks.json"
    data = path.read_bytes()
    held: list[int] = []
    with _before_exchange(lambda: held.append(os.open(path, os.O_WRONLY | os.O_TRUNC))):
        assert "tasks.json" in app.call("task_add", TASK).result["structuredContent"]["error"]
    os.write(held[0], data)
    os.close(held[0])
    assert path.read_bytes() == data


def test_a_save_of_an_artifact_is_kept_beside_it(app: App, tmp_path: Path) -> None:
    """The call overwrites the artifact: the save becomes a copy beside it, and the log has the copy's path."""
    path = tmp_path / ".nexus/state/artifacts/note.md"
    path.parent.mkdir()
    path.write_text("old")
    with _before_exchange(lambda: _replace(path, "edited")):
        answer = app.call("artifact_write", {"filename": "note.md", "content": "new"})
    assert answer.result["structuredContent"].keys() == {"success", "path"}
    (copy,) = path.parent.glob("conflict-*-note.md")
    assert (path.read_text(), copy.read_text()) == ("new", "edited")
    assert copy.name in entries(tmp_path)[-1]["what"]


def _replace(path: Path, text: str) -> None:
    aside = path.with_suffix(".edited")
    aside.write_text(text)
    aside.replace(path)


def test_copies_are_bounded_and_none_is_replaced(app: App, tmp_path: Path) -> None:
    """With MOST copies beside the file the call is refused, and the save keeps the file's name."""
    path = tmp_path / ".nexus/state/artifacts/note.md"
    path.parent.mkdir()
    path.write_text("old")
    for number in range(conflicts.MOST):
        (path.parent / f"conflict-{number:016x}-note.md").write_text("kept")
    with _before_exchange(lambda: _replace(path, "edited")):
        told = app.call("artifact_write", {"filename": "note.md", "content": "new"}).result["structuredContent"]
    assert "64 copies" in told["error"]
    assert path.read_text() == "edited"
    assert {copy.read_text() for copy in path.parent.glob("conflict-*")} == {"kept"}


def test_save_is_kept_without_exchange_of_names(app: App, tmp_path: Path) -> None:
    """Bytes written in place right before the rename are kept as a copy; the change itself is as usual."""
    path = tmp_path / ".nexus/state/tasks.json"
    real = Folder.rename

    def rename(self: Folder, old: str, new: str) -> None:
        if new == path.name:
            path.write_bytes(path.read_bytes().replace(b"because", b"edited!"))
        real(self, old, new)

    with patch.object(atomic, "exchange", lambda *_: False), patch.object(Folder, "rename", rename):
        assert app.call("task_add", TASK).result["structuredContent"]["task"]["id"] == 2
    (copy,) = path.parent.glob("conflict-*-tasks.json")
    assert b"edited!" in copy.read_bytes()


def test_a_project_that_was_copied_after_a_kill_keeps_no_copy_of_ours(app: App, tmp_path: Path) -> None:
    """The files of the copied project have other inodes; their content is enough to recognize ours."""
    state = tmp_path / ".nexus/state"
    data = (state / "tasks.json").read_bytes()
    mark = (len(data), zlib.crc32(data))
    (state / conflicts.temporary("tasks.json", mark, conflicts.WHOLE, None)).write_text("half of")
    (state / conflicts.temporary("plan.json", mark, conflicts.WHOLE, None)).write_bytes(data)
    with Folder.root(str(state)) as folder:
        conflicts.sweep(folder)
    assert [path.name for path in state.glob("conflict-*")] == [path.name for path in state.glob(".nexus-tmp-*")] == []


def test_smallest_calls_leave_nothing_beside(app: App, tmp_path: Path) -> None:
    """An undisturbed call leaves neither a copy nor a temporary file."""
    for tool, arguments in SMALLEST.items():
        app.call(tool, arguments).confirm_delivery()
    names = [path.name for path in (tmp_path / ".nexus").rglob("*")]
    assert not [name for name in names if name.startswith((conflicts.PREFIX, atomic.PREFIX))]
