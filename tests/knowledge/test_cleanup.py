"""The notes that may be deleted, and the recorded reads of each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nexus_mcp.errors import PathRefused, StateError
from nexus_mcp.knowledge import cleanup
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.support import Project

DAY = 86_400
NOW = 1000.0 * DAY
LIMITS = {"days_unread": 90, "max_access_count": 2, "min_age_days": 60}


def line(path: str, count: Any = 1, at: str = "1972-01-01T00:00:00.000Z") -> str:
    return json.dumps({"path": path, "last_accessed_ts": at, "access_count": count, "last_agent": "a"})


def gathered(project: Project) -> cleanup.Reads:
    with Store(Workspace(str(project.root))).state() as state:
        return cleanup.read_access_logs(state)


def known(age: int, count: int, unread: int | None, since: int | None = None) -> tuple[Any, cleanup.Reads]:
    record = cleanup.Reads()
    if unread is not None:
        record.count["memory/a.md"], record.last["memory/a.md"] = count, NOW - unread * DAY
    record.since = None if since is None else NOW - since * DAY
    return cleanup.signals([("memory/a.md", NOW - age * DAY)], record, NOW), record


@pytest.mark.requirement("memory.three-signals")
@pytest.mark.parametrize(
    ("age", "count", "unread", "goes"),
    [
        (60, 2, 90, True),
        (59, 2, 90, False),
        (60, 3, 90, False),
        (60, 2, 89, False),
        (89, 0, None, False),
        (90, 0, None, True),
        (-5, 0, None, False),
    ],
)
def test_note_is_proposed_only_if_all_three_signals_hold(age: int, count: int, unread: int | None, goes: bool) -> None:
    """A note is proposed when all hold; without a read on record it is unread since it was written."""
    signals, _ = known(age, count, unread)
    assert cleanup.select_proposed(signals, LIMITS) == (signals if goes else [])


@pytest.mark.requirement("memory.automatic")
@pytest.mark.parametrize(
    ("age", "count", "unread", "since", "goes"),
    [
        (900, 1, 90, 90, True),
        (900, 0, None, 90, True),
        (900, 0, None, 89, False),
        (900, 0, None, None, False),
        (59, 0, None, 90, False),
        (900, 3, 90, 900, False),
    ],
)
def test_certain_deletion_needs_recorded_reads(
    age: int, count: int, unread: int | None, since: int | None, goes: bool
) -> None:
    """Only recorded reads count: a clone without a record deletes no note, however old its files are."""
    signals, record = known(age, count, unread, since)
    assert cleanup.select_certain(signals, LIMITS, record, NOW) == (signals if goes else [])
    record.unreadable = 1
    assert cleanup.select_certain(signals, LIMITS, record, NOW) == []


def test_reasons_name_each_signal() -> None:
    """Each signal in words."""
    assert [known(*args)[0][0].reasons() for args in ((100, 0, None), (1, 1, 95), (7, 2, 1))] == [
        ["no read of it is on record", "not changed for 100 days"],
        ["not read for 95 days", "read once in all", "not changed for 1 day"],
        ["not read for 1 day", "read 2 times in all", "not changed for 7 days"],
    ]


@pytest.mark.requirement("memory.reads")
def test_reads_of_all_harnesses_count_together(project: Project) -> None:
    """Counts are added, the last read is the latest; other folders of state are none of harnesses."""
    project.put("state/codex/memory-access.jsonl", line(".nexus/memory/a.md", 2) + "\n")
    second = [line(".nexus/memory/a.md", 3, "1972-01-02T00:00:00.000Z"), line("memory/b.md", 1, "1973-01-01T00:00:00Z")]
    project.put("state/claude-code/memory-access.jsonl", "\n".join(second) + "\n")
    project.put("state/artifacts/memory-access.jsonl", line(".nexus/memory/c.md") + "\n")
    project.put("state/cache/x", "")
    found = gathered(project)
    assert found.count == {"memory/a.md": 5, "memory/b.md": 1}
    assert found.last == {"memory/a.md": 731.0 * DAY, "memory/b.md": 1096.0 * DAY}
    assert (found.since, found.unreadable) == (730.0 * DAY, 0)


@pytest.mark.requirement("memory.reads")
def test_malformed_lines_are_counted(project: Project) -> None:
    """A torn line, a wrong count, a time that is none."""
    lines = [line("a", True), line("a", "2"), line("a", 1, "soon"), line("a", -3), '{"path": "a', "[]"]
    project.put("state/codex/memory-access.jsonl", "\n".join(lines))
    found = gathered(project)
    assert (found.count, found.unreadable) == ({"a": 0}, 5)


@pytest.mark.requirement("memory.bad")
def test_unreadable_record_is_reported(project: Project) -> None:
    """Without it the reads are unknown, so no note is proposed."""
    target = project.put("state/codex/other", "")
    (project.state / "codex" / "memory-access.jsonl").symlink_to(target)
    with pytest.raises(PathRefused):
        gathered(project)


def test_no_state_no_reads() -> None:
    """Where there is no state there is no record."""
    found = cleanup.read_access_logs(None)
    assert (found.count, found.last, found.since, found.unreadable) == ({}, {}, None, 0)


@pytest.mark.requirement("memory.automatic")
def test_more_harnesses_than_are_read_stop_the_cleanup(project: Project) -> None:
    """A log that is not read may have the read of a note."""
    for number in range(cleanup.MOST_HARNESSES):
        (project.root / f".nexus/state/h{number}").mkdir(parents=True)
    assert gathered(project).count == {}
    (project.root / ".nexus/state/one-more").mkdir()
    with pytest.raises(
        StateError,
        match="has 101 entries that may be of harnesses, so not all reads",
    ):
        gathered(project)
