"""Tell the model of copies that keep what another program saved while a call replaced the file."""

from __future__ import annotations

from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import quoted_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.lifecycle.definition import EventContext

_NAMED = 5


def tell(ctx: EventContext) -> None:
    """Add a line to the context as long as such copies are there. What cannot be looked at is passed over."""
    try:
        with ctx.store.nexus() as nexus:
            names = [] if nexus is None else [name for name in nexus.names() if name.startswith("conflict-")]
            state = None if nexus is None else nexus.child("state")
            copies = [f".nexus/{name}" for name in names]
            if nexus is not None:
                from nexus_mcp.store import conflicts

                copies += conflicts.among_notes(nexus)
            if state is not None:
                with state:
                    copies += conflicts.listed(state)
    except NexusError:
        return
    if copies:
        more = f" and {len(copies) - _NAMED} more" if len(copies) > _NAMED else ""
        named = ", ".join(map(quoted_name, copies[:_NAMED]))
        ctx.give(
            f"Copies of files that another program saved while a call replaced them, or that could not be used: "
            f"{named}{more}. Read them, compare them with the files, take over what is missing through the tools, and "
            "tell the user, who then moves the copies away."
        )
