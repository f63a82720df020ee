"""Crashes, disk errors and several processes: a note is the old or the new one, and no text is lost."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.tags.act import act
from tests.cli.support import COMMAND, environment
from tests.store.crash_points import dying_at, failing_at, killed
from tests.support import Project
from tests.tags.support import store_of

OLD = b"<!-- tags: locks -->\n\nOld.\n"
NEW = b"<!-- tags: locks -->\n\nOld.\n\nNew.\n"
MESSAGE = "[m] locks.md: New."


def prepared(root: Path) -> Project:
    project = Project(root)
    project.put("memory/locks.md", OLD)
    return project


def tell(project: Project) -> str:
    result: str = act(MESSAGE, load(None), store_of(project))["steps"][0]["result"]
    return result


def leftovers(project: Project) -> list[str]:
    return sorted(path.name for path in (project.nexus / "memory").iterdir() if path.name != "locks.md")


def calls(root: Path) -> int:
    project = prepared(root)
    with dying_at(sys.maxsize) as seen:
        assert tell(project) == "extended"
    assert project.get("memory/locks.md") == NEW
    return len(seen.names)


@pytest.mark.requirement("memory.written")
def test_note_killed_at_any_call_is_old_or_new(fast_path: Path) -> None:
    """The note is the old or the new one; the next writer removes the leftovers, and adds the text."""
    for number in range(1, calls(fast_path / "whole") + 1):
        project = prepared(fast_path / str(number))
        killed(number, lambda project=project: tell(project))  # type: ignore[misc]
        assert project.get("memory/locks.md") in (OLD, NEW)
        assert tell(project) in ("extended", "unchanged")
        assert (project.get("memory/locks.md"), leftovers(project)) == (NEW, [])


@pytest.mark.requirement("memory.written")
def test_leftover_of_a_dead_writer_is_deleted(fast_path: Path) -> None:
    """Whatever is written: git tracks the folder, and would take it in."""
    left = 0
    for number in range(1, calls(fast_path / "whole") + 1):
        project = prepared(fast_path / str(number))
        killed(number, lambda project=project: tell(project))  # type: ignore[misc]
        left += len(leftovers(project))
        assert act("[rule] Be kind.", load(None), store_of(project))["steps"][0]["result"] == "created"
        assert leftovers(project) == []
    assert left


@pytest.mark.requirement("memory.written")
def test_disk_full_at_any_call_is_reported_truthfully(fast_path: Path) -> None:
    """A full disk at any call leaves the old note and a failed step, or the new note."""
    seen = set()
    for number in range(1, calls(fast_path / "whole") + 1):
        project = prepared(fast_path / str(number))
        with failing_at(number, errno.ENOSPC):
            result = tell(project)
        seen.add((result, project.get("memory/locks.md") == NEW))
        assert leftovers(project) == []
    # Failed with the new note: the disk did not confirm it, and the step says so.
    assert seen == {("failed", False), ("failed", True), ("extended", True)}


def test_several_processes_lose_nothing(project: Project) -> None:
    """Texts of several processes for one note, for one rule, and for separate notes are each stored once."""
    running = [
        subprocess.Popen(
            [
                *COMMAND,
                "act",
                f"[m] all.md: Part {number} of all. [rule:x] Rule {number}. [m] Own{number} colour{number}",
            ],
            cwd=project.root,
            env=environment(),
            stdout=subprocess.DEVNULL,
        )
        for number in range(4)
    ]
    assert [process.wait(60) for process in running] == [0] * 4
    parts, rules = project.get("memory/all.md").decode(), project.get("rules/x.md").decode()
    assert [(parts.count(f"Part {n} of"), rules.count(f"Rule {n}.")) for n in range(4)] == [(1, 1)] * 4
    assert leftovers(project) == ["all.md", *(f"own{n}-colour{n}.md" for n in range(4))]
