"""The modules that are mutated, and the tools and events that each of them serves."""

from __future__ import annotations

from nexus_mcp.tools import TOOLS

_ALL = tuple(tool.name for tool in TOOLS)
_PLANS = ("plan_start", "plan_status", "plan_update", "plan_decide")
_TASKS = ("task_add", "task_list", "task_update")
_SPAWN = ("event agent_spawn", "event subagent_spawn")
_COMPLETE = ("event agent_complete", "event subagent_complete")
_RESUME, _START, _END = "event agent_resume", "event session_start", "event session_end"
_MESSAGE, _COMPACT = "event user_message", "event context_compact"
_BEFORE, _AFTER = "event pre_tool_use", "event post_tool_use"
_TRACKED = (*_SPAWN, *_COMPLETE, _RESUME, _START, _END)
_EVENTS = (*_TRACKED, _MESSAGE, _COMPACT, _BEFORE, _AFTER)
_GIVING = (_MESSAGE, _COMPACT, _START)

SERVED: dict[str, tuple[str, ...]] = {
    **{f"tools/{name}": (name,) for name in _ALL},
    "tools/arguments": _ALL,
    "state/artifact_name": ("artifact_write",),
    "state/history": ("plan_start", "task_close", "history_search"),
    "state/plan": (*_PLANS, "task_close"),
    "state/shapes": (*_PLANS, *_TASKS, "task_close", "context"),
    "state/tasks": (*_TASKS, "context"),
    "state/times": ("plan_start", "task_add", "task_close"),
    "state/tracker": _TRACKED,
    "state/agents": (*_TRACKED, _BEFORE),
    "lifecycle/agent_spawn": _SPAWN,
    "lifecycle/agent_resume": (_RESUME,),
    "lifecycle/agent_complete": _COMPLETE,
    "lifecycle/session_start": (_START,),
    "lifecycle/session_end": (_END,),
    "lifecycle/user_message": (_MESSAGE,),
    "lifecycle/context_compact": (_COMPACT,),
    "lifecycle/pre_tool_use": (_BEFORE,),
    "lifecycle/post_tool_use": (_AFTER,),
    "lifecycle/definition": _EVENTS,
    "lifecycle/guard": _EVENTS,
    "lifecycle/leftovers": (*_COMPLETE, _START, _END),
    "lifecycle/agent_identity": (*_COMPLETE, _RESUME, _BEFORE, _AFTER),
    "lifecycle/sources": (*_COMPLETE, _START, _END, _MESSAGE, _COMPACT, *_SPAWN, *_GIVING, _BEFORE, _AFTER),
    "lifecycle/nexus_files": (_BEFORE, _AFTER),
    "lifecycle/malformed_payload": (_BEFORE,),
    "lifecycle/session_context": (*_GIVING, _END),
    "lifecycle/progress_text": _GIVING,
    "lifecycle/tagged": (_MESSAGE,),
}
