"""Run an event without the guard of the hooks, so that its errors are raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nexus_mcp.lifecycle.guard import WAIT_SECONDS, begin
from nexus_mcp.lifecycle.host import NEUTRAL, Host
from nexus_mcp.workspace import Workspace


def handle(
    name: str,
    params: object,
    workspace: Workspace,
    now: Callable[[], float] | None = None,
    wait: float = WAIT_SECONDS,
    *,
    host: Host = NEUTRAL,
) -> dict[str, Any]:
    """Handle the event `name` and return the answer. `now` gives seconds since 1970."""
    event, ctx, given = begin(name, params, workspace, now, wait, host=host)
    return ctx.answer(name, event.run(ctx, given))
