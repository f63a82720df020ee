"""The table of resource kinds that clients can read beside the tools."""

from __future__ import annotations

from nexus_mcp.server.resources import artifacts, catalogued, history, notes, session

RESOURCES = (
    session.PLAN,
    session.TASKS,
    session.READY,
    history.HISTORY,
    history.CYCLE,
    artifacts.RESOURCE,
    notes.KNOWLEDGE,
    notes.MEMORY,
    notes.CONTEXT,
    notes.RULES,
    catalogued.AGENTS,
    catalogued.SKILLS,
)
"""In the order of the list."""
