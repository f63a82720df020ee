"""Each tool declares its capability classes, from which the capability maps derive restrictions."""

from __future__ import annotations

from typing import Any

import pytest

from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.definition import ARTIFACT_WRITE, CLASSES, READING, Tool


def make_tool(*classes: str) -> Tool:
    more: dict[str, Any] = {
        "title": "",
        "summary": "",
        "description": "",
        "parameters": {},
        "required": (),
        "output": {},
    }
    return Tool(name="task_rename", run=lambda *_: {}, classes=classes, **more)


@pytest.mark.parametrize(
    ("classes", "fault"),
    [
        ((), "has no capability class, so every agent could use it"),
        (("reading_all",), "has the unknown capability class reading_all"),
        ((READING, ARTIFACT_WRITE), "has a class beside reading, so it does not only read"),
    ],
)
def test_a_tool_without_valid_classes_does_not_load(classes: tuple[str, ...], fault: str) -> None:
    """The error names the tool, the fault, and every valid class."""
    with pytest.raises(ValueError, match=r"\AThe tool task_rename ") as raised:
        make_tool(*classes)
    assert str(raised.value) == (
        f"The tool task_rename {fault}. Give it classes=(...), of {', '.join(CLASSES)} (nexus_mcp.tools.definition)."
    )


def test_reading_tools_are_annotated_as_such() -> None:
    """readOnlyHint agrees with the class."""
    hints = {tool.name: tool.definition()["annotations"]["readOnlyHint"] for tool in TOOLS}
    assert hints == {tool.name: tool.classes == (READING,) for tool in TOOLS}
