"""pre_tool_use by the input of a tool: moves, patches, and inputs that are no object."""

from __future__ import annotations

import pytest

from tests.lifecycle.support import Teller, put
from tests.lifecycle.test_pre_tool_use import CLAUDE, TASKS, decision
from tests.support import Json, Project, task, tasks


@pytest.mark.requirement("pre_tool_use.exempt")
@pytest.mark.parametrize(
    ("source", "destination", "expected"),
    [
        (".nexus/memory/a.md", ".nexus/memory/b.md", "allow"),
        (".nexus/memory/a.md", "src/a.py", "block"),
        ("src/a.py", ".nexus/memory/a.md", "block"),
        (".nexus/memory/a.md", None, "block"),
    ],
)
def test_both_ends_of_a_move_must_be_exempt(tell: Teller, source: str, destination: str | None, expected: str) -> None:
    """A move of a file is exempt only if both its old and its new path are."""
    moved: Json = {"source": source, "destination": destination}
    assert decision(tell, **CLAUDE, tool="mcp__files__move_file", tool_input=moved) == expected


@pytest.mark.requirement("pre_tool_use.capabilities", "pre_tool_use.gate")
@pytest.mark.parametrize("tool_input", ["*** Begin Patch", ["src/a.py"], 5, True, "", []])
def test_input_that_is_no_object_is_an_edit_of_unknown_files(tell: Teller, project: Project, tool_input: Json) -> None:
    """With any malformed input an editing tool is blocked without tasks, and denied to agents that may not edit."""
    used: dict[str, Json] = {"harness_id": "codex", "tool": "apply_patch", "tool_input": tool_input}
    assert decision(tell, **used) == "block"
    assert decision(tell, **used, agent_name="architect") == "deny"
    put(project, TASKS, tasks(task(1)))
    assert decision(tell, **used) == "allow"


@pytest.mark.requirement("pre_tool_use.who")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Architect", "deny"),
        ("nexus:architect", "deny"),
        ("plugin:nexus:Architect ", "deny"),
        ("architect:", "allow"),
        ("architect:engineer", "allow"),
        ("chief architect", "allow"),
    ],
)
def test_agent_names_are_recognized_as_harnesses_write_them(
    tell: Teller, project: Project, name: str, expected: str
) -> None:
    """A name in capitals, or behind that of a plug-in, is that of the agent; its last part counts."""
    put(project, TASKS, tasks(task(1)))
    edit: Json = {"file_path": "src/a.py"}
    assert decision(tell, **CLAUDE, tool="Edit", tool_input=edit, agent_name=name) == expected


@pytest.mark.requirement("pre_tool_use.exempt")
@pytest.mark.parametrize(("path", "expected"), [(".nexus/memory/a.md", "allow"), ("src/a.py", "block")])
def test_input_that_is_a_patch_names_its_files(tell: Teller, path: str, expected: str) -> None:
    """An input that is the text of a patch names its files."""
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch\n"
    assert decision(tell, harness_id="codex", tool="apply_patch", tool_input=patch) == expected
