"""Replace or remove a file that was read before, so that no save of another program in between is lost.

`Original` is the file as a change read it. Inode, size and times show most saves, but only the bytes show all: a file
that is written again in place, within a tick of the clock, may have the same inode, size and times.

The file is checked right before it is replaced: if another program saved it, the change runs again on the saved file.
Then the names of the old and the new file are exchanged in one step. The old file, even if saved after that check, now
has a temporary name, and is checked again under this name. A saved file gets its own name back, and the change runs
again. With `forward` the change does not run again, and the saved file is kept beside the new one
(docs/decisions/0070). An editor that is still writing continues in the kept file. If names cannot be exchanged, one
kind of save can be lost (`Replacement._rename`).
"""

from __future__ import annotations

import os
from contextlib import suppress

from nexus_mcp import log
from nexus_mcp.errors import NexusError, NotConfirmed, StateError, StorageError
from nexus_mcp.store import atomic, conflicts, paths
from nexus_mcp.store.folder import AT, bits_of, close_fd, reason

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import EllipsisType
    from typing import TypeVar

    from nexus_mcp.store.conflicts import Mark
    from nexus_mcp.store.folder import Folder

    New = bytes | Mark
    """The content of the new file: its bytes, or its size and a checksum of its end."""
    Result = TypeVar("Result")

_CHUNK = 1 << 20


class ChangedMeanwhile(StorageError):
    """Another program saved, created or removed the file between our read and our replacement."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path,
            "replace",
            "another program keeps changing it",
            next_step="Find out which program writes to it (an editor, git, a script); call again when it is done.",
        )


class Original:
    """A file as it was read. `data` are the bytes, None if there was no file, or `...` if they are not known: then only
    the stat and, if it can be read, the end of the file are compared. `info` is its stat from before the read.

    The file stays open until `close`, or until no object refers to this one. To free the disk space of a replaced file
    takes 20 % of the time of a short change, so the space is freed after the response was sent. `checksum` is the
    CRC-32 of the bytes, None if it is not known.
    """

    __slots__ = ("_end", "_fd", "_limit", "_seen", "checksum", "data", "info", "is_foreign")

    def __init__(
        self,
        data: bytes | EllipsisType | None = None,
        fd: int | None = None,
        info: os.stat_result | None = None,
        limit: int = 0,
    ) -> None:
        self.data = data
        self.checksum: int | None = None
        self.is_foreign = False
        self._fd = fd
        self.info = info
        self._limit = limit
        self._seen: os.stat_result | None = None
        self._end = _end(fd) if data is ... and fd is not None else None

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            close_fd(self._fd)
            self._fd = None

    def content(self) -> bytes | None:
        """Return the bytes of a file that was read whole; None for any other file, or if there was none."""
        return None if self.data is ... else self.data

    @property
    def is_there(self) -> bool:
        """Return whether there was a file."""
        return self.info is not None

    def is_file(self, folder: Folder, name: str) -> bool:
        """Return whether `name` is a name of the file that was read. Raise StorageError."""
        seen = folder.look(name)
        return seen is not None and self.info is not None and os.path.samestat(seen, self.info)

    def disown(self) -> None:
        """Treat the file as a save of another program: it is kept, whatever its content is."""
        self.is_foreign = True

    def check(self, folder: Folder, name: str) -> None:
        """Raise ChangedMeanwhile if the file differs from the one that was read. The bytes, if they are known, are
        compared only if the stat differs. Raise StateError, PathRefused, StorageError.
        """
        seen = folder.look(name)
        if seen is None or self.info is None:
            if seen is None and self.info is None:
                return
            raise ChangedMeanwhile(folder.show(name))
        if _identity(seen) == _identity(self.info):
            return
        if self.data is ... or self.data is None:
            raise ChangedMeanwhile(folder.show(name))
        now = read(folder, name, self._limit)
        if now.data != self.data or now.info is None or bits_of(now.info) != bits_of(self.info):
            raise ChangedMeanwhile(folder.show(name))
        # The file was touched, or saved with the same bytes: hold the present file from now on.
        now._fd, self._fd, self.info = self._fd, now._fd, now.info

    def is_at(self, folder: Folder, name: str) -> bool:
        """Return whether `name` is the file that was read, unchanged and not disowned. Raise OSError, StorageError."""
        seen, known = folder.look(name), self.info
        self._seen = seen
        if (
            seen is None
            or known is None
            or self.is_foreign
            or not os.path.samestat(seen, known)
            or seen.st_size != known.st_size
        ):
            return False
        return seen.st_mtime_ns == known.st_mtime_ns if self._fd is None else self.is_unwritten()

    @property
    def is_chmodded(self) -> bool:
        """Return whether the permissions, owner or group of the file, at the last call of `is_at`, differ from those at
        the read.
        """
        seen, known = self._seen, self.info
        if seen is None or known is None:
            return False
        return (seen.st_mode, seen.st_uid, seen.st_gid) != (known.st_mode, known.st_uid, known.st_gid)

    def is_unwritten(self) -> bool:
        """Return whether the file still has the bytes that were read; True if it is not open. Raise OSError."""
        if self._fd is None or self.info is None:
            return True
        size, data = self.info.st_size, self.data
        if data is ... or data is None:
            return os.fstat(self._fd).st_mtime_ns == self.info.st_mtime_ns and _end(self._fd) == self._end
        if size <= _CHUNK:
            return os.pread(self._fd, size + 1, 0) == data  # if `os` lacks pread, the file is not held open
        return os.fstat(self._fd).st_size == size and all(
            atomic.read_up_to(self._fd, at, _CHUNK) == data[at : at + _CHUNK] for at in range(0, size, _CHUNK)
        )

    def saved_since(self) -> bytes | None:
        """Return the file's present content; None if it was not written since the read, or is closed. Raise OSError."""
        if self._fd is None or self.is_unwritten():
            return None
        return atomic.read_up_to(self._fd, 0, os.fstat(self._fd).st_size)

    def temporary(self, name: str, after: object, new: os.stat_result | None, older: str = "") -> str:
        """Return the temporary name (conflicts.py) of the file between its replacement and its check. `after` and `new`
        are the content and the stat of the file that replaces it; `older` is the temporary name of that file.
        """
        if self.is_foreign:
            return conflicts.temporary(name, (-1, 0), conflicts.SAME, new, older)  # no file matches this
        if self.data is ... or self.data is None:
            return conflicts.temporary(name, self._end or (0, 0), conflicts.END, new, older)
        kind = conflicts.SAME if after == self.data else conflicts.WHOLE
        return conflicts.temporary(name, (len(self.data), self._sum(self.data)), kind, new, older)

    def _sum(self, data: bytes) -> int:
        if self.checksum is not None:
            return self.checksum
        import zlib  # imported late: a shared library

        return zlib.crc32(data)


def read(folder: Folder, name: str, limit: int) -> Original:
    """Return the file `name`; an Original without data if it is absent. Raise the errors of `Folder.read`."""
    found = folder.hold(name, limit)
    if found is None:
        return Original(limit=limit)
    data, fd, info = found
    if not AT:  # Windows replaces no file that is open
        close_fd(fd)
    return Original(data, fd if AT else None, info, limit)


def read_any(folder: Folder, name: str, limit: int) -> Original:
    """Read like `read`, but without the bytes of a file that is larger than `limit`, or that cannot be read.

    Raise PathRefused, StorageError.
    """
    try:
        return read(folder, name, limit)
    except (StateError, StorageError) as error:
        info = folder.look(name)
        if not folder.check_plain(name) or info is None:
            raise
        try:
            fd = folder.open(name, os.O_RDONLY) if AT and isinstance(error, StateError) else None
        except OSError as wrong:
            raise StorageError(folder.show(name), "read", reason(wrong)) from wrong
        return Original(..., fd, info if fd is None else os.fstat(fd), limit)


def _identity(info: os.stat_result) -> tuple[int, ...]:
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _end(fd: int) -> tuple[int, int]:
    return conflicts.mark_of(fd, conflicts.END)


TRIES = 8
"""The maximum number of times that a change runs if another program saves its file each time. Then the call fails."""


def retry(change: Callable[[], Result]) -> Result:
    """Return the result of `change`, which is called until it does not raise ChangedMeanwhile, at most TRIES times."""
    for _ in range(TRIES - 1):
        try:
            return change()
        except ChangedMeanwhile:
            continue
    return change()


def put_unsynced(
    folder: Folder,
    read: tuple[str, Original],
    data: bytes | None,
    check: Callable[[], None] | None,
    forward: str | None,
) -> str:
    """Call `Replacement.put_unsynced`; return the name of the copy, "" for none. `read`: as for commit.write_one."""
    replacement = Replacement(folder, *read, forward)
    replacement.put_unsynced(data, check)
    return replacement.copy


class Replacement:
    """The replacement of the file `name` in `folder`, which was read as `original`.

    `forward` is the id of a change that continues even after another program saved the file; that save is kept as a
    copy with this id in its name. `copy` is the name of that copy, "" while there is none.
    """

    __slots__ = ("_folder", "_forward", "_name", "_original", "copy")

    def __init__(self, folder: Folder, name: str, original: Original, forward: str | None = None) -> None:
        self._folder = folder
        self._name = name
        self._original = original
        self._forward = forward
        self.copy = ""

    def put(self, data: bytes | None, check: Callable[[], None] | None = None) -> None:
        """Replace the file by `data`, or remove it if `data` is None.

        Raise ChangedMeanwhile, StateError, PathRefused and StorageError with nothing changed, NotConfirmed.
        """
        self.put_unsynced(data, check)
        atomic.confirm_file(self._folder, self._name)

    def put_unsynced(self, data: bytes | None, check: Callable[[], None] | None = None) -> None:
        """Replace the file as `put` does, and leave the sync of the folder (atomic.confirm_file) to the caller."""
        folder, name, temporary = self._folder, self._name, ""
        try:
            if data is not None:
                temporary = self.prepare(data)
            try:
                if check is not None:
                    check()
                self._check()
            except BaseException:
                if temporary:
                    folder.unlink(temporary)
                raise
            self.install(temporary, data)
        except OSError as error:
            raise StorageError(folder.show(name), "write", reason(error)) from error
        except atomic.SyncFailed as error:
            raise NotConfirmed(folder.show(name), reason(error.cause)) from error

    def _check(self) -> None:
        """Check the file once more before it is replaced; with `forward`, only a file whose bytes are not known. Raise
        ChangedMeanwhile, StateError, PathRefused, StorageError.
        """
        original = self._original
        if self._forward is None:
            original.check(self._folder, self._name)
        elif original.data is ...:  # later only its end can be compared; its times show changes of the rest
            try:
                original.check(self._folder, self._name)
            except ChangedMeanwhile:
                original.disown()

    def prepare(self, data: bytes) -> str:
        """Write and sync the new file under a temporary name; return the name. Raise the errors of atomic.prepare."""
        return atomic.prepare(self._folder, [data], self._original.info or paths.mode_of_new(self._folder.path))

    def install(self, temporary: str, new: New | None) -> None:
        """Replace the file by the prepared one, or remove it if `new` is None.

        Raise ChangedMeanwhile with nothing changed: without `forward` after any save; with it only if the file appeared
        or disappeared, or was saved and names cannot be exchanged. Raise OSError, StorageError with nothing changed;
        atomic.SyncFailed if the replaced file should get its name back, but cannot.
        """
        folder, name, original = self._folder, self._name, self._original
        if new is None and not original.is_there:
            return
        try:
            if not original.is_there:
                atomic.place(folder, temporary, name)
                return
            held = original.temporary(name, new, None if new is None else folder.look(temporary), temporary)
            folder.rename(name if new is None else temporary, held)
            temporary = held
            if new is not None and not atomic.exchange(folder, held, name):
                self._rename(held, new)
                return
        except OSError as error:
            folder.unlink(temporary)
            if isinstance(error, (FileExistsError, FileNotFoundError)):
                raise ChangedMeanwhile(folder.show(name)) from error
            raise
        self._check_replaced(temporary, new)

    def _check_replaced(self, held: str, new: New | None) -> None:
        """Check the replaced file, which now has the name `held`. Raise the errors of `install`, but no OSError."""
        folder, name, is_forward = self._folder, self._name, self._forward is not None
        try:
            # New permissions count as a save, too, because the new file has the old permissions; but not if the change
            # can only go forward.
            if self._original.is_at(folder, held) and (is_forward or new is None or not self._original.is_chmodded):
                self._let_go(held)
                return
            if self._forward is not None:
                self.copy = conflicts.keep(folder, held, name, self._forward)
                return
        except (OSError, NexusError) as error:
            self._put_back(held, new)
            if isinstance(error, OSError):
                raise StorageError(folder.show(name), "replace", reason(error)) from error
            raise
        # The save also gets a second name, as a copy, until a later try has used it. Another program may load our file
        # at this moment and save it over the save that is put back: then only the copy has that save.
        if new is not None:
            conflicts.add_name(folder, held, name)
        self._put_back(held, new)
        raise ChangedMeanwhile(folder.show(name))

    def _let_go(self, held: str) -> None:
        """Remove the old file, which has the name `held`. Raise OSError."""
        self._folder.unlink(held)
        # A second name may be the copy from an earlier try, which put a save back. This try has used that save, so the
        # copy is not needed. With `forward` there was no such try: the second name may be a user's own link.
        info = self._original.info
        if info is not None and info.st_nlink > 1 and self._forward is None:
            conflicts.drop_twins(self._folder, self._original.is_file)

    def _put_back(self, held: str, new: New | None) -> None:
        """Give the replaced file its name back. Another file saved under that name meanwhile is kept as a copy.

        Raise atomic.SyncFailed if the file cannot be put back, because then the change is made. Raise StorageError.
        """
        folder, name = self._folder, self._name
        try:
            is_exchanged = False
            with suppress(FileNotFoundError):  # another program removed our file
                is_exchanged = new is not None and atomic.exchange(folder, held, name)
            if not is_exchanged:
                try:
                    atomic.place(folder, held, name)
                except FileExistsError:
                    conflicts.keep(folder, held, name)
            elif new is not None and not _holds(folder, held, new):
                conflicts.keep(folder, held, name)
            else:
                with suppress(OSError):  # the next change deletes it
                    folder.unlink(held)
        except OSError as error:
            raise atomic.SyncFailed(error) from error

    def _rename(self, temporary: str, new: New) -> None:
        """Replace the file if names cannot be exchanged: check as late as possible, rename, and keep what another
        program then writes in place.

        If links are possible, the old file first gets a second name, so that a save in place is not lost, even if a
        later step fails or the process dies. A file that another program renames to `name` right before our rename is
        lost. Raise the errors of `install`.
        """
        folder, name, original = self._folder, self._name, self._original
        aside = ""
        try:
            if original.is_foreign:
                self.install("", None)
                atomic.place(folder, temporary, name)
                return
            original.check(folder, name)
            second = original.temporary(name, new, folder.look(temporary))
            aside = second if atomic.add_name(folder, name, second) else ""
            if aside and not original.is_at(folder, aside):
                raise ChangedMeanwhile(folder.show(name))
            folder.rename(temporary, name)
        except (OSError, NexusError):
            for left in (temporary, aside):
                if left:
                    folder.unlink(left)
            raise
        try:
            if aside and original.is_at(folder, aside):
                self._let_go(aside)
            elif aside:
                self.copy = conflicts.keep(folder, aside, name, self._forward or "")
            else:
                self._keep_saved()
        except (OSError, NexusError) as error:  # the change is made, and the next sweep keeps the other program's save
            folder.is_untidy = True
            log.warning(f"{folder.show(aside or name)}: {error}")

    def _keep_saved(self) -> None:
        """Keep a copy of the old, now nameless file if it was written since the read. Raise OSError, NexusError."""
        folder, name = self._folder, self._name
        saved = self._original.saved_since()
        if saved is not None:
            copy = f"{conflicts.PREFIX}{self._forward or os.urandom(8).hex()}-{name}"
            atomic.place(folder, atomic.prepare(folder, [saved], folder.plain(name)), copy)
            conflicts.warn(folder, copy, name)
            self.copy = copy


def _holds(folder: Folder, name: str, new: New) -> bool:
    if isinstance(new, tuple):
        return conflicts.mark(folder, name, conflicts.END) == new
    try:
        return folder.read(name, len(new)) == new
    except StateError:  # the file is larger than `new`
        return False
