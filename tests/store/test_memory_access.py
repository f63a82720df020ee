"""The record of note reads has one line for each note, and keeps everything else in the file."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.errors import NexusError, PathRefused, StateError
from nexus_mcp.store import harness_files
from nexus_mcp.store.harness_files import note_read
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.store.crash_points import failing_at
from tests.support import Clock, Project, stamp

FILE = "state/claude/memory-access.jsonl"
NOTE = ".nexus/memory/a.md"
OTHER = ".nexus/memory/b.md"


def line(path: str = NOTE, at: str = stamp(0), count: object = 1, agent: str = "tester", **more: Any) -> Any:
    return {"path": path, "last_accessed_ts": at, "access_count": count, "last_agent": agent, **more}


def spelt(*lines: Any) -> bytes:
    return b"".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for one in lines)


def read(project: Project, clock: Clock, path: str = NOTE, agent: str = "tester") -> dict[str, Any]:
    return note_read(Store(Workspace(str(project.root)), clock), "claude", path, agent)


def test_first_read_creates_line_and_folder(project: Project, clock: Clock) -> None:
    """The first read of a note creates its line, and the missing folders."""
    assert read(project, clock) == line(at=clock.stamp())
    assert project.get(FILE) == spelt(line(at=clock.stamp()))
    assert project.get(".gitignore") == b"state/\n"


def test_further_read_counts_one_up(project: Project, clock: Clock, schema_errors: Any) -> None:
    """Each further read counts one up, with its time and its agent; the line stays where it is."""
    first = clock.stamp()
    read(project, clock)
    read(project, clock, OTHER)
    clock.advance()
    assert read(project, clock, agent="writer") == line(at=clock.stamp(), count=2, agent="writer")
    assert project.get(FILE) == spelt(line(at=clock.stamp(), count=2, agent="writer"), line(OTHER, first))


@pytest.mark.parametrize(
    "before",
    [
        b'{"path": ".nexus/memory/b.md",  "access_count": 3}\n\n \nno JSON\n[1]\n{"torn": ',
        b"\xff\xfe\r\n",
        spelt(line(count="3"), line(count=-1), line(count=True)),
        b'{"path":".nexus/memory/a.md"}\n',
    ],
)
def test_other_lines_of_the_record_stay(project: Project, clock: Clock, before: bytes) -> None:
    """Lines of other notes, and lines that are no record of this note, keep their bytes."""
    project.put(FILE, before)
    assert read(project, clock) == line(at=clock.stamp())
    ended = before if before.endswith(b"\n") else before + b"\n"
    assert project.get(FILE) == ended + spelt(line(at=clock.stamp()))


def test_line_with_escaped_name_is_found(project: Project, clock: Clock) -> None:
    """A line is found however its name is escaped, and keeps members that are not ours."""
    note = ".nexus/memory/ä.md"
    project.put(FILE, json.dumps(line(note, count=4, schema_version="0.5", extra=[1])).encode())
    assert read(project, clock, note) == line(note, clock.stamp(), 5, schema_version="0.5", extra=[1])
    assert len(project.get(FILE).splitlines()) == 1


def test_last_of_repeated_lines_counts(project: Project, clock: Clock) -> None:
    """Of two lines for one note, which only another program can have written, the last one is increased."""
    project.put(FILE, spelt(line(count=1), line(count=7)))
    read(project, clock)
    assert project.get(FILE) == spelt(line(count=1), line(at=clock.stamp(), count=8))


def test_each_harness_has_its_own_counts(project: Project, clock: Clock) -> None:
    """A read by one harness does not count for another one."""
    read(project, clock)
    note_read(Store(Workspace(str(project.root)), clock), "codex", NOTE, "tester")
    assert project.get(FILE) == project.get("state/codex/memory-access.jsonl") == spelt(line(at=clock.stamp()))


def test_a_link_is_refused(project: Project, clock: Clock, tmp_path: Path) -> None:
    """A link in place of the record is not followed, and its target stays unchanged."""
    target = tmp_path / "target"
    target.write_bytes(b"")
    project.put("state/claude/x", b"")
    (project.root / ".nexus" / FILE).symlink_to(target)
    with pytest.raises(PathRefused, match="symbolic link"):
        read(project, clock)
    assert target.read_bytes() == b""


def test_full_record_stays_unchanged(project: Project, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full record stays unchanged, and so does one beyond the read limit."""
    monkeypatch.setattr(harness_files, "SESSION_LIMIT", 150)
    project.put(FILE, spelt(line(OTHER)))
    with pytest.raises(StateError, match="would grow"):
        read(project, clock)
    assert project.get(FILE) == spelt(line(OTHER))
    project.put(FILE, b"x" * 200)
    with pytest.raises(StateError, match="is larger than"):
        read(project, clock)


def test_failed_call_leaves_old_or_new_record(fast_path: Path, clock: Clock) -> None:
    """Whichever system call fails, the record is the old one or the new one."""
    old, new = spelt(line(at=clock.stamp())), spelt(line(at=clock.stamp(), count=2))
    seen = set()
    for number in range(1, 200):
        project = Project(fast_path / str(number))
        project.root.mkdir()
        read(project, clock)
        try:
            with failing_at(number, 5) as met:
                read(project, clock)
        except NexusError:
            pass
        assert project.get(FILE) in (old, new)
        seen.add(project.get(FILE))
        if len(met.names) < number:
            break
    assert seen == {old, new}


def _reads(root: str, count: int) -> None:
    for _ in range(count):
        note_read(Store(Workspace(root)), "claude", NOTE, "tester")


def test_concurrent_reads_are_all_counted(fast_path: Path) -> None:
    """Reads of several processes at once are all counted."""
    workers = [multiprocessing.get_context("spawn").Process(target=_reads, args=(str(fast_path), 10)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert json.loads((fast_path / ".nexus" / FILE).read_text())["access_count"] == 30
