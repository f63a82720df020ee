"""The table of lifecycle events (docs/lifecycle.md).

Each event has its own module. A short name has the module of its event.
"""

from __future__ import annotations

from nexus_mcp.lifecycle.definition import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.lifecycle.definition import Event


def _session_start() -> Event:
    from nexus_mcp.lifecycle.session_start import EVENT

    return EVENT


def _user_message() -> Event:
    from nexus_mcp.lifecycle.user_message import EVENT

    return EVENT


def _agent_spawn() -> Event:
    from nexus_mcp.lifecycle.agent_spawn import EVENT

    return EVENT


def _agent_resume() -> Event:
    from nexus_mcp.lifecycle.agent_resume import EVENT

    return EVENT


def _agent_complete() -> Event:
    from nexus_mcp.lifecycle.agent_complete import EVENT

    return EVENT


def _pre_tool_use() -> Event:
    from nexus_mcp.lifecycle.pre_tool_use import EVENT

    return EVENT


def _post_tool_use() -> Event:
    from nexus_mcp.lifecycle.post_tool_use import EVENT

    return EVENT


def _turn_end() -> Event:
    from nexus_mcp.lifecycle.turn_end import EVENT

    return EVENT


def _session_end() -> Event:
    from nexus_mcp.lifecycle.session_end import EVENT

    return EVENT


def _context_compact() -> Event:
    from nexus_mcp.lifecycle.context_compact import EVENT

    return EVENT


# Loaded on demand: most hooks are new processes, which pay for their imports.
EVENTS: dict[str, Row] = {
    "session_start": Row("a session begins or continues", _session_start),
    "user_message": Row("the user has sent a message", _user_message),
    "subagent_spawn": Row("an agent begins or continues its work", _agent_spawn),
    "subagent_complete": Row("an agent has ended its work", _agent_complete),
    "pre_tool_use": Row("a tool is about to be used", _pre_tool_use),
    "post_tool_use": Row("a tool was used", _post_tool_use),
    "session_end": Row("the session is over", _session_end),
    "context_compact": Row("the context of the model was compacted", _context_compact),
    "turn_end": Row("the model is about to stop", _turn_end),
    "agent_spawn": Row("subagent_spawn under its shorter name", _agent_spawn),
    "agent_resume": Row("an agent continues its work", _agent_resume),
    "agent_complete": Row("subagent_complete under its shorter name", _agent_complete),
}
