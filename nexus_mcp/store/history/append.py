"""Append a cycle to history.json without changing a byte of the cycles before it."""

from __future__ import annotations

import os
from contextlib import suppress

from nexus_mcp import log
from nexus_mcp.state.history import plan_id
from nexus_mcp.store import atomic, conflicts
from nexus_mcp.store.codec import pretty
from nexus_mcp.store.folder import close_fd
from nexus_mcp.store.history import EMPTY, NAME, SHOWN, identity
from nexus_mcp.store.history import index as history_index
from nexus_mcp.store.history.index import NO_DIGEST, digest
from nexus_mcp.store.replacement import ChangedMeanwhile, Original, Replacement

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.archive import Archive

    Part = bytes | Callable[[int], None]


class Growth:
    """The history of `archive` with the new `cycle` at its end. Raise OSError."""

    __slots__ = ("_added", "_archive", "_closing", "_cut", "_cycle", "_is_apart", "_made", "_rest", "_span", "_tail")

    def __init__(self, archive: Archive, cycle: dict[str, Any]) -> None:
        index = archive.index
        text = "\n".join(f"    {line}" for line in pretty(cycle).split("\n"))
        # The white space of an empty array is dropped. If the array has cycles, the text after the last one stays.
        before, after = (",\n", "") if len(index) else ("\n", "\n  ")
        self._cut = index.span(len(index) - 1)[1] if len(index) else index.opening
        rest = self._cut if len(index) else index.closing
        self._rest = EMPTY.encode()[rest:] if archive.fd is None else _from(archive.fd, rest)
        if not self._rest.endswith(b"\n"):
            self._rest += b"\n"
        self._added = f"{before}{text}{after}".encode("utf-8", "backslashreplace")
        self._span = self._cut + len(before) + len("    "), self._cut + len(self._added) - len(after)
        self._closing = index.closing - rest + self._cut + len(self._added)
        self._archive = archive
        self._cycle = cycle
        self._made: os.stat_result | None = None
        self._tail = -1
        self._is_apart = False

    @property
    def size(self) -> int:
        """Return the size of the new file in bytes."""
        return self._cut + len(self._added) + len(self._rest)

    def parts(self) -> list[Part]:
        """Return the parts of the new file: bytes, or functions that write to a descriptor. The old cycles come first.

        The last part writes nothing. It raises ChangedMeanwhile if the old file is not the copied one any more, sets
        the time of the new file, and closes the old one.
        """
        return [self._copy, self._added, self._rest, self._finish]

    def is_current(self) -> bool:
        """Return whether the file with the history's name still is the copied one. Raise OSError, NexusError."""
        read, nexus = self._archive.index.identity, self._archive.nexus
        assert nexus is not None
        found = _stat(nexus)
        return found is None if read is None else found is not None and identity.of(found) == read

    def prepare(self) -> str:
        """Write and sync the new file under a temporary name; return the name. Raise the errors of `atomic.prepare`."""
        nexus = self._archive.nexus
        assert nexus is not None
        return atomic.prepare(nexus, self.parts(), nexus.plain(NAME))

    def install(self, temporary: str) -> None:
        """Replace the history by the file that was prepared from `parts`, durably, and add the cycle to the index.

        Raise ChangedMeanwhile, StorageError, OSError, SyncFailed.
        """
        nexus = self._archive.nexus
        assert nexus is not None
        copied = CopiedOriginal(self._archive.index.identity, self._archive.index.tail)
        Replacement(nexus, NAME, copied).install(temporary, (self.size, self._tail))
        # `add_to_index` looks at the file before the sync, which may take long. If a program writes to the file before
        # that look, and sets the time of the file back, only a change near the end of the file is detected.
        self.add_to_index()
        atomic.confirm(nexus)

    def add_to_index(self) -> None:
        """Add the cycle to the index after the file was installed. Never raises: without the cycle in the index the
        next call reads the file again.
        """
        try:
            self._note()
        except Exception as error:  # noqa: BLE001 - the cycle is in the history, so the call must succeed
            log.warning(f"{SHOWN} is read again by the next call: {type(error).__name__}: {error}")

    def _copy(self, fd: int) -> None:
        source = self._archive.fd
        if source is None:
            atomic.write_all(fd, EMPTY.encode()[: self._cut])
        else:
            atomic.copy_range(source, fd, self._cut)

    def _finish(self, fd: int) -> None:
        old, nexus = self._archive.fd, self._archive.nexus
        assert nexus is not None
        cut = self._cut
        before = EMPTY.encode()[:cut] if old is None else atomic.read_range(old, max(0, cut - identity.TAIL), cut)
        self._tail = identity.checksum(before + self._added + self._rest)
        if old is None:
            same = not nexus.check_plain(NAME)
        else:
            same = identity.of(os.fstat(old)) == self._archive.index.identity and nexus.is_file(NAME, old)
        if not same:
            raise ChangedMeanwhile(SHOWN)  # also after a new or removed hard link, which changes a time of the file
        with suppress(OSError):
            self._is_apart = identity.set_apart(fd)
        self._made = os.fstat(fd)
        self._archive.release()

    def _note(self) -> None:
        nexus, made = self._archive.nexus, self._made
        if nexus is None or made is None:
            return
        fd = nexus.open(NAME, os.O_RDONLY)
        try:
            now = os.fstat(fd)
            tail = identity.tail(fd, now.st_size)
        finally:
            close_fd(fd)
        if tail != self._tail or not identity.is_as_read(identity.of(made), identity.of(now)):
            return
        index = self._archive.index.copy()
        begin, end = self._span
        mark = digest(self._added[: end - self._cut]) if now.st_size >= history_index.CACHE_FROM_BYTES else NO_DIGEST
        index.add(begin, end, self._cycle["completed_at"], plan_id(self._cycle), mark)
        index.closing = self._closing
        index.identity, index.tail = identity.of(now), tail
        index.settled = self._is_apart or identity.is_settled(index.identity)
        self._archive.put(index)


class CopiedOriginal(Original):
    """The copied history: too large for memory, so it is recognized by its times and its end."""

    __slots__ = ("_read", "_tail")

    def __init__(self, read: identity.Identity | None, tail: int) -> None:
        super().__init__()
        self._read = read
        self._tail = tail

    @property
    def is_there(self) -> bool:
        return self._read is not None

    def check(self, folder: Folder, name: str) -> None:
        if self._read is None:
            if folder.look(name) is None:
                return
        elif self.is_at(folder, name):
            return
        raise ChangedMeanwhile(folder.show(name))

    def is_at(self, folder: Folder, name: str) -> bool:
        seen = folder.look(name)
        if self._read is None or seen is None or not identity.is_as_read(self._read, identity.of(seen)):
            return False
        return conflicts.mark(folder, name, conflicts.END) == (self._read[2], self._tail)

    def temporary(self, name: str, after: object, new: os.stat_result | None, older: str = "") -> str:  # noqa: ARG002
        size = 0 if self._read is None else self._read[2]
        return conflicts.temporary(name, (size, self._tail), conflicts.END, new, older)

    def saved_since(self) -> None:
        """Return None: later writes in place to the replaced file are not detected."""


def _stat(nexus: Folder) -> os.stat_result | None:
    try:
        fd = nexus.open(NAME, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return os.fstat(fd)
    finally:
        close_fd(fd)


def _from(fd: int, begin: int) -> bytes:
    return atomic.read_range(fd, begin, os.fstat(fd).st_size)
