"""Write fixtures to files for the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nexus_mcp.conformance.fixture import Fixture
from nexus_mcp.conformance.loading import load

GONE: Any = object()


def raw(**members: Any) -> dict[str, Any]:
    """Return the JSON of a fixture of one call; `members` replace its own fields, GONE removes one."""
    whole = {
        "test_id": "one",
        "description": "One call and its answer.",
        "action": {"tool": "task_list"},
        "postcondition": {"return_value": {"$.exists": False}},
        **members,
    }
    return {name: member for name, member in whole.items() if member is not GONE}


def stepped(*steps: Any, **members: Any) -> dict[str, Any]:
    """Return the JSON of a fixture of steps."""
    return raw(**{"action": GONE, "postcondition": GONE, "steps": list(steps), **members})


def write(path: Path, document: Any) -> str:
    """Write a document and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def loaded(folder: Path, *fixtures: dict[str, Any]) -> list[Fixture]:
    """Write the fixtures to one file, and return them as read from it."""
    return load([write(folder / "fixtures.json", list(fixtures))])
