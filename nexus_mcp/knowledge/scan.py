"""Cache the notes of a folder, and read again only those that changed.

With a thousand notes, reading them takes most of the time of the tag `[m]`. So the tag reads them before it takes the
lock; while it holds the lock, it checks their metadata and reads only those that changed meanwhile.
"""

from __future__ import annotations

import os
import stat

from nexus_mcp.errors import NexusError
from nexus_mcp.knowledge import index, notes
from nexus_mcp.knowledge.index import names_of
from nexus_mcp.knowledge.merge import Note
from nexus_mcp.store.folder import close_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from nexus_mcp.store.folder import Folder

CACHED_BYTES = 1 << 15
"""Maximum bytes of a note in the cache; nearly all notes are smaller."""
_ALL = 1 << 25  # bytes of all notes in the cache; beyond that, only the beginnings of further notes
_SEARCHED = 1 << 26  # maximum bytes read per text from notes that are not cached whole
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)  # opening a FIFO does not block
_BOM = b"\xef\xbb\xbf"


class CachedNote(Note):
    """A note in the cache: `data` is its beginning, `size` the size of the file in bytes."""

    __slots__ = ("data", "name", "stamp")

    def __init__(self, kind: str, name: str, data: bytes, stamp: tuple[int, int, int]) -> None:
        tags = index.read_tags(data[: index.FIRST_BYTES])
        head = data[: notes.COMPARED_BYTES].removeprefix(_BOM)
        text = head.partition(b"\n")[2] if tags else head
        super().__init__(f"{kind}/{name}", tags, text.decode("utf-8", "replace"))
        self.name = name
        self.data = data
        self.stamp = stamp

    @property
    def size(self) -> int:
        return self.stamp[1]


class Scan:
    """The notes of the folder `kind`, by name. Unreadable notes are left out; an access by name reports them."""

    __slots__ = ("_kind", "notes")

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self.notes: dict[str, CachedNote] = {}

    def refresh(self, folder: Folder | None) -> bool:
        """Read new and changed notes; return whether a note is new, changed or gone. Raise StorageError, StateError."""
        before, self.notes = self.notes, {}
        room = _ALL - sum(len(note.data) for note in before.values())
        for name in names_of(folder) if folder is not None else ():
            note = before.get(name)
            if note is None or folder is None or _stamp(folder.look(name)) != note.stamp:
                note = (
                    self._read(folder, name, CACHED_BYTES if room > 0 else notes.COMPARED_BYTES)
                    if folder is not None
                    else None
                )
                room -= 0 if note is None else len(note.data)
            if note is not None:
                self.notes[name] = note
        return list(before.values()) != list(self.notes.values())

    def find_holder(self, folder: Folder | None, text: str, among: Container[str]) -> str:
        """Return the name of the first note in `among` that contains the text (notes.contains); "" if none does.

        Notes that are not cached whole are read, at most _SEARCHED bytes in all. After that, only the cached beginnings
        of such notes are searched.
        """
        # Such a note has a line that begins with the longest line of the text.
        line = max((line.rstrip() for line in text.split("\n")), key=len, default="").encode("utf-8", "replace")
        budget = _SEARCHED
        for name, note in self.notes.items():
            data = note.data
            if name not in among or note.size < len(line) or (len(data) == note.size and not _has_line(data, line)):
                continue
            if len(data) < note.size and folder is not None:
                budget -= note.size
                data = _whole(folder, name) if budget >= 0 else data
            if _has_line(data, line) and notes.contains(data.decode("utf-8", "replace"), text):
                return name
        return ""

    def _read(self, folder: Folder, name: str, most: int) -> CachedNote | None:
        try:
            fd = folder.open(name, _FLAGS)
        except (OSError, NexusError):
            return None
        try:
            info = os.fstat(fd)
            stamp = _stamp(info)
            return None if stamp is None else CachedNote(self._kind, name, os.read(fd, most), stamp)
        except OSError:
            return None
        finally:
            close_fd(fd)


def _stamp(info: os.stat_result | None) -> tuple[int, int, int] | None:
    """Return (inode, size, mtime), which changes with the file; None for a missing or special file."""
    if info is None or not stat.S_ISREG(info.st_mode):
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns


def _whole(folder: Folder, name: str) -> bytes:
    try:
        return folder.read(name, notes.LIMIT) or b""
    except NexusError:
        return b""


def _has_line(data: bytes, line: bytes) -> bool:
    """Return whether a line of `data` begins with `line`."""
    return b"\n" + line in data or data.removeprefix(_BOM).startswith(line)
