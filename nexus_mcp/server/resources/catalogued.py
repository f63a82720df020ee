"""Resources nexus://agents/{id} and nexus://skills/{id}: texts of the catalog with their placeholders resolved."""

from __future__ import annotations

from nexus_mcp.catalog.load import has_text
from nexus_mcp.errors import NexusError, UnknownEntry
from nexus_mcp.server.resources.definition import MARKDOWN, Content, Entry, Missing, Resource

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from nexus_mcp.server.resources.definition import ReadContext, Values

_UNKNOWN_HARNESS = (
    "This server does not know the harness that you run in. Where the text says to start or resume an agent, do it in "
    "the harness's own way. If the harness cannot resume agents, start a new one. If it cannot start agents, do the "
    "work yourself."
)


def body(ctx: ReadContext, kind: str, name: str) -> str:
    """Return the text of an entry of `kind`, "agents" or "skills", with its placeholders resolved.

    An agent gets exactly this text, so the text of an agent has the harness's names of the tools. The text of a skill
    has the server's names. Raise UnknownEntry, CatalogError, PathRefused, StorageError.
    """
    if kind == "agents":
        return ctx.catalog().resolved_body(kind, name, ctx.workspace.harness_id, ctx.prefix)
    return render_text(ctx, ctx.catalog().body(kind, name))


def render_text(ctx: ReadContext, text: str) -> str:
    """Return `text` with its placeholders resolved; tools get the names that they have in this server."""
    return ctx.catalog().resolve(text, ctx.workspace.harness_id, f"{ctx.prefix}*", ctx.prefix)


def harness_chapter(ctx: ReadContext) -> str:
    """Return the chapter about the harness for skills that need it; general advice if the harness has no notes."""
    return f"## The harness\n\n{ctx.catalog().notes(ctx.workspace.harness_id) or _UNKNOWN_HARNESS}"


def make_resource(kind: str, title: str, description: str, priority: float) -> Resource:
    """Return the resource kind for the "agents" or "skills" of the catalog."""

    def known_entries(ctx: ReadContext) -> dict[str, dict[str, Any]]:
        catalog = ctx.catalog()
        entries = catalog.agents if kind == "agents" else catalog.skills
        return {name: entry for name, entry in entries.items() if has_text(entry)}

    def read(ctx: ReadContext, values: Values) -> list[Content]:
        try:
            return [Content(MARKDOWN, body(ctx, kind, values["id"]))]
        except UnknownEntry as error:
            raise Missing(str(error)) from None

    def entries(ctx: ReadContext, after: str | None) -> Iterator[Entry]:
        for name, entry in sorted(known_entries(ctx).items()):
            if after is None or name > after:
                yield Entry(name, {"id": name}, title=entry["name"], size=_size(ctx, name))

    def _size(ctx: ReadContext, name: str) -> int | None:
        try:
            return len(body(ctx, kind, name).encode())
        except NexusError:
            return None

    def words(ctx: ReadContext, _: str) -> Iterable[str]:
        return sorted(known_entries(ctx))

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


AGENTS = make_resource("agents", "An agent", "The working prompt of an agent of this project.", 0.3)


SKILLS = make_resource("skills", "A skill", "The working prompt of a skill of this project.", 0.3)
