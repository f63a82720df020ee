"""JSONL files: appended lines, truncated lines after a crash, and files that are never written."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.errors import PathRefused, StateError
from nexus_mcp.store import jsonl
from nexus_mcp.store.folder import Folder
from tests.store.crash_points import failing_at

NAME = "log.jsonl"
LIMIT = 200


def append(root: Path, line: bytes, limit: int = LIMIT) -> None:
    with Folder.root(str(root)) as folder:
        jsonl.append(folder, NAME, line, limit)


def lines(root: Path, limit: int = 1 << 20) -> Any:
    with Folder.root(str(root)) as folder:
        return jsonl.lines(folder, NAME, limit)


def test_lines_are_appended_to_a_private_file(tmp_path: Path) -> None:
    """Each line is added at the end, in a file that only its owner can read."""
    append(tmp_path, b'{"a": 1}')
    append(tmp_path, b'{"b": 2}')
    assert (tmp_path / NAME).read_bytes() == b'{"a": 1}\n{"b": 2}\n'
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    assert lines(tmp_path) == [(1, {"a": 1}), (2, {"b": 2})]


@pytest.mark.requirement("oplog.torn")
def test_a_torn_line_is_ended_first(tmp_path: Path) -> None:
    """A truncated line stays a line of its own, and does not merge with the next one."""
    (tmp_path / NAME).write_bytes(b'{"a": 1}\n{"b": ')
    append(tmp_path, b'{"c": 3}')
    assert (tmp_path / NAME).read_bytes() == b'{"a": 1}\n{"b": \n{"c": 3}\n'
    assert lines(tmp_path) == [(1, {"a": 1}), (2, None), (3, {"c": 3})]


@pytest.mark.requirement("oplog.torn")
def test_half_written_line_is_ended_by_the_next_one(tmp_path: Path) -> None:
    """A full disk may leave half a line; the next one begins on its own."""
    append(tmp_path, b'{"a": 1}')
    with failing_at(10**6, errno.ENOSPC) as seen:
        append(tmp_path, b'{"b": 2}')
    number = seen.names.index("write") + 1
    with pytest.raises(OSError, match="space"), failing_at(number, errno.ENOSPC):
        append(tmp_path, b'{"torn": true}')
    append(tmp_path, b'{"c": 3}')
    assert [value for _, value in lines(tmp_path)] == [{"a": 1}, {"b": 2}, None, {"c": 3}]


def test_short_writes_are_continued(tmp_path: Path) -> None:
    """A write that accepts only a few bytes is continued."""
    real = os.write
    with patch.object(os, "write", lambda fd, data: real(fd, bytes(data)[:3])):
        append(tmp_path, b'{"a": 1}')
    assert (tmp_path / NAME).read_bytes() == b'{"a": 1}\n'


@pytest.mark.parametrize(
    "content", [b"\xff", b"{", b"[]", b"1", b'{"a": 1, "a": 2}', b"NaN", b"[" * 90 + b"]" * 90, b"\x00" * 9]
)
def test_malformed_lines_are_counted(tmp_path: Path, content: bytes) -> None:
    """A line that is no JSON object is counted where it stands; blank ones are not lines."""
    (tmp_path / NAME).write_bytes(b"\n" + content + b'\n  \n{"a": 1}')
    assert lines(tmp_path) == [(2, None), (4, {"a": 1})]


def test_missing_file_has_no_lines(tmp_path: Path) -> None:
    """Where there is no file there are no lines, and none is made."""
    assert lines(tmp_path) is None
    assert jsonl.lines(None, NAME, LIMIT) is None
    assert not (tmp_path / NAME).exists()


def test_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    """More than the limit is not read."""
    (tmp_path / NAME).write_bytes(b"x" * 11)
    with pytest.raises(StateError, match="larger"):
        lines(tmp_path, 10)


@pytest.mark.requirement("oplog.bounded")
@pytest.mark.parametrize("size", [1, 7, 40, 150])
def test_older_half_of_a_full_file_is_dropped(tmp_path: Path, size: int) -> None:
    """The file never grows beyond its limit, loses whole lines, the oldest first, and keeps its permissions."""
    written = []
    for number in range(60):
        line = b'{"n": %d, "x": "%s"}' % (number, b"x" * size)
        append(tmp_path, line)
        if not number:
            (tmp_path / NAME).chmod(0o640)
        written.append(line)
        kept = (tmp_path / NAME).read_bytes()
        assert len(kept) <= LIMIT
        there = kept.removesuffix(b"\n").split(b"\n")
        assert there == written[-len(there) :]
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o640


@pytest.mark.requirement("oplog.bounded")
@pytest.mark.parametrize("content", [b"x" * 5000, b"\n" * 5000, b"y\n" * 2500, b'{"a": 1}\n' * 600 + b'{"to'])
def test_file_beyond_the_limit_is_shortened_by_the_next_line(tmp_path: Path, content: bytes) -> None:
    """One that is far too large already is brought below the limit by the next line."""
    (tmp_path / NAME).write_bytes(content)
    append(tmp_path, b'{"new": 1}')
    assert (tmp_path / NAME).stat().st_size <= LIMIT
    assert [value for _, value in lines(tmp_path) if value and "new" in value] == [{"new": 1}]


@pytest.mark.requirement("oplog.own-file")
@pytest.mark.parametrize("kind", ["link", "dangling", "hard link", "folder", "pipe"])
def test_links_and_folders_are_not_appended_to(tmp_path: Path, kind: str) -> None:
    """A link, a second name of a file, a folder and a pipe are refused, and nothing hangs or is written elsewhere."""
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.write_bytes(b"kept")
    place = folder / NAME
    if kind in ("link", "dangling"):
        place.symlink_to(outside if kind == "link" else tmp_path / "nowhere")
    elif kind == "hard link":
        place.hardlink_to(outside)
    elif kind == "folder":
        place.mkdir()
    else:
        os.mkfifo(place)
    with pytest.raises(PathRefused):
        append(folder, b'{"a": 1}')
    assert outside.read_bytes() == b"kept"
    assert not (tmp_path / "nowhere").exists()
