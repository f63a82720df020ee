"""The catalog and the notes as events see them: what cannot be used is worth a warning, it stops no event."""

from __future__ import annotations

from nexus_mcp.errors import NexusError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext

_FAULTS = 3


def catalog_of(ctx: EventContext) -> Catalog:
    """The catalog of the project as far as it can be used, with a warning about each of the first few faults.

    Read once for an event, and no more of it than there is time for (deadline.py): what was not read is at fault.
    """
    if ctx.catalog is not None:
        return ctx.catalog
    from nexus_mcp.catalog.load import load, usable
    from nexus_mcp.lifecycle.deadline import is_over

    try:
        catalog = usable(ctx.workspace.root, is_over)
    except NexusError as error:
        ctx.warn(f"What this project adds to agents and skills cannot be read, so what is shipped is: {error.fault}.")
        return load(None)
    for told in catalog.told:
        ctx.warn(told)
    ctx.catalog = catalog
    return catalog


def mending(agent: dict[str, Any]) -> str:
    """What a refusal adds when it is there because of a fault in the agent's files; "" for any other agent."""
    from nexus_mcp.catalog.sources import MEND

    if MEND not in agent:
        return ""
    from nexus_mcp.program import command
    from nexus_mcp.quoting import quoted_name

    return (
        f" {quoted_name(agent[MEND])} has a fault, and until it is mended {quoted_name(agent['id'])} may do nothing "
        f"that can be forbidden: tell whoever leads the work, whom {command('catalog check')} shows what is wrong."
    )


def notes_of(ctx: EventContext) -> list[dict[str, Any]]:
    """The index of the notes, as far as they can be listed."""
    from nexus_mcp.knowledge.index import index
    from nexus_mcp.quoting import fault

    faults: list[str] = []
    entries: list[dict[str, Any]] = []
    try:
        with ctx.store.nexus() as nexus:
            entries = index(nexus, faults)
    except NexusError as error:
        faults = [fault(error)]
    for told in faults[:_FAULTS]:
        ctx.warn(f"Not all notes could be listed: {told}.")
    return entries
