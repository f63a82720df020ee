"""Resources nexus://memory/{name}, nexus://context/{name} and nexus://rules/{name}, and the index nexus://knowledge.

Each read of a memory note is counted in the access log, which the clean-up of notes uses.
"""

from __future__ import annotations

from nexus_mcp import log
from nexus_mcp.errors import NexusError, StateError
from nexus_mcp.knowledge.index import KINDS, SUFFIX, index, names_of, read_head
from nexus_mcp.server.resources.definition import (
    JSON,
    MARKDOWN,
    Content,
    Entry,
    Missing,
    Resource,
    ResourceRefused,
    as_json,
    check_name,
    info,
    is_safe,
    read_file,
    size_of,
)
from nexus_mcp.wording import place_of_byte

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from nexus_mcp.server.resources.definition import ReadContext, Values
    from nexus_mcp.store.folder import Folder


def make_resource(
    kind: str, title: str, description: str, priority: float, was_read: Callable[[ReadContext, str], None] | None = None
) -> Resource:
    """Return the resource kind for the notes in the folder `kind`. `was_read(ctx, path)`, unless None, is called after
    each read of a note; `path` is the path of the note below .nexus.
    """

    def read(ctx: ReadContext, values: Values) -> list[Content]:
        name = values["name"]
        with ctx.store.nexus() as nexus:
            data = read_file(nexus, f"{kind}/{name}")
        if data is None:
            raise Missing("there is no such note; nexus://knowledge lists the notes")
        content = Content(MARKDOWN, _text(data, f".nexus/{kind}/{name}"))
        if was_read is not None:
            was_read(ctx, f"{kind}/{name}")
        return [content]

    def entries(ctx: ReadContext, after: str | None) -> Iterator[Entry]:
        with ctx.store.nexus() as nexus:
            folder = None if nexus is None else nexus.child(kind)
            if folder is None:
                return
            with folder:
                for name in _names(folder):
                    # Only notes of this page are opened: there may be a hundred pages.
                    size = _size(folder, name) if (after is None or name > after) and is_safe(name) else None
                    if size is not None:
                        seen = info(folder.path, name)
                        modified = None if seen is None else seen.st_mtime
                        yield Entry(name, {"name": name}, title=name, size=size, modified=modified)

    def words(ctx: ReadContext, _: str) -> Iterable[str]:
        return (entry.key for entry in entries(ctx, None))

    return Resource(
        f"nexus://{kind}/{{name}}",
        name=kind,
        title=title,
        description=description,
        mime_type=MARKDOWN,
        priority=priority,
        read=read,
        check=_check,
        entries=entries,
        watched=lambda values: (f"{kind}/{values['name']}",),
        words=words,
    )


def _names(folder: Folder) -> list[str]:
    try:
        return names_of(folder)
    except StateError as error:  # too many notes, none broken
        advice = (
            "Merge notes about one subject, and move unneeded notes out of the folder; each note can still be read."
        )
        raise StateError(error.file, error.problem, next_step=advice) from None


def _size(folder: Folder, name: str) -> int | None:
    """Return the size of a note in bytes; None if the note is gone or unreadable."""
    try:
        seen = read_head(folder, name)
    except NexusError:
        return None
    return None if seen is None else seen[1]


def _check(values: Values) -> None:
    name = values["name"]
    if len(check_name(name)) > 1 or not name.endswith(SUFFIX):
        raise ResourceRefused(f"a note is called name{SUFFIX}")


def _text(data: bytes, file: str) -> str:
    """Return a note's text without its byte order mark. Raise StateError for text that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = place_of_byte(error.object, error.start)  # `error.object` has no byte order mark
        raise StateError(file, "is not UTF-8", where=where) from None


CONTEXT = make_resource("context", "A context note", "What the project is, how it is built and why.", 0.6)


def _count(ctx: ReadContext, path: str) -> None:
    """Count a read. The client gets the note even if counting fails or the lock is held."""
    from nexus_mcp.lifecycle.definition import LONGEST
    from nexus_mcp.store.harness_files import note_read

    harness = ctx.workspace.harness_id
    try:
        note_read(ctx.noting, harness, f".nexus/{path}", (ctx.client_name or harness)[:LONGEST])
    except NexusError as error:
        log.warning(f"the read of .nexus/{path} was not counted: {error}")


MEMORY = make_resource(
    "memory",
    "A memory note",
    "What was learnt in this project and is worth keeping. Each read is counted in the access record.",
    0.5,
    _count,
)


RULES = make_resource("rules", "Rules of the project", "Rules for all work in this project.", 0.7)


def read_index(ctx: ReadContext, _: Values) -> list[Content]:
    """Return {"notes": [{"uri", "path" from .nexus, "kind", "tags", "size" in bytes}], "faults": [error text]}.

    Notes that cannot be read as a resource have no uri. `faults` reports unreadable notes and folders; it is left out
    when empty.
    """
    faults: list[str] = []
    with ctx.store.nexus() as nexus:
        found = index(nexus, faults)
    value: dict[str, Any] = {"notes": [{**_uri(note["path"]), **note} for note in found]}
    return as_json({**value, "faults": faults} if faults else value)


def _uri(path: str) -> dict[str, str]:
    from urllib.parse import quote

    return {"uri": f"nexus://{quote(path)}"} if is_safe(path) else {}


def index_entries(ctx: ReadContext, after: str | None) -> Iterator[Entry]:
    if after is None:
        yield Entry("", {}, size=size_of(lambda: read_index(ctx, {})))


KNOWLEDGE = Resource(
    "nexus://knowledge",
    name="knowledge",
    title="The knowledge index",
    description="The notes of memory, context and rules, with their tags and sizes.",
    mime_type=JSON,
    priority=0.8,
    read=read_index,
    entries=index_entries,
    watched=lambda _: tuple(f"{kind}/" for kind in KINDS),
)
