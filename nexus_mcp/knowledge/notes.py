"""Name the files of notes, and read, create and extend them. A writer must hold the lock (`locked_folder`)."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from nexus_mcp import schemas
from nexus_mcp.errors import NexusError, NotConfirmed, PathRefused, StateError
from nexus_mcp.knowledge import index
from nexus_mcp.knowledge.index import SUFFIX
from nexus_mcp.knowledge.merge import words
from nexus_mcp.log import printable
from nexus_mcp.store import conflicts
from nexus_mcp.store.folder import close_fd
from nexus_mcp.store.replacement import Replacement, retry
from nexus_mcp.store.replacement import read as original_of
from nexus_mcp.wording import place_of_byte

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import HeldLock
    from nexus_mcp.store.store import Store

LIMIT = 4 << 20
"""Maximum bytes of a note to read."""
MAX_WRITE_BYTES = 1 << 20
"""Maximum bytes of a note to write."""
COMPARED_BYTES = 1 << 12
"""The number of bytes at the beginning of a note with which a new text is compared."""
LONGEST_NAME = 100
_NAME_WORDS = 4
_SHOWN_NAME = 60
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
_BOM = "\ufeff"
_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


def check_name(name: str, pattern: str, folder: str) -> str:
    """Return `name`. Raise PathRefused unless it matches `pattern` and is a valid file name on every system.

    `folder` is the folder of the note for the error message, e.g. ".nexus/memory".
    """
    from nexus_mcp.state import artifact_name
    from nexus_mcp.store import atomic

    advice = "Use lower-case letters, digits and -, and .md at the end, e.g. empirical-lock-order.md."
    shown = f"{folder}/{printable(name[:_SHOWN_NAME])}{'…' * (len(name) > _SHOWN_NAME)}"
    if len(name) > LONGEST_NAME:
        raise PathRefused(shown, f"has a name of more than {LONGEST_NAME} characters", next_step=advice)
    if not schemas.search(pattern)(name):
        raise PathRefused(shown, "is not a valid name of a note", next_step=advice)
    try:
        artifact_name.segments(name, atomic.PREFIX)
    except PathRefused as error:
        raise PathRefused(shown, error.problem, next_step=advice) from error
    return name


def split_name(text: str) -> tuple[str, str]:
    """Return (name, rest) of a text such as `lock-order.md: text`; ("", text) if it does not begin with a name.

    The name is not checked.
    """
    name, colon, rest = text.partition(":")
    is_name = bool(colon) and name.lower().endswith(SUFFIX) and not any(map(str.isspace, name))
    return (name, rest.strip()) if is_name else ("", text)


def make_name(text: str, taken: Container[str]) -> str:
    """Return a name not in `taken`: the first words of `text`, or its checksum if the words have no Latin letter."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    stem = "-".join(words(plain)[:_NAME_WORDS])[: LONGEST_NAME - 20].strip("-")
    if not any(map(str.isalpha, stem)):
        import zlib

        stem = f"note-{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"
    elif "-" not in stem:
        stem = f"note-{stem}"  # a single word says little, and may be a device name on Windows
    number, name = 1, f"{stem}{SUFFIX}"
    while name in taken:
        number += 1
        name = f"{stem}-{number}{SUFFIX}"
    return name


def list_written(folder: Folder) -> list[tuple[str, float]]:
    """Return (name, seconds since 1970 of the last change) of each note in an open folder, by name.

    Left out are hidden files, unprintable names, and files that are not regular or cannot be opened.
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
        close_fd(fd)
        if stat.S_ISREG(info.st_mode):
            found.append((name, info.st_mtime))
    return found


def read(nexus: Folder | None, kind: str, name: str) -> str | None:
    """Return the text of a note, None if absent. Raise PathRefused, StorageError, StateError."""
    folder = None if nexus is None else nexus.child(kind)
    if folder is None:
        return None
    with folder:
        return _text(folder, name)


@contextmanager
def locked_folder(store: Store, kind: str) -> Iterator[tuple[Folder, Folder, HeldLock]]:
    """Take the lock; yield (`.nexus`, its folder `kind`, the lock). If the block fails, remove the folder if it is new
    and empty, except after NotConfirmed.
    """
    with store.locked_nexus() as (nexus, held):
        folder, is_new = nexus.make(kind)
        with folder:
            try:
                conflicts.sweep(folder)
                yield nexus, folder, held
            except NotConfirmed:
                raise
            except BaseException:
                if is_new:
                    nexus.remove_folder(kind)
                raise


def put(folder: Folder, name: str, text: str, tags: list[str], held: HeldLock) -> str:
    """Create the note `name` with `text`, or append a paragraph; return "created", "extended" or "unchanged".

    A new note gets `tags` as its first line; a note that contains `text` is unchanged. If an editor saves the note
    meanwhile, the saved version is extended. Raise StateError, PathRefused, StorageError, NotConfirmed.
    """
    return retry(lambda: _put(folder, name, text, tags, held))


def _put(folder: Folder, name: str, text: str, tags: list[str], held: HeldLock) -> str:
    """Try `put` once. Raise ChangedMeanwhile if another program saved the note."""
    original = original_of(folder, name, LIMIT)
    before = _decode(folder, name, original.content())
    if before is None:
        result, after = "created", "\n".join([*([index.tag_line(tags), ""] if tags else []), text, ""])
    elif contains(before, text):
        return "unchanged"
    else:
        newline = "\r\n" if "\r\n" in before else "\n"
        added = text.replace("\n", newline)
        result, after = "extended", newline.join([before.rstrip(), "", added, ""] if before.strip() else [added, ""])
    data = after.encode()
    if len(data) > MAX_WRITE_BYTES:
        raise StateError(
            folder.show(name),
            f"would have {len(data)} bytes, more than the {MAX_WRITE_BYTES >> 20} MiB that a note may have",
            next_step="Keep what is worth remembering in a few sentences; an artifact can hold the whole text.",
        )
    Replacement(folder, name, original).put(data, held.check)
    return result


def contains(note: str, text: str) -> bool:
    """Return whether the note contains the text as whole consecutive paragraphs; its tag line is ignored.

    A part of a paragraph does not count: a note with "Never use eval" does not contain the text "use eval".
    """
    head, _, rest = note.removeprefix(_BOM).partition("\n")
    own_paragraphs = _paragraphs(rest if index.read_tags(head.encode()) else note.removeprefix(_BOM))
    wanted = _paragraphs(text)
    # No paragraph contains an empty line, so a search in the paragraphs joined by empty lines finds only whole
    # paragraphs.
    return not wanted or "\n\n".join(["", *wanted, ""]) in "\n\n".join(["", *own_paragraphs, ""])


def has_markers(data: bytes) -> bool:
    """Return whether a line begins with a conflict marker of git."""
    return any(line.startswith(_MARKERS) for line in data.splitlines())


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, which empty lines separate, without white space at the ends of lines."""
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return ["\n".join(lines) for lines in found if lines]


def _text(folder: Folder, name: str) -> str | None:
    return _decode(folder, name, folder.read(name, LIMIT))


def _decode(folder: Folder, name: str, data: bytes | None) -> str | None:
    if data is None:
        return None
    shown = folder.show(name)
    if has_markers(data):
        advice = f"Resolve the conflict in {shown}, then call again."
        raise StateError(shown, "has git conflict markers", next_step=advice)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StateError(shown, "is not UTF-8", where=place_of_byte(data, error.start)) from error
