"""The notes of a folder with their beginnings: read once, and anew only where they changed since.

With a thousand notes reading them is what a tag costs. So it is done before the lock is taken; under it each name is
only looked at.
"""

from __future__ import annotations

import os
import stat

from nexus_mcp.errors import NexusError
from nexus_mcp.knowledge import notes, tag_line
from nexus_mcp.knowledge.index import names_of
from nexus_mcp.knowledge.merge import Note
from nexus_mcp.store.opening import let_go

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from nexus_mcp.store.folder import Folder

KEPT = 1 << 15
"""Bytes of a note that are kept while a message is looked at: nearly all notes are smaller."""
_ALL = 1 << 25  # bytes kept of all notes together; beyond that the beginnings that are compared
_SEARCHED = 1 << 26  # bytes read for one text of notes that are not kept whole
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)  # a pipe of that name must not keep us waiting
_BOM = b"\xef\xbb\xbf"


class Scanned(Note):
    """A note as it was read: `data` is its beginning, `size` that of the whole."""

    __slots__ = ("data", "name", "stamp")

    def __init__(self, kind: str, name: str, data: bytes, stamp: tuple[int, int, int]) -> None:
        tags = tag_line.read(data[: tag_line.FIRST_BYTES])
        head = data[: notes.COMPARED].removeprefix(_BOM)
        text = head.partition(b"\n")[2] if tags else head
        super().__init__(f"{kind}/{name}", tags, text.decode("utf-8", "replace"))
        self.name = name
        self.data = data
        self.stamp = stamp

    @property
    def size(self) -> int:
        return self.stamp[1]


class Scan:
    """The notes of the folder `kind`, by name. One that cannot be read is left out: that is told where it is wanted."""

    __slots__ = ("_kind", "notes")

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self.notes: dict[str, Scanned] = {}

    def refresh(self, folder: Folder | None) -> bool:
        """Read what is new in the folder, or changed; whether anything is. Raises StorageError, StateError."""
        before, self.notes = self.notes, {}
        room = _ALL - sum(len(note.data) for note in before.values())
        for name in names_of(folder) if folder is not None else ():
            note = before.get(name)
            if note is None or folder is None or _stamp(folder.look(name)) != note.stamp:
                note = self._read(folder, name, KEPT if room > 0 else notes.COMPARED) if folder is not None else None
                room -= 0 if note is None else len(note.data)
            if note is not None:
                self.notes[name] = note
        return list(before.values()) != list(self.notes.values())

    def holder(self, folder: Folder | None, text: str, among: Container[str]) -> str:
        """The first of the notes `among` that has the text already (notes.has); "" when none has."""
        # The longest line of the text is a line of such a note, too.
        line = max((line.rstrip() for line in text.split("\n")), key=len, default="").encode("utf-8", "replace")
        left = _SEARCHED
        for name, note in self.notes.items():
            data = note.data
            if name not in among or note.size < len(line) or (len(data) == note.size and not _has_line(data, line)):
                continue
            if len(data) < note.size and folder is not None:
                left -= note.size
                data = _whole(folder, name) if left >= 0 else data
            if _has_line(data, line) and notes.has(data.decode("utf-8", "replace"), text):
                return name
        return ""

    def _read(self, folder: Folder, name: str, most: int) -> Scanned | None:
        try:
            fd = folder.open(name, _FLAGS)
        except (OSError, NexusError):
            return None
        try:
            info = os.fstat(fd)
            stamp = _stamp(info)
            return None if stamp is None else Scanned(self._kind, name, os.read(fd, most), stamp)
        except OSError:
            return None
        finally:
            let_go(fd)


def _stamp(info: os.stat_result | None) -> tuple[int, int, int] | None:
    """What changes with a file, None for what is no plain one."""
    if info is None or not stat.S_ISREG(info.st_mode):
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns


def _whole(folder: Folder, name: str) -> bytes:
    try:
        return folder.read(name, notes.LIMIT) or b""
    except NexusError:
        return b""


def _has_line(data: bytes, line: bytes) -> bool:
    """Whether a line of `data` begins with `line`."""
    return b"\n" + line in data or data.removeprefix(_BOM).startswith(line)
