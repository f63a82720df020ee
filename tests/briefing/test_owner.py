"""The facts of project and harness that decide whether the owner of a task is resumed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nexus_mcp.briefing.owner import can_resume, decision, edits, kind_in
from nexus_mcp.catalog.load import load
from tests.catalog.files import put
from tests.catalog.resume_rows import entry
from tests.support import task


@pytest.mark.parametrize(
    ("harness", "can"), [("claude-code", True), ("codex", True), ("opencode", True), ("nexus-mcp", False), ("x", False)]
)
def test_harness_without_resume_tool_starts_fresh(harness: str, can: bool) -> None:
    """Contract §5: without a resume tool in the harness's map, every agent starts fresh."""
    assert can_resume(load(None), harness) is can
    found = decision(load(None), task(1, owner="architect"), [entry("a1", "architect")], harness, "/nowhere")
    assert found["mode"] == ("resume" if can else "fresh")


def test_existing_files_count_as_targets(tmp_path: Path) -> None:
    """Names without a suffix are targets where the project has such a file, or such a folder with a slash in it."""
    put(tmp_path, {"Makefile": "all:\n", "src/state/a.py": "", "tests/x": ""})
    os.symlink("Makefile", tmp_path / "linked")
    kind = kind_in(str(tmp_path))
    assert [kind(path) for path in ("Makefile", "src/state", "linked", "absent", "a\0b")] == [
        "file",
        "folder",
        "",
        "",
        "",
    ]
    given = task(1, context="Let Makefile run the tests of src/state", owner="engineer")
    found = decision(load(None), given, [entry("e1", "engineer", "Makefile", "src/state/a.py")], "codex", str(tmp_path))
    assert (found["mode"], found["reread"]) == ("resume", ["Makefile", "src/state/"])


def test_reading_agent_does_not_count_as_editor() -> None:
    """A tester that only read the files since does not prevent a resume; an agent that wrote them does."""
    given = task(1, context="Mend src/a.py", owner="engineer")
    before = entry("e1", "engineer", "src/a.py", end=1000)
    for name, mode in (("tester", "resume"), ("researcher", "resume"), ("writer", "fresh"), ("somebody", "fresh")):
        since = entry("x1", name, "src/a.py", start=1500, end=2000)
        assert decision(load(None), given, [before, since], "codex", "/nowhere")["mode"] == mode


def test_only_successful_edits_in_the_log_count() -> None:
    """By an editing tool of any harness, with a file, that did not fail; a line edited by hand stops nothing."""
    at = "2026-01-05T09:00:00.000Z"
    line: dict[str, object] = {"timestamp": at, "agent_id": "w1", "tool": "Edit", "file": "a.py", "status": "ok"}
    lines: list[dict[str, object]] = [
        line,
        {**line, "tool": "apply_patch", "agent_id": "main"},
        {**line, "tool": "write", "status": "completed"},
        {"tool": "mcp__files__write_file", "file": "b.py", "timestamp": 1, "agent_id": None},
        {**line, "tool": "Read"},
        {**line, "tool": "Bash"},
        {**line, "status": "Denied"},
        {**line, "status": " error: no such file"},
        {**line, "file": ["a.py"]},
        {},
    ]
    assert list(edits(load(None), lines)) == [
        ("w1", "a.py", at),
        ("", "a.py", at),
        ("w1", "a.py", at),
        ("", "b.py", ""),
    ]
