"""The notes of a project: memory, context and rules alike, a file of Markdown each."""

from __future__ import annotations

from nexus_mcp.errors import NexusError, StateError
from nexus_mcp.knowledge.index import SUFFIX, head, names_of
from nexus_mcp.server.resources.definition import MARKDOWN, Content, Entry, Missing, Refused, Resource
from nexus_mcp.server.resources.files import checked, found, info, is_safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
            folder = None if nexus is None else nexus.child(kind)
            if folder is None:
                return
            with folder:
                for name in _names(folder):
                    # Looked into only when its turn has come: there may be a hundred pages of them.
                    size = _size(folder, name) if (after is None or name > after) and is_safe(name) else None
                    if size is not None:
                        seen = info(folder.path, name)
                        modified = None if seen is None else seen.st_mtime
                        yield Entry(name, {"name": name}, title=name, size=size, modified=modified)

    def words(look: Look, _: str) -> Iterable[str]:
        return (entry.key for entry in entries(look, None))

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
    except StateError as error:  # there are too many, and nothing to mend
        advice = (
            "Merge what is about one matter, and move out of the folder what is not needed; each can still be read."
        )
        raise StateError(error.file, error.problem, next_step=advice) from None


def _size(folder: Folder, name: str) -> int | None:
    """Bytes of a note, None for one that cannot be read."""
    try:
        seen = head(folder, name)
    except NexusError:
        return None
    return None if seen is None else seen[1]


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
