"""Files and folders are opened without changing their access time, where the system allows it."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store import folder
from nexus_mcp.workspace import Workspace
from tests.store.oplog_support import TASK, answered

UNDATED = getattr(os, "O_NOATIME", 0)
AT_FIRST = folder._no_atime[0]
OPENS: dict[str, Callable[[int], int]] = {
    "folder": lambda place: folder.open_at("folder", folder._FOLDER, place),
    "file": lambda place: folder.open_at("file", os.O_RDWR | folder.FILE, place),
    "new file": lambda place: folder.open_at("new", os.O_RDWR | os.O_CREAT | os.O_EXCL | folder.FILE, place, 0o600),
}


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    """Forget the facts that this process learned about its file system in earlier tests."""
    with patch.object(folder, "_no_atime", [AT_FIRST]):
        yield


@pytest.fixture
def place(tmp_path: Path) -> Iterator[int]:
    """A descriptor of a folder with a folder and a file in it."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"there")
    place = os.open(tmp_path, os.O_RDONLY)
    yield place
    os.close(place)


def flags_of(fd: int) -> int:
    """How it was opened."""
    try:
        return fcntl.fcntl(fd, fcntl.F_GETFL)
    finally:
        os.close(fd)


@pytest.mark.parametrize(("what", "undated"), [("folder", UNDATED), ("file", UNDATED), ("new file", 0)])
def test_access_time_is_not_requested(place: int, what: str, undated: int) -> None:
    """Existing files are opened with O_NOATIME; a file that is created is not."""
    assert flags_of(OPENS[what](place)) & UNDATED == undated


REFUSED = (errno.EPERM, errno.EINVAL, errno.EOPNOTSUPP)


def refusing(code: int, asked: list[int], meanwhile: Callable[[], None] = lambda: None) -> Any:
    """Let the system refuse O_NOATIME. `asked` gets the flags of each call."""
    real = os.open

    def refuse(path: Any, flags: int, *more: Any, **named: Any) -> int:
        asked.append(flags & UNDATED)
        if flags & UNDATED:
            meanwhile()
            raise OSError(code, os.strerror(code))
        return real(path, flags, *more, **named)

    return patch.object(os, "open", refuse)


@pytest.mark.parametrize("code", REFUSED)
@pytest.mark.parametrize("what", ["folder", "file"])
def test_refused_flag_is_not_used_again(place: int, what: str, code: int) -> None:
    """A file that only its owner may open with the flag is opened without it, and the flag is not used again."""
    asked: list[int] = []
    with refusing(code, asked):
        for _ in range(2):
            assert flags_of(OPENS[what](place)) & UNDATED == 0
    assert asked == [*[UNDATED] * bool(UNDATED), 0, 0]


def test_two_refused_threads_both_open_the_file(place: int) -> None:
    """If another thread has switched the flag off meanwhile, the file is opened nevertheless."""
    with refusing(errno.EPERM, [], lambda: folder._no_atime.__setitem__(0, 0)):
        assert flags_of(OPENS["file"](place)) & UNDATED == 0


@pytest.mark.parametrize("what", OPENS)
@pytest.mark.parametrize("code", [*REFUSED, errno.EACCES, errno.ENOENT, errno.EMFILE])
def test_other_errors_are_raised_unchanged(place: int, what: str, code: int) -> None:
    """Another error is raised unchanged, after at most two tries, and does not switch the flag off."""
    asked = []

    def failing(_path: Any, flags: int, *_more: Any, **_named: Any) -> int:
        asked.append(flags)
        raise OSError(code, os.strerror(code))

    with patch.object(os, "open", failing), pytest.raises(OSError, match=os.strerror(code)):
        OPENS[what](place)
    assert len(asked) == 1 + (code in REFUSED and what != "new file" and bool(UNDATED))
    assert folder._no_atime == [UNDATED]


@pytest.mark.skipif(not UNDATED, reason="the system has no way to leave none")
def test_change_updates_no_access_time(tmp_path: Path) -> None:
    """Changes and reads do not update the access times of the list, the lock and the folder."""
    answered(tmp_path, "task_add", TASK)
    state = tmp_path / ".nexus/state"
    names = (state, state / "lock", state / "tasks.json")
    for name in names:
        os.utime(name, (1, name.stat().st_mtime))
    before = [name.stat().st_atime for name in names]
    app = App(Workspace(str(tmp_path)))
    app.call("task_list", {})
    assert [name.stat().st_atime for name in names] == before
    app.call("task_update", {"id": 1, "status": "completed"})
    assert [name.stat().st_atime for name in names[:2]] == before[:2]
