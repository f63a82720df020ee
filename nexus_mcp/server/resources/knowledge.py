"""Resource nexus://knowledge: the index of notes with their tags."""

from __future__ import annotations

from nexus_mcp.knowledge.index import KINDS, index
from nexus_mcp.server.resources.definition import JSON, Entry, Resource, as_json, size_of
from nexus_mcp.server.resources.files import is_safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.server.resources.definition import Content, ReadContext, Values


def read(ctx: ReadContext, _: Values) -> list[Content]:
    """Return {"notes": [{"uri", "path" from .nexus, "kind", "tags", "size" in bytes}], "faults": unreadable notes}.

    Notes that cannot be read as a resource have no uri; `faults` is left out when empty.
    """
    faults: list[str] = []
    with ctx.store.nexus() as nexus:
        found = index(nexus, faults)
    value: dict[str, Any] = {"notes": [{**_uri(note["path"]), **note} for note in found]}
    return as_json({**value, "faults": faults} if faults else value)


def _uri(path: str) -> dict[str, str]:
    from urllib.parse import quote

    return {"uri": f"nexus://{quote(path)}"} if is_safe(path) else {}


def entries(ctx: ReadContext, after: str | None) -> Iterator[Entry]:
    if after is None:
        yield Entry("", {}, size=size_of(lambda: read(ctx, {})))


RESOURCE = Resource(
    "nexus://knowledge",
    name="knowledge",
    title="The knowledge index",
    description="The notes of memory, context and rules, with their tags and sizes: what there is to read.",
    mime_type=JSON,
    priority=0.8,
    read=read,
    entries=entries,
    watched=lambda _: tuple(f"{kind}/" for kind in KINDS),
)
