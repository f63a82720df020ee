"""From an event and its params to the answer: the one way in, for the command line and for what comes later."""

from __future__ import annotations

from nexus_mcp.lifecycle.definition import EventContext
from nexus_mcp.lifecycle.params import HARNESS_ID, checked
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace, check_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.lifecycle.definition import Event


def handle(
    event: Event, params: object, workspace: Workspace, now: Callable[[], float] | None = None
) -> dict[str, Any]:
    """Carry out what `event` means: {"event", "harness_id", …the event's own members, "warnings": [text, …]}.

    The harness is the one that the params name, else that of `workspace`. `now` gives seconds since 1970. Raises
    InvalidArguments and UsageError for params of the wrong shape, StateError, PathRefused and StorageError when
    nothing was changed, NotAppliedYet and NotConfirmed when it was.
    """
    given = checked(event, params)
    harness_id = check_harness_id(given.pop(HARNESS_ID, workspace.harness_id))
    own = Workspace(workspace.root, harness_id)
    ctx = EventContext(own, Store(own, now))
    members = event.run(ctx, given)
    return {"event": event.name, "harness_id": harness_id, **members, "warnings": ctx.warnings}
