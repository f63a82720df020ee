"""What one event has to know of earlier ones of its session. Never in the way: without it more is told than needed."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.state import remembered
from nexus_mcp.store import remembered as file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.state.remembered import Entry


def recall(ctx: EventContext, session: str) -> dict[str, Any]:
    """What is remembered of a session: some of skill, mode, work, given and by."""
    try:
        return remembered.find(file.read(ctx.store, ctx.harness_id), session)
    except NexusError:  # told by whoever has to write it
        return {}


def has_begun(ctx: EventContext) -> bool:
    """Whether a session of this harness began here: a project that no session began in is not written to."""
    try:
        return file.has_place(ctx.store, ctx.harness_id)
    except NexusError:  # told by whoever has to write there
        return True


def note(ctx: EventContext, session: str, **fields: object) -> None:
    """Remember these of a session from now on; None takes one away."""
    now = ctx.store.stamp()
    _change(ctx, lambda entries: remembered.noted(entries, session, now, fields))


def settle(ctx: EventContext, session: str, choose: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Remember of a session what `choose` makes of what is known of it; no other event comes in between.

    Where that cannot be remembered it is called all the same. It may be called twice.
    """
    choose(recall(ctx, session))
    now = ctx.store.stamp()
    _change(ctx, lambda entries: remembered.noted(entries, session, now, choose(remembered.find(entries, session))))


def forget(ctx: EventContext, session: str) -> None:
    """A session of this id begins anew."""
    if recall(ctx, session):
        _change(ctx, lambda entries: remembered.forgotten(entries, session))


def digest(text: str) -> str:
    """Tells texts apart that differ by what happened between; nobody gains from two that are made to be the same."""
    from zlib import crc32

    data = text.encode("utf-8", "surrogatepass")
    return f"{len(data)}-{crc32(data):08x}"


def _change(ctx: EventContext, make: Callable[[list[Entry]], list[Entry]]) -> None:
    try:
        kept = file.change(ctx.store, ctx.harness_id, make)
    except NexusError as error:
        ctx.warn(f"What was told could not be remembered, so it may be told again: {error}")
        return
    if kept:
        ctx.warn(
            f"What was remembered of earlier sessions could not be read, and is kept as {kept}. Look what it holds."
        )
