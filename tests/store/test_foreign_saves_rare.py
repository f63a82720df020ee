"""Saves of other programs in rare cases: without an exchange of names, while a save is put back, by chmod."""

from __future__ import annotations

import errno
import gc
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.store.crash_points import Died

TASK = {"title": "Do", "context": "because"}
DENIALS = (errno.EPERM, errno.EACCES, errno.EXDEV, errno.ENOSYS, errno.EOPNOTSUPP)


@pytest.fixture
def app(tmp_path: Path) -> App:
    app = App(Workspace(str(tmp_path)))
    app.call("task_add", TASK).confirm_delivery()
    return app


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".nexus/state/tasks.json"


def _save_in_place(path: Path, goal: str) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "goal": goal}))


def _save_by_rename(path: Path, goal: str) -> None:
    edited = path.parents[2] / "edited"
    edited.write_text(json.dumps({**json.loads(path.read_text()), "goal": goal}))
    edited.replace(path)


def _texts(path: Path) -> str:
    return "".join(file.read_text() for file in path.parent.rglob("*") if file.is_file() and file.name != "oplog.jsonl")


def _answer(app: App, tool: str = "task_add", arguments: dict[str, Any] = TASK) -> dict[str, Any]:
    answer = app.call(tool, arguments)
    answer.confirm_delivery()
    content: dict[str, Any] = answer.result["structuredContent"]
    return content


def _at_exchange(*actions: Callable[[], None]) -> Any:
    real, left = atomic.exchange, list(actions)

    def exchange(folder: Folder, one: str, other: str) -> bool:
        if left:
            left.pop(0)()
        return real(folder, one, other)

    return patch.object(atomic, "exchange", exchange)


def _at_last_rename(path: Path, before: Callable[[], None], after: Callable[[], None] = lambda: None) -> Any:
    real = os.replace

    def replace(old: str, new: str, **folders: Any) -> None:
        if new == path.name:
            before()
        real(old, new, **folders)
        if new == path.name:
            after()

    return patch.object(os, "replace", replace)


@pytest.mark.parametrize("code", DENIALS)
def test_a_denied_exchange_falls_back_to_a_rename(app: App, code: int) -> None:
    """A sandbox denies calls that it does not know: the rename shows whether access really is denied."""
    with patch.object(atomic, "load_renameat2", lambda: lambda *_: code):
        assert _answer(app)["task"]["id"] == 2


@pytest.mark.parametrize("code", [*DENIALS, errno.EMLINK])
def test_a_denied_link_falls_back_to_a_rename(app: App, path: Path, code: int) -> None:
    """Some systems deny hard links to everybody (Android), with the errno of a lack of access."""
    path.unlink()

    def link(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    with patch.object(os, "link", link):
        assert _answer(app)["task"]["id"] == 1


def test_a_save_in_place_survives_a_full_disk_where_names_cannot_be_exchanged(app: App, path: Path) -> None:
    """The old file had a second name before ours took its place: nothing has to be written to keep it."""
    real, made = atomic.prepare, []

    def prepare(*arguments: Any, **named: Any) -> str:
        made.append(1)
        if len(made) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments, **named)

    with (
        patch.object(atomic, "exchange", lambda *_: False),
        patch.object(atomic, "prepare", prepare),
        _at_last_rename(path, lambda: _save_in_place(path, "saved")),
    ):
        assert _answer(app)["task"]["id"] == 2
    assert len(json.loads(path.read_text())["tasks"]) == 2
    assert "saved" in _texts(path)


def test_a_save_in_place_survives_a_kill_where_names_cannot_be_exchanged(app: App, path: Path, tmp_path: Path) -> None:
    def die() -> None:
        raise Died

    with (
        patch.object(atomic, "exchange", lambda *_: False),
        _at_last_rename(path, lambda: _save_in_place(path, "saved"), die),
        pytest.raises(Died),
    ):
        _answer(app)
    gc.collect()
    _answer(App(Workspace(str(tmp_path))))
    assert "saved" in _texts(path)


def test_a_rename_over_is_seen_where_names_cannot_be_exchanged(app: App, path: Path) -> None:
    """By the last look, at the second name that the old file got."""
    real = atomic.add_name

    def add_name(folder: Folder, name: str, other: str) -> bool:
        if "saved" not in path.read_text():
            _save_by_rename(path, "saved")
        return real(folder, name, other)

    with patch.object(atomic, "exchange", lambda *_: False), patch.object(atomic, "add_name", add_name):
        assert _answer(app)["task"]["id"] == 2
    value = json.loads(path.read_text())
    assert (value["goal"], len(value["tasks"])) == ("saved", 2)
    assert list(path.parent.glob(".nexus-tmp-*")) == []


def test_both_saves_survive_a_kill_while_the_first_is_put_back(app: App, path: Path, tmp_path: Path) -> None:
    """The second save went into our new file, in place: a file with its inode is no longer ours."""
    real, exchanges = atomic.exchange, []

    def exchange(folder: Folder, one: str, other: str) -> bool:
        exchanges.append(1)
        save = _save_by_rename if len(exchanges) == 1 else _save_in_place
        save(path, "first" if len(exchanges) == 1 else "second")
        done = real(folder, one, other)
        if len(exchanges) == 2:
            raise Died
        return done

    with patch.object(atomic, "exchange", exchange), pytest.raises(Died):
        _answer(app)
    gc.collect()
    _answer(App(Workspace(str(tmp_path))))
    assert "first" in _texts(path)
    assert "second" in _texts(path)


def test_permissions_set_right_before_the_exchange_are_kept(app: App, path: Path) -> None:
    """Permissions that a user removed from others right before the exchange stay removed."""
    path.chmod(0o644)
    with _at_exchange(lambda: path.chmod(0o600)):
        assert _answer(app)["task"]["id"] == 2
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.glob("conflict-*")) == []


def test_a_copy_that_was_linked_into_place_survives_the_next_artifact(app: App, tmp_path: Path) -> None:
    """artifact_write builds on nothing: the copy is all that is left of the save."""
    arguments = {"filename": "n.md", "content": "ours"}
    _answer(app, "artifact_write", arguments)
    path = tmp_path / ".nexus/state/artifacts/n.md"
    copy = path.with_name("conflict-0123456789abcdef-n.md")
    copy.write_text("saved")
    path.unlink()
    os.link(copy, path)
    _answer(app, "artifact_write", arguments)
    assert copy.read_text() == "saved"


def test_a_save_within_a_large_artifact_that_is_dated_back_is_kept(app: App, tmp_path: Path) -> None:
    """After it lost its name only its end is compared; before that its times reveal a save, because one of them cannot
    be set.
    """
    _answer(app, "artifact_write", {"filename": "n.md", "content": "x" * (2 << 20)})
    path = tmp_path / ".nexus/state/artifacts/n.md"
    real = atomic.prepare

    def prepare(*arguments: Any, **named: Any) -> str:
        seen = path.stat()
        with path.open("r+b") as file:
            file.seek(1 << 20)
            file.write(b"saved")
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        return real(*arguments, **named)

    with patch.object(atomic, "prepare", prepare):
        assert _answer(app, "artifact_write", {"filename": "n.md", "content": "ours"})["success"]
    (copy,) = path.parent.glob("conflict-*")
    assert "saved" in copy.read_text()


def test_leftover_temporary_name_is_removed_by_the_next_change(tmp_path: Path) -> None:
    """A first file gets its name by a link; if its temporary name cannot be removed, the next lock holder sweeps it."""

    def is_left() -> bool:
        return any(path.name.startswith(atomic.PREFIX) for path in (tmp_path / ".nexus/state").iterdir())

    App(Workspace(str(tmp_path))).call("task_add", TASK)
    first, second = App(Workspace(str(tmp_path))), App(Workspace(str(tmp_path)))
    for app in (first, second):
        app.call("task_update", {"id": 1, "status": "in_progress"})
    real = Folder.unlink

    def unlink(folder: Folder, name: str) -> None:
        if name.startswith(atomic.PREFIX):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(folder, name)

    plan = {"topic": "T", "issues": ["A"], "research_summary": ""}
    with patch.object(Folder, "unlink", unlink):
        assert not first.call("plan_start", plan).result["isError"]
    assert is_left()
    second.call("task_add", TASK)
    assert not is_left()
