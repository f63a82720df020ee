"""The lifecycle events of a session: one file each, and this table."""

from __future__ import annotations

from nexus_mcp.lifecycle import agent_complete, agent_resume, agent_spawn, session_end

EVENTS = {
    event.name: event for event in (agent_spawn.EVENT, agent_resume.EVENT, agent_complete.EVENT, session_end.EVENT)
}
