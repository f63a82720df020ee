"""The files of notes: read whole or in part, begun, and added to. Writing is done under the lock of the workspace."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from nexus_mcp.errors import NexusError, NotConfirmed, StateError
from nexus_mcp.knowledge import tag_line
from nexus_mcp.knowledge.index import SUFFIX
from nexus_mcp.store import atomic
from nexus_mcp.store.opening import let_go
from nexus_mcp.store.original import read as original_of
from nexus_mcp.store.replacing import Replacement, repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import Held
    from nexus_mcp.store.store import Store

LIMIT = 4 << 20
"""Bytes of a note that are read."""
WRITTEN = 1 << 20
"""Bytes of a note that we write, at most: beyond that it is no note."""
COMPARED = 1 << 12
"""Bytes of a note that a new text is compared with: what it is about is said at its beginning."""
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
_BOM = "\ufeff"
_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


def written(folder: Folder) -> list[tuple[str, float]]:
    """(name, seconds since 1970 when it was last written) of each note in an open folder, by name.

    Notes whose names cannot be printed, and what is no plain file, are left out.
    """
    found = []
    for name in sorted(folder.names()):
        if not name.endswith(SUFFIX) or name.startswith(".") or not name.isprintable():
            continue
        try:
            fd = folder.open(name, _READ)
        except (OSError, NexusError):
            continue
        info = os.fstat(fd)
        let_go(fd)
        if stat.S_ISREG(info.st_mode):
            found.append((name, info.st_mtime))
    return found


def read(nexus: Folder | None, kind: str, name: str) -> str | None:
    """A note, None when absent. Raises PathRefused, StorageError, StateError."""
    folder = None if nexus is None else nexus.child(kind)
    if folder is None:
        return None
    with folder:
        return _text(folder, name)


@contextmanager
def locked(store: Store, kind: str) -> Iterator[tuple[Folder, Folder, Held]]:
    """(`.nexus`, the folder `kind` in it, the lock), made where absent; a first call that fails takes it away again."""
    with store.locked_nexus() as (nexus, held):
        folder, is_new = nexus.make(kind)
        with folder:
            try:
                atomic.sweep(folder)
                yield nexus, folder, held
            except NotConfirmed:
                raise
            except BaseException:
                if is_new:
                    nexus.remove_folder(kind)
                raise


def put(folder: Folder, name: str, text: str, tags: list[str], held: Held) -> str:
    """Begin the note `name` with `text`, or add it as a paragraph; "created", "extended", "unchanged" when it `has` it.

    A new note gets `tags` as its first line. It is added to what an editor saved meanwhile. Raises StateError,
    PathRefused, StorageError, NotConfirmed.
    """
    return repeated(lambda: _put(folder, name, text, tags, held))


def _put(folder: Folder, name: str, text: str, tags: list[str], held: Held) -> str:
    """As `put`, once. Raises ChangedMeanwhile when another program saved the note."""
    original = original_of(folder, name, LIMIT)
    before = _checked(folder, name, original.content())
    if before is None:
        result, after = "created", "\n".join([*([tag_line.made(tags), ""] if tags else []), text, ""])
    elif has(before, text):
        return "unchanged"
    else:
        newline = "\r\n" if "\r\n" in before else "\n"
        added = text.replace("\n", newline)
        result, after = "extended", newline.join([before.rstrip(), "", added, ""] if before.strip() else [added, ""])
    data = after.encode()
    if len(data) > WRITTEN:
        raise StateError(
            folder.show(name),
            f"would have {len(data)} bytes, more than the {WRITTEN >> 20} MiB that a note may have",
            next_step="Keep what is worth remembering in a few sentences; an artifact can hold the whole.",
        )
    Replacement(folder, name, original).put(data, held.check)()
    return result


def has(note: str, text: str) -> bool:
    """Whether the note has the text already: as whole paragraphs, one behind the other, its tags line left out.

    Part of a paragraph may say something else: "use eval" is in "Never use eval".
    """
    head, _, rest = note.removeprefix(_BOM).partition("\n")
    kept = _paragraphs(rest if tag_line.read(head.encode()) else note.removeprefix(_BOM))
    wanted = _paragraphs(text)
    # Found as one text, which takes no longer than reading both: no paragraph has an empty line in it.
    return not wanted or "\n\n".join(["", *wanted, ""]) in "\n\n".join(["", *kept, ""])


def has_markers(data: bytes) -> bool:
    """Whether a line begins as those do that git leaves in a file with a conflict."""
    return any(line.startswith(_MARKERS) for line in data.splitlines())


def _paragraphs(text: str) -> list[str]:
    """What stands between empty lines, without blanks at the ends of lines."""
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return ["\n".join(lines) for lines in found if lines]


def _text(folder: Folder, name: str) -> str | None:
    return _checked(folder, name, folder.read(name, LIMIT))


def _checked(folder: Folder, name: str, data: bytes | None) -> str | None:
    if data is None:
        return None
    shown = folder.show(name)
    if has_markers(data):
        advice = f"Settle the conflict in {shown}, then call again."
        raise StateError(shown, "has git conflict markers", next_step=advice)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StateError(shown, "is not UTF-8", where=f"line {line}") from error
