"""Resources: what can be read of a project beside the tools. One file a kind, and this table."""

from __future__ import annotations

from nexus_mcp.server.resources import (
    agents,
    artifacts,
    context,
    cycle,
    history,
    knowledge,
    memory,
    plan,
    ready,
    rules,
    skills,
    tasks,
)

RESOURCES = (
    plan.RESOURCE,
    tasks.RESOURCE,
    ready.RESOURCE,
    history.RESOURCE,
    cycle.RESOURCE,
    artifacts.RESOURCE,
    knowledge.RESOURCE,
    memory.RESOURCE,
    context.RESOURCE,
    rules.RESOURCE,
    agents.RESOURCE,
    skills.RESOURCE,
)
"""In the order of the list."""
