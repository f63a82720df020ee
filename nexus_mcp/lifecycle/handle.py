"""From an event and its params to what carries it out, for the harness that they tell."""

from __future__ import annotations

from nexus_mcp.errors import InvalidArguments, UsageError
from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.lifecycle.definition import EventContext
from nexus_mcp.lifecycle.params import HARNESS_ID, checked
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace, check_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.lifecycle.definition import Event

WAIT_SECONDS = 2.0
"""For the lock and for git, in all of an event. A hook stands in the way of an agent, and some harnesses end one after
3 s."""


def begun(
    name: str, params: object, workspace: Workspace, now: Callable[[], float] | None = None, wait: float = WAIT_SECONDS
) -> tuple[Event, EventContext, dict[str, Any]]:
    """(the event, what it works with, its params). The time that it may wait, `wait`, runs from now on.

    Raises InvalidArguments.
    """
    event = EVENTS[name].load()
    given = checked(event, params)
    own = Workspace(workspace.root, harness_of(given.pop(HARNESS_ID, None), workspace))
    return event, EventContext(own, Store(own, now, wait, in_all=True)), given


def harness_of(told: object, workspace: Workspace) -> str:
    """The harness that params tell, that of the workspace when they tell none. Raises InvalidArguments."""
    if told is None:
        return workspace.harness_id
    try:
        return check_harness_id(told if isinstance(told, str) else "")
    except UsageError as error:
        # Not its own words: they have what was told, and a failure is noted in a file.
        taken = "artifacts, cache or lock"
        problem = f"harness_id is not usable: it starts with a-z, goes on with a-z, 0-9 and -, and is not {taken}"
        raise InvalidArguments([problem]) from error
