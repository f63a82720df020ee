"""The manifest: what a consumer compares to tell whether its copies of agents and skills are current."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog

_AGENT = ("id", "name", "description", "category", "resume_tier", "model_tier")
_SKILL = ("id", "name", "description", "manual_only", "body_hash")


def manifest(catalog: Catalog) -> dict[str, Any]:
    """{"agents": […], "skills": […]}, each by id: schemas/catalog/manifest.schema.json, docs/agents.md."""
    return {
        "agents": [
            {
                **{name: agent[name] for name in _AGENT},
                "capabilities": [*agent["capabilities"], *agent["added"]],
                "body_hash": agent["body_hash"],
            }
            for _, agent in sorted(catalog.agents.items())
        ],
        "skills": [{name: skill[name] for name in _SKILL} for _, skill in sorted(catalog.skills.items())],
    }
