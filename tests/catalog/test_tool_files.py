"""Which files a call of a harness's tool is about."""

from __future__ import annotations

from typing import Any

import pytest

from nexus_mcp.catalog import tool_files
from nexus_mcp.catalog.load import load

PATCH = """\
*** Begin Patch
*** Add File: sub/new.txt
+*** Delete File: no.txt
*** Update File: old.txt
*** Move to: moved.txt
@@
-a
+b
  *** Delete File: gone.txt\r
*** Update File: old.txt
*** End Patch
"""


@pytest.mark.parametrize(
    ("harness", "tool", "tool_input", "files"),
    [
        ("claude-code", "Write", {"file_path": "/p/new.txt", "content": "abc\n"}, ["/p/new.txt"]),
        ("claude-code", "NotebookEdit", {"notebook_path": "a.ipynb"}, ["a.ipynb"]),
        ("claude-code", "mcp__files__write_file", {"path": "a.txt"}, ["a.txt"]),
        ("claude-code", "Read", {"file_path": "a.txt"}, None),
        ("claude-code", "Write", {}, []),
        ("claude-code", "Write", {"file_path": 1}, []),
        ("claude-code", "Write", "a.txt", []),
        ("claude-code", "Write", ["a.txt"], []),
        ("claude-code", "mcp__files__move_file", {"source": "a.txt", "destination": "b.txt"}, ["a.txt", "b.txt"]),
        ("claude-code", "mcp__files__move_file", {"source": "a.txt"}, []),
        ("codex", "mcp__files__move_file", {"source": "a.txt", "destination": "b.txt"}, ["a.txt", "b.txt"]),
        ("opencode", "files_move_file", {"source": "a.txt", "destination": "b.txt"}, ["a.txt", "b.txt"]),
        ("codex", "apply_patch", PATCH, ["sub/new.txt", "old.txt", "moved.txt", "gone.txt"]),
        ("codex", "apply_patch", "rm old.txt", []),
        ("codex", "apply_patch", {"command": PATCH}, ["sub/new.txt", "old.txt", "moved.txt", "gone.txt"]),
        ("codex", "apply_patch", {"command": "*** Begin Patch\n*** End Patch"}, []),
        ("opencode", "apply_patch", {"patchText": PATCH}, ["sub/new.txt", "old.txt", "moved.txt", "gone.txt"]),
        ("opencode", "edit", {"filePath": "a.txt"}, ["a.txt"]),
    ],
)
def test_what_is_edited(harness: str, tool: str, tool_input: Any, files: list[str] | None) -> None:
    """Every path that a call names, those in a patch too; none told is an empty list, no editing tool is None."""
    assert tool_files.edited(load(None).maps[harness], tool, tool_input) == files


@pytest.mark.parametrize(
    ("harness", "tool", "tool_input", "files"),
    [
        ("claude-code", "Read", {"file_path": "/p/.nexus/memory/a.md"}, ["/p/.nexus/memory/a.md"]),
        ("claude-code", "Grep", {"path": ".nexus/memory"}, []),
        ("claude-code", "Write", {"file_path": "a.md"}, []),
        ("claude-code", "Read", {}, []),
        ("opencode", "read", {"filePath": "a.md"}, ["a.md"]),
        ("opencode", "list", {"path": "a"}, []),
        ("codex", "mcp__files__read_file", {"path": "a.md"}, ["a.md"]),
        ("codex", "mcp__files__read_multiple_files", {"paths": ["a", 1, "", "b", "a"]}, ["a", "b"]),
    ],
)
def test_what_is_read(harness: str, tool: str, tool_input: Any, files: list[str]) -> None:
    """Contract §4, post_tool_use: writes, listings and searches are no reads."""
    assert tool_files.opened(load(None).maps[harness], tool, tool_input) == files


def test_what_only_reads() -> None:
    """The shell is not among them, though it can read."""
    known = load(None).maps["codex"]
    assert [tool_files.only_reads(known, tool) for tool in ("mcp__nexus__task_list", "Bash", "apply_patch")] == [
        True,
        False,
        False,
    ]
