"""Where the work stands, in a few lines for a model. What the files say is quoted: it is data."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import inert, quoted
from nexus_mcp.state import plan as plans
from nexus_mcp.state import tasks as lists

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.server.resources.definition import Look

MOST = 50
"""Ids of ready tasks at most; the tools have the rest."""
_LONGEST = 200


def standing(look: Look) -> str:
    """Plan and tasks in a line each, and what is wrong with a file in place of its line."""
    both = look.store.both()
    return "\n".join((_line(lambda: _plan(both.plan())), _line(lambda: _tasks(both.tasks()))))


def _line(make: Any) -> str:
    try:
        return f"- {make()}"
    except NexusError as error:
        return inert(f"- {error.fault}. {error.next_step}".rstrip())


def _plan(plan: dict[str, Any] | None) -> str:
    if plan is None:
        return "No plan is open."
    decided = len(plans.decided(plan))
    return (
        f"Plan {plan['id']}, {quoted(plan['topic'], _LONGEST)}: {decided} of {len(plan['issues'])} issues are decided."
    )


def _tasks(tasks: dict[str, Any] | None) -> str:
    if tasks is None:
        return "There is no task list."
    ready = lists.ready(tasks)
    noun = "task" if len(ready) == 1 else "tasks"
    which = f"; ready: {noun} {', '.join(map(str, ready[:MOST]))}{', …' * (len(ready) > MOST)}" if ready else ""
    done = lists.count(tasks, lists.COMPLETED)
    doing = lists.count(tasks, lists.IN_PROGRESS)
    return f"Tasks: {done} of {len(tasks['tasks'])} are completed, {doing} in progress{which}."
