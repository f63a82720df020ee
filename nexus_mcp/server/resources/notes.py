"""The notes of a project: memory, context and rules alike, a file of Markdown each."""

from __future__ import annotations

from nexus_mcp.errors import NexusError, StateError
from nexus_mcp.knowledge.index import SUFFIX, notes_of
from nexus_mcp.server.resources.definition import MARKDOWN, Content, Entry, Missing, Refused, Resource
from nexus_mcp.server.resources.files import checked, found, info, is_safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from nexus_mcp.server.resources.definition import Look, Values
    from nexus_mcp.store.folder import Folder


def made(
    kind: str, title: str, description: str, priority: float, was_read: Callable[[Look, str], None] | None = None
) -> Resource:
    """The resource for the notes of the folder `kind`. `was_read` gets the path, from .nexus, of each that is read."""

    def read(look: Look, values: Values) -> list[Content]:
        name = values["name"]
        with look.store.nexus() as nexus:
            data = found(nexus, f"{kind}/{name}")
        if data is None:
            raise Missing("there is no such note; nexus://knowledge lists those that there are")
        content = Content(MARKDOWN, _text(data, f".nexus/{kind}/{name}"))
        if was_read is not None:
            was_read(look, f"{kind}/{name}")
        return [content]

    def entries(look: Look, after: str | None) -> Iterator[Entry]:
        with look.store.nexus() as nexus:
            if nexus is None:
                return
            for note in _known(nexus, kind):
                name = note["path"].removeprefix(f"{kind}/")
                if is_safe(name) and (after is None or name > after):
                    seen = info(f"{nexus.path}/{kind}", name)
                    modified = None if seen is None else seen.st_mtime
                    yield Entry(name, {"name": name}, title=name, size=note["size"], modified=modified)

    def words(look: Look, _: str) -> Iterable[str]:
        try:
            return [entry.key for entry in entries(look, None)]
        except NexusError:
            return ()

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


def _known(nexus: Folder, kind: str) -> list[dict[str, Any]]:
    try:
        return notes_of(nexus, kind, [])
    except StateError as error:  # there are too many, and nothing to mend
        advice = (
            "Merge what is about one matter, and move out of the folder what is not needed; each can still be read."
        )
        raise StateError(error.file, error.problem, next_step=advice) from None


def _check(values: Values) -> None:
    name = values["name"]
    if len(checked(name)) > 1 or not name.endswith(SUFFIX):
        raise Refused(f"a note is called name{SUFFIX}")


def _text(data: bytes, file: str) -> str:
    """Raises StateError."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        where = f"line {before.count(10) + 1}, byte {error.start - before.rfind(10)}"
        raise StateError(file, "is not UTF-8", where=where) from None
