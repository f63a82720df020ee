"""Refuse edits below `.nexus/`: what an agent may not change there, and what only tools and commands change."""

from __future__ import annotations

from nexus_mcp.catalog.tool_files import parameters_of
from nexus_mcp.lifecycle.nexus_files import ARTIFACT, FILE, NOTE, STATE, parts
from nexus_mcp.program import command
from nexus_mcp.quoting import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_SHOWN = 200  # characters of a path or a tool's name
# What changes a file below state/, by its name there.
_TOOLS = {
    "plan.json": "Use plan_start, plan_update or plan_decide",
    "tasks.json": "Use task_add, task_update or task_close",
    "artifacts": "Use artifact_write",
}


def refusal(
    known: Mapping[str, Any],
    tool: str,
    kinds: Mapping[str, int],
    *,
    is_certain: bool,
    is_main: bool,
    may_reach_state: bool = False,
) -> str:
    """Return why a call may not run that would write files of these kinds, and what to do instead; "" when it may.

    `is_certain` says that it writes no others; `is_main` that the session itself is at work, and no agent;
    `may_reach_state` that the input of an uncertain call names the state or the history (names_state).
    """
    path = next((path for path, kind in kinds.items() if kind == STATE), None)
    if path is not None:
        return f"{_would(tool, path)}: tools and commands change that, nobody edits it. {_instead(path)}."
    if is_main:
        if is_certain or not may_reach_state:
            return ""
        return (
            f"Which files {quoted(tool, _SHOWN)} would change cannot be told for certain, and its input names "
            f".nexus/state or .nexus/history.json, which nobody edits. {_plainer(known, tool)}"
        )
    path = next((path for path, kind in kinds.items() if kind not in (FILE, NOTE)), None)
    if path is not None:
        return f"{_would(tool, path)}: below .nexus/ an agent edits notes alone (memory/, context/, rules/). " + (
            f"{_TOOLS['artifacts']}."
            if kinds[path] == ARTIFACT
            else "End here, and tell whoever leads the work what has to change in that file."
        )
    if is_certain:
        return ""
    return (
        f"Which files {quoted(tool, _SHOWN)} would change cannot be told for certain, and an agent does not edit all "
        f"that is below .nexus/. {_plainer(known, tool)}"
    )


def names_state(tool_input: object) -> bool:
    """Return whether a text anywhere in the input names the state or the history of Nexus, in any case of letters."""
    rest = [tool_input]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += [*value, *value.values()]
        elif isinstance(value, list):
            rest += value
        elif isinstance(value, str):
            folded = value.casefold()
            if ".nexus" in folded and ("state" in folded or "history.json" in folded):
                return True
    return False


def _would(tool: str, path: str) -> str:
    return f"{quoted(tool, _SHOWN)} would change {quoted(path, _SHOWN)}"


def _instead(path: str) -> str:
    """Return what changes the state or the history that a path leads to, as far as its names tell."""
    names = [name.casefold() for name in parts(path)]
    if "history.json" in names:
        return (
            f"Use plan_start or task_close, which add to the history, or {command('undo')}, which takes a change back"
        )
    told = next((text for name, text in _TOOLS.items() if name in names), None)
    return told or f"Use the tools for plans and tasks, or artifact_write; {command('undo')} takes a change back"


def _plainer(known: Mapping[str, Any], tool: str) -> str:
    """Return how to use the tool so that its files are certain."""
    editing, patching = parameters_of(known, tool)
    if patching:
        return (
            'Use it again with one patch, a smaller one if it is large: "*** Begin Patch" first, "*** End Patch" last, '
            "and between them nothing but "
            '"*** Add File: PATH", "*** Update File: PATH", "*** Move to: PATH" and "*** Delete File: PATH" with their '
            'lines, which begin with "+", "-", a blank or "@@".'
        )
    if editing:
        return f"Use it again with the path in {' and '.join(editing.split())}, in plain characters."
    return (
        "Use another tool; whoever leads the work can name the parameter with the path under editing in "
        ".nexus/capability-map.yml."
    )
