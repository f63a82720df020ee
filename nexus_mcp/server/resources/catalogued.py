"""Agents and skills alike: a prompt each, from the catalog, in the words of this server."""

from __future__ import annotations

from nexus_mcp.catalog.load import has_text
from nexus_mcp.errors import NexusError, UnknownEntry
from nexus_mcp.server.resources.definition import MARKDOWN, Content, Entry, Missing, Resource
from nexus_mcp.server.resources.wording import body

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from nexus_mcp.server.resources.definition import Look, Values


def made(kind: str, title: str, description: str, priority: float) -> Resource:
    """The resource for the "agents" or "skills" of the catalog."""

    def known(look: Look) -> dict[str, dict[str, Any]]:
        catalog = look.catalog()
        entries = catalog.agents if kind == "agents" else catalog.skills
        return {name: entry for name, entry in entries.items() if has_text(entry)}

    def read(look: Look, values: Values) -> list[Content]:
        try:
            return [Content(MARKDOWN, body(look, kind, values["id"]))]
        except UnknownEntry as error:
            raise Missing(str(error)) from None

    def entries(look: Look, after: str | None) -> Iterator[Entry]:
        for name, entry in sorted(known(look).items()):
            if after is None or name > after:
                yield Entry(name, {"id": name}, title=entry["name"], size=_size(look, name))

    def _size(look: Look, name: str) -> int | None:
        try:
            return len(body(look, kind, name).encode())
        except NexusError:
            return None

    def words(look: Look, _: str) -> Iterable[str]:
        return sorted(known(look))

    return Resource(
        f"nexus://{kind}/{{id}}",
        name=kind,
        title=title,
        description=description,
        mime_type=MARKDOWN,
        priority=priority,
        read=read,
        entries=entries,
        watched=lambda values: tuple(f"{kind}/{values['id']}/{file}" for file in ("meta.yml", "body.md")),
        words=words,
        audience=("assistant",),
    )
