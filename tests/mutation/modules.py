"""The modules that are mutated, and the tools and events that each of them serves."""

from __future__ import annotations

from nexus_mcp.tools import TOOLS

_ALL = tuple(tool.name for tool in TOOLS)
_PLANS = ("plan_start", "plan_status", "plan_update", "plan_decide")
_TASKS = ("task_add", "task_list", "task_update")
_AGENTS = ("agent_spawn", "agent_resume", "agent_complete", "session_end")
_EVENTS = tuple(f"event {name}" for name in _AGENTS)

SERVED: dict[str, tuple[str, ...]] = {
    **{f"tools/{name}": (name,) for name in _ALL},
    "tools/arguments": _ALL,
    "state/artifact_name": ("artifact_write",),
    "state/history": ("plan_start", "task_close", "history_search"),
    "state/plan": (*_PLANS, "task_close"),
    "state/shapes": (*_PLANS, *_TASKS, "task_close", "context"),
    "state/tasks": (*_TASKS, "context"),
    "state/times": ("plan_start", "task_add", "task_close"),
    "state/tracker": _EVENTS,
    **{f"lifecycle/{name}": (f"event {name}",) for name in _AGENTS},
    "lifecycle/handle": _EVENTS,
    "lifecycle/params": _EVENTS,
    "lifecycle/unfinished": _EVENTS,
    "lifecycle/unknown": _EVENTS,
}
