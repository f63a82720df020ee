"""The catalog and the notes as events see them: what cannot be used is worth a warning, it stops no event."""

from __future__ import annotations

from nexus_mcp.errors import CatalogError, NexusError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext

_FAULTS = 3


def catalog_of(ctx: EventContext) -> Catalog:
    """The catalog of the project; the shipped one, with a warning, when what the project adds cannot be used."""
    from nexus_mcp.catalog.load import load

    try:
        return load(ctx.workspace.root)
    except NexusError as error:
        told = error.faults[:_FAULTS] if isinstance(error, CatalogError) else [error.fault]
        ctx.warn(
            f"What this project adds to agents and skills cannot be used, so what is shipped is: {'; '.join(told)}. "
            "nexus-mcp catalog check tells all of it."
        )
        return load(None)


def notes_of(ctx: EventContext) -> list[dict[str, Any]]:
    """The index of the notes, as far as they can be listed."""
    from nexus_mcp.knowledge.index import index
    from nexus_mcp.knowledge.shown import fault

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
