"""The files that a call of a harness's tool reads or writes."""

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
  *** Delete File: gone.txt
*** Update File: old.txt
*** End Patch
"""
PATCHED = (["sub/new.txt", "old.txt", "moved.txt", "gone.txt"], True)
UNKNOWN: tuple[list[str], bool] = ([], False)


@pytest.mark.parametrize(
    ("harness", "tool", "tool_input", "files"),
    [
        ("claude-code", "Write", {"file_path": "/p/new.txt", "content": "abc\n"}, (["/p/new.txt"], True)),
        ("claude-code", "NotebookEdit", {"notebook_path": "a.ipynb"}, (["a.ipynb"], True)),
        ("claude-code", "mcp__files__write_file", {"path": "a.txt"}, (["a.txt"], True)),
        ("claude-code", "Read", {"file_path": "a.txt"}, None),
        ("claude-code", "Write", None, UNKNOWN),
        ("claude-code", "Write", {}, UNKNOWN),
        ("claude-code", "Write", {"file_path": 1}, UNKNOWN),
        ("claude-code", "Write", {"file_path": ""}, UNKNOWN),
        ("claude-code", "Write", {"path": "a.txt"}, (["a.txt"], False)),
        ("claude-code", "Write", {"file_path": PATCH}, ([PATCH], False)),
        ("claude-code", "Write", {"file_path": "src/*.py"}, (["src/*.py"], False)),
        ("claude-code", "Write", {"file_path": "a\x7fb"}, (["a\x7fb"], False)),
        ("claude-code", "Write", {"file_path": "a.txt", "path": "b.txt"}, (["a.txt", "b.txt"], True)),
        ("claude-code", "MultiEdit", {"file_path": "a", "edits": [{"file-path": ["b"]}, {"x": 1}]}, (["a", "b"], True)),
        ("claude-code", "Write", {"file_path": ["a.txt", "b.txt"]}, (["a.txt", "b.txt"], True)),
        ("claude-code", "Write", {"file_path": ["a.txt", 5]}, (["a.txt"], False)),
        ("claude-code", "Write", {"file_path": "a", "cwd": "sub"}, (["a", "sub/a"], True)),
        ("claude-code", "Write", {"file_path": "a", "x": [0] * 20_000}, (["a"], False)),
        ("claude-code", "Write", {"file_path": "a", "workdir": "b", "cwd": "c"}, (["a", "b/a", "c/a"], True)),
        ("claude-code", "Write", "a.txt", UNKNOWN),
        ("claude-code", "Write", ["a.txt"], UNKNOWN),
        ("claude-code", "mcp__files__move_file", {"source": "a", "destination": "b"}, (["a", "b"], True)),
        ("claude-code", "mcp__files__move_file", {"source": "a.txt"}, (["a.txt"], False)),
        ("codex", "mcp__files__move_file", {"source": "a.txt", "destination": "b.txt"}, (["a.txt", "b.txt"], True)),
        ("opencode", "files_move_file", {"source": "a.txt", "destination": "b.txt"}, (["a.txt", "b.txt"], True)),
        ("codex", "apply_patch", PATCH, PATCHED),
        ("codex", "apply_patch", "rm old.txt", UNKNOWN),
        ("codex", "apply_patch", None, UNKNOWN),
        ("codex", "apply_patch", {"command": PATCH}, PATCHED),
        ("codex", "apply_patch", {"command": ["apply_patch", PATCH]}, PATCHED),
        ("codex", "apply_patch", {"command": ["apply_patch", "x", PATCH]}, (PATCHED[0], False)),
        ("codex", "apply_patch", {"command": [PATCH]}, (PATCHED[0], False)),
        ("codex", "apply_patch", {"input": PATCH}, (PATCHED[0], False)),
        ("codex", "apply_patch", {"command": "*** Begin Patch\n*** End Patch"}, UNKNOWN),
        ("codex", "apply_patch", {"command": {"patch": [1, {"x": PATCH}]}}, (PATCHED[0], False)),
        ("codex", "shell", {"command": ["apply_patch", PATCH]}, PATCHED),
        ("codex", "shell", {"cmd": ["apply_patch", PATCH]}, PATCHED),
        ("codex", "shell", ["apply_patch", PATCH], PATCHED),
        ("codex", "shell", {"command": "ls", "cmd": ["apply_patch", PATCH]}, None),
        ("codex", "Bash", {"command": f"apply_patch <<'E'\n{PATCH}E"}, PATCHED),
        ("codex", "exec_command", {"cmd": "ls"}, None),
        ("claude-code", "Bash", {"command": f"apply_patch <<'E'\n{PATCH}E"}, None),
        ("opencode", "apply_patch", {"patchText": PATCH}, PATCHED),
        ("opencode", "patch", {"patchText": PATCH}, PATCHED),
        ("opencode", "edit", {"filePath": "a.txt"}, (["a.txt"], True)),
    ],
)
def test_edited_paths_are_found_in_every_input(
    harness: str, tool: str, tool_input: Any, files: tuple[list[str], bool] | None
) -> None:
    """Every path that a call names, and whether these are certain to be all; None for a call that edits nothing."""
    assert tool_files.written_paths(load(None).maps[harness], tool, tool_input) == files


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
def test_read_paths_are_found(harness: str, tool: str, tool_input: Any, files: list[str]) -> None:
    """Contract §4, post_tool_use: writes, listings and searches are no reads."""
    assert tool_files.read_paths(load(None).maps[harness], tool, tool_input) == files


SERVERS = ("write_file", "create_file", "edit_file", "delete_file", "move_file")
GATED = {
    "claude-code": {"Write", "Edit", "MultiEdit", "NotebookEdit", *(f"mcp__*__{name}" for name in SERVERS)},
    "codex": {"apply_patch", *(f"mcp__*__{name}" for name in SERVERS)},
    "opencode": {"write", "edit", "multiedit", "apply_patch", "patch", *(f"*_{name}" for name in SERVERS)},
}


@pytest.mark.parametrize("harness", GATED)
def test_shipped_maps_list_only_tools_that_write_files(harness: str) -> None:
    """Each shipped map lists exactly the tools that write files: no shell, no reading tool, no tool of nexus-mcp."""
    known = load(None).maps[harness]
    tools = {tool for names in known["classes"].values() for tool in names} | {
        *known["editing"],
        *known["patching"],
        *known["reading"],
    }
    assert {tool for tool in tools if tool_files.is_edit(known, tool)} == GATED[harness]
    shells = {tool for name in tool_files.SHELL_CLASSES for tool in known["classes"][name]}
    assert shells & {"Bash", "bash"}
    assert [tool for tool in shells if tool_files.written_paths(known, tool, {"command": "rm a.py"}) is not None] == []


def test_file_classes_are_those_of_the_capabilities() -> None:
    """The file classes are those that no_file_edit blocks; the shell classes are those that no_shell_exec blocks."""
    capabilities = load(None).vocabulary["capabilities"]
    assert list(tool_files.FILE_CLASSES) == capabilities["no_file_edit"]["classes"]
    assert list(tool_files.SHELL_CLASSES) == capabilities["no_shell_exec"]["classes"]


@pytest.mark.parametrize("name", tool_files.FILE_CLASSES)
def test_tool_in_a_class_about_files_writes_unknown_files(name: str) -> None:
    """Such a tool writes files that its input does not show; a project's shell tool does so only if an editing class
    lists it.
    """
    known = load(None).maps["opencode"]
    classes = known["classes"]
    more = {**known, "classes": {**classes, name: [*classes[name], "new_page", "bash", "pages_*"]}}
    for tool in ("new_page", "pages_add"):
        assert tool_files.written_paths(known, tool, {"path": "a.md"}) is None
        assert tool_files.written_paths(more, tool, {"path": "a.md"}) == UNKNOWN
        assert tool_files.written_paths(more, tool, {"path": "a.md"}, "b.md") == (["b.md"], True)
    assert tool_files.written_paths(more, "bash", {"command": "rm a.py"}) is None
    told = {**more, "editing": {"bash": "file", "new_page": "path"}}
    assert tool_files.written_paths(told, "bash", {"file": "a.py"}) == (["a.py"], True)
    assert tool_files.written_paths(told, "new_page", {"path": "a.md"}) == (["a.md"], True)


def test_shell_does_not_count_as_reading() -> None:
    """The shell is not among them, though it can read."""
    known = load(None).maps["codex"]
    assert [tool_files.only_reads(known, tool) for tool in ("mcp__nexus__task_list", "Bash", "apply_patch")] == [
        True,
        False,
        False,
    ]
