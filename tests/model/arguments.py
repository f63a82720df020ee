"""A model of the argument rules: the values that each parameter takes, as a tool gets them.

The parameters of the contract are written by hand, those of later tools come from their schemas.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.definition import Tool

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


STATUSES = ("pending", "in_progress", "completed")


@dataclass(frozen=True)
class Parameter:
    """The values that a parameter accepts. `kind`: text, id, ids, texts, titles or map."""

    kind: str
    required: bool = False
    not_blank: bool = False
    only: tuple[str, ...] = ()


TEXT = Parameter("text")


NEEDED = Parameter("text", required=True)


FILLED = Parameter("text", required=True, not_blank=True)


_CONTRACT: dict[str, dict[str, Parameter]] = {
    "plan_start": {"topic": FILLED, "issues": Parameter("titles", required=True), "research_summary": NEEDED},
    "plan_status": {},
    "plan_update": {"action": NEEDED, "issue_id": Parameter("id"), "title": TEXT},
    "plan_decide": {
        "issue_id": Parameter("id", required=True),
        "decision": NEEDED,
        "how_agents": Parameter("texts"),
        "how_summary": Parameter("map"),
        "how_agent_ids": Parameter("map"),
    },
    "task_add": {
        "title": FILLED,
        "context": FILLED,
        "deps": Parameter("ids"),
        "approach": TEXT,
        "acceptance": TEXT,
        "risk": TEXT,
        "plan_issue": Parameter("id"),
        "goal": TEXT,
        "decisions": Parameter("texts"),
        "owner": TEXT,
        "owner_agent_id": TEXT,
        "owner_reuse_policy": Parameter("text", only=("fresh", "resume_if_same_artifact", "resume")),
    },
    "task_list": {},
    "task_update": {"id": Parameter("id", required=True), "status": Parameter("text", required=True, only=STATUSES)},
    "task_close": {},
    "history_search": {"query": TEXT, "last_n": Parameter("id")},
    "context": {},
    "artifact_write": {"filename": FILLED, "content": NEEDED},
}


def _of_schema(tool: Tool, name: str) -> Parameter:
    """Return the kind of a parameter of a tool outside the contract, from its schema."""
    shape = tool.parameters[name]
    items = shape.get("items", {}).get("type")
    kind = {"integer": "id", "object": "map", "array": "ids" if items == "integer" else "texts"}.get(
        shape["type"], "text"
    )
    return Parameter(kind, name in tool.required, "minLength" in shape, tuple(shape.get("enum", ())))


PARAMETERS = {
    **_CONTRACT,
    **{
        tool.name: {name: _of_schema(tool, name) for name in tool.parameters}
        for tool in TOOLS
        if tool.name not in _CONTRACT
    },
}


class Wrong(Exception):
    """A value that its parameter does not take."""


def fitted(value: Any, shape: Parameter) -> Any:
    """The value that the tool works with. Raises Wrong."""
    if shape.kind == "text":
        return text(value, shape)
    if shape.kind == "id":
        return number(value)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise Wrong from None
    if shape.kind == "map":
        if not isinstance(value, dict):
            raise Wrong
        return {text(key, TEXT): text(member, TEXT) for key, member in value.items()}
    if not isinstance(value, list):
        raise Wrong
    if shape.kind == "ids":
        return [number(item) for item in value]
    return [text(item, FILLED if shape.kind == "titles" else TEXT) for item in value]


def text(value: Any, shape: Parameter) -> str:
    if not isinstance(value, str) or "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise Wrong
    if (shape.not_blank and not value.strip()) or (shape.only and value not in shape.only):
        raise Wrong
    return value


def number(value: Any) -> int:
    if isinstance(value, str):
        if not NUMBER.fullmatch(value):
            raise Wrong
        value = float(value) if set(value) & set(".eE") else int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Wrong
    if isinstance(value, float) and not value.is_integer():
        raise Wrong
    if value < 1:
        raise Wrong
    return int(value)
