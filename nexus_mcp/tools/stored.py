"""Schemas of what answers hold in common: ids, and issues and tasks as the files have them.

A file of another harness may have fields that are unknown here, and optional ones of odd types. Answers give them as
they are, so these schemas bind only what every file must have: a client that validates answers must not stumble.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
ID: dict[str, Any] = {"type": "integer", "minimum": 1}
NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string"}}

ISSUE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": ID,
        "title": {"type": "string"},
        "status": {"type": "string", "enum": ["pending", "decided"]},
        "decision": {"description": "What was decided (string)."},
        "how_agents": {"description": "Agents that were asked for advice (array of strings)."},
        "how_summary": {"description": "Their advice by agent name (object of strings)."},
        "how_agent_ids": {"description": "Their ids by agent name (object of strings)."},
    },
    "required": ["id", "title", "status"],
}

ISSUE_LINE: dict[str, Any] = {
    "type": "object",
    "properties": {name: ISSUE["properties"][name] for name in ("id", "title", "status")},
    "required": ["id", "title", "status"],
    "additionalProperties": False,
}

TASK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": ID,
        "title": {"type": "string"},
        "context": {"type": "string"},
        "approach": {"description": "How to go about it (string)."},
        "acceptance": {"description": "How to tell that it is done (string)."},
        "risk": {"description": "What may go wrong (string)."},
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
        "deps": {"type": "array", "items": {"type": "number"}, "description": "Ids of the tasks it waits for."},
        "plan_issue": {"description": "Id of the plan issue it carries out (integer)."},
        "owner": {"description": "Agent that does it (string)."},
        "owner_agent_id": {"description": "The harness's id of that agent (string)."},
        "owner_reuse_policy": {"description": "fresh, resume_if_same_artifact or resume."},
        "created_at": {"type": "string"},
    },
    "required": ["id", "title", "context", "status", "deps", "created_at"],
}
