"""The modules that are mutated, and the tools and events that each of them serves.

lifecycle/budget and host are left out, because no fixture is an installed hook, and tags/, because commands and prompts
use it, too. tests/lifecycle and tests/tags check these modules.
"""

from __future__ import annotations

from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.tools import TOOLS

_ALL = tuple(tool.name for tool in TOOLS)
_PLANS = ("plan_start", "plan_status", "plan_update", "plan_decide")
_TASKS = ("task_add", "task_list", "task_update")
_SPAWN = ("event agent_spawn", "event subagent_spawn")
_COMPLETE = ("event agent_complete", "event subagent_complete")
_RESUME, _START, _END = "event agent_resume", "event session_start", "event session_end"
_MESSAGE, _COMPACT = "event user_message", "event context_compact"
_BEFORE, _AFTER = "event pre_tool_use", "event post_tool_use"
_TURN_END = "event turn_end"
_TRACKED = (*_SPAWN, *_COMPLETE, _RESUME, _START, _END)
_EVENTS = tuple(f"event {name}" for name in EVENTS)
_GIVING = (_MESSAGE, _COMPACT, _START)


def _of_events() -> dict[str, tuple[str, ...]]:
    """Return each module of an event, with the names of the events that it serves."""
    found: dict[str, tuple[str, ...]] = {}
    for name, row in EVENTS.items():
        module = row.load().run.__module__.removeprefix("nexus_mcp.").replace(".", "/")
        found[module] = (*found.get(module, ()), f"event {name}")
    return found


SERVED: dict[str, tuple[str, ...]] = {
    **{f"tools/{name}": (name,) for name in _ALL},
    **_of_events(),
    "tools/arguments": _ALL,
    "state/artifact_name": ("artifact_write",),
    "state/history": ("plan_start", "task_close", "history_search"),
    "state/plan": (*_PLANS, "task_close"),
    "state/shapes": (*_PLANS, *_TASKS, "task_close", "context"),
    "state/tasks": (*_TASKS, "context"),
    "state/times": ("plan_start", "task_add", "task_close"),
    "state/tracker": _TRACKED,
    "state/agents": (*_TRACKED, _BEFORE),
    "lifecycle/definition": _EVENTS,
    "lifecycle/guard": _EVENTS,
    "lifecycle/agent_identity": (*_COMPLETE, _RESUME, _BEFORE, _AFTER),
    "lifecycle/sources": (*_COMPLETE, _START, _END, _MESSAGE, _COMPACT, *_SPAWN, *_GIVING, _BEFORE, _AFTER),
    "lifecycle/nexus_files": (_BEFORE, _AFTER),
    "lifecycle/malformed_payload": (_BEFORE,),
    "lifecycle/session_context": (*_GIVING, _END),
    "lifecycle/session_memory": (*_GIVING, _END, _TURN_END),
    "lifecycle/settings": (_BEFORE, _TURN_END),
    "lifecycle/file_leases": (_BEFORE,),
    "lifecycle/merge_conflicts": (_BEFORE, _START),
    "lifecycle/skill_hints": (_MESSAGE,),
    "briefing/progress": _GIVING,
}
