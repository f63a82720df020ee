"""The table of the kinds of resources that the server offers in addition to its tools."""

from __future__ import annotations

from nexus_mcp.server.resources import artifacts, catalogued, history, notes, runs, session, skill_files

RESOURCES = (
    session.PLAN,
    session.TASKS,
    session.READY,
    runs.NEWEST,
    runs.RUN,
    history.HISTORY,
    history.CYCLE,
    artifacts.RESOURCE,
    notes.KNOWLEDGE,
    notes.MEMORY,
    notes.CONTEXT,
    notes.RULES,
    catalogued.AGENTS,
    catalogued.SKILLS,
    skill_files.SKILL_FILES,
)
"""In the order of the response to `resources/list`."""
