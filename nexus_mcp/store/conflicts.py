"""Sweep temporary files of dead writers, and keep files that another program saved as copies `conflict-<id>-<name>`.

A file that is exchanged for a new one has a temporary name for a moment. That name records a checksum of the file as
the change read it. So the sweep after a crash knows whether another program saved the file: it keeps a saved file as a
copy, and removes any other one.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from nexus_mcp import log
from nexus_mcp.errors import NexusError, PathRefused, StorageError
from nexus_mcp.store import atomic, paths
from nexus_mcp.store.folder import close_fd, reason

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nexus_mcp.store.folder import Folder

    Mark = tuple[int, int]
    """Size of a file in bytes, and the CRC-32 of the whole file or of its end."""

PREFIX = "conflict-"
MOST = 64
"""The maximum number of copies of one file in its folder. A change that has to keep one more fails."""
WHOLE, END, SAME = "w", "e", "s"
END_BYTES = 4096
MOST_FOLDERS = 100
"""The maximum number of folders of artifacts that are searched for copies, at most DEPTH levels deep."""
MOST_SWEPT_FOLDERS = 1000
DEPTH = 16
NOTES = ("context", "memory", "rules")
MOST_NOTES = 20_000
"""The maximum number of names in a folder of notes that are searched for copies."""
_CHUNK = 1 << 20
_LOW = (1 << 32) - 1
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)


def temporary(name: str, known: Mark, kind: str, new: os.stat_result | None, older: str = "") -> str:
    """Return the temporary name that the old file `name` has between its replacement and its check. Before the
    replacement, which exchanges both names if the system can, the new file has this name.

    `known` is the mark of the old file as the change read it. `kind` says whether its checksum is of the WHOLE file or
    of its END. SAME is WHOLE for a new file with the same content as the old one. `new` is the stat of the new file,
    None for a removal. `older` is the present temporary name of the new file; its random digits are reused.
    """
    mark_of_new = 0 if new is None else _fingerprint(new)
    unique = older[len(atomic.PREFIX) :][:8] or os.urandom(4).hex()
    return f"{atomic.PREFIX}{unique}-{known[0] & _LOW:x}.{kind}.{known[1]:x}.{mark_of_new:x}-{name}"


def _fingerprint(info: os.stat_result) -> int:
    """Return 32 bits that identify a file and its last write, to detect that another program saved the new file."""
    import zlib  # imported late: a shared library

    return zlib.crc32(b"%d %d %d" % (info.st_ino, info.st_size, info.st_mtime_ns))


def is_removable(folder: Folder, name: str) -> bool:
    """Return whether a temporary file of a dead process can be removed. If another program saved it, rename it to a
    copy and return False.

    It can be removed if its name is not from `temporary`, if it is no plain file or empty, if it is the unchanged new
    file (the names were not exchanged), if it has the content that the change had read, or if it is the second name of
    a copy. In a copy of the project, where inodes differ, it counts as the new file if the file to be replaced still
    has the content that the change had read. Raise StorageError.
    """
    parsed = _parse(name)
    if parsed is None:
        return True
    target, known, kind, new = parsed
    seen = folder.look(name)
    if seen is None or _fingerprint(seen) == new:
        return True
    held = mark(folder, name, kind)
    if held is None or held in (known, (0, 0)) or (kind != SAME and mark(folder, target, kind) == known):
        return True
    if seen.st_nlink > 1 and _has_copy(folder, seen):
        return True
    keep(folder, name, target)
    return False


def _has_copy(folder: Folder, file: os.stat_result) -> bool:
    """Return whether a copy is the same file: the temporary name stays when its removal fails, or the process dies,
    after the copy got its name.
    """
    copies = (folder.look(name) for name in folder.names() if is_copy(name))
    return any(copy is not None and os.path.samestat(copy, file) for copy in copies)


def sweep(folder: Folder) -> None:
    """Remove the temporary files that a crash left in this folder. A file that another program saved becomes a copy.

    Needs the lock: while it is held, no other process has a temporary file in the folder. Raise StorageError.
    """
    for name in folder.names():
        if name.startswith(atomic.PREFIX):
            try:
                if is_removable(folder, name):
                    folder.unlink(name)
            except OSError as error:
                seen = folder.look(name)
                if seen is not None and stat.S_ISDIR(seen.st_mode):
                    continue  # not ours; macOS reports a folder as EPERM
                raise StorageError(folder.show(name), "remove the leftover", reason(error)) from error


def keep(folder: Folder, held: str, name: str, id_: str = "") -> str:
    """Rename the file `held` to a copy of `name`; return the new name. Never replaces another file.

    `id_` becomes part of the name, unless it is "" or that name is taken: then random digits do. Raise StorageError,
    with nothing renamed, also if there are MOST copies.
    """
    check_room(folder, name)
    copy = f"{PREFIX}{id_ or os.urandom(8).hex()}-{name}"
    try:
        try:
            atomic.place(folder, held, copy)
        except FileExistsError:
            copy = f"{PREFIX}{os.urandom(8).hex()}-{name}"
            atomic.place(folder, held, copy)
    except OSError as error:
        raise StorageError(folder.show(held), "keep", reason(error)) from error
    warn(folder, copy, name)
    return copy


def add_name(folder: Folder, held: str, name: str) -> None:
    """Give the file `held` a second name, as a copy of `name`, unless there are MOST copies.

    Never raises. Without links there is no copy; the caller gives the file its own name back in any case.
    """
    with suppress(OSError, NexusError):
        check_room(folder, name)
        copy = f"{PREFIX}{os.urandom(8).hex()}-{name}"
        atomic.add_name(folder, held, copy)


def drop_twins(folder: Folder, is_same: Callable[[Folder, str], bool]) -> None:
    """Remove the copies for which `is_same` is true: second names of a file whose content a change has used. Never
    raises.
    """
    with suppress(OSError, NexusError):
        for name in folder.names():
            if name.startswith(PREFIX) and is_same(folder, name):
                folder.unlink(name)


def warn(folder: Folder, copy: str, name: str) -> None:
    """Log a warning with the path of a copy."""
    text = f"{folder.show(copy)} keeps what another program saved in {name} while a change replaced it"
    log.warning(f"{text}. Compare the two, take over what is missing, then move the copy away.")


def check_room(folder: Folder, name: str) -> None:
    """Raise StorageError if there are MOST copies of `name`."""
    copies = [found for found in folder.names() if found.startswith(PREFIX) and found.endswith(f"-{name}")]
    if len(copies) >= MOST:
        raise StorageError(
            folder.show(name),
            "replace",
            f"another program saved it meanwhile, and {MOST} copies of such saves lie beside it already",
            next_step=f"Look at the files {PREFIX}* beside it, move away those that are not needed, then call again.",
        )


def find_all(state: Folder) -> list[str]:
    """Return the paths from the project root of the copies in `.nexus/state` and among its artifacts. Raise
    StorageError, PathRefused.
    """
    found = [state.show(name) for name in state.names() if name.startswith(PREFIX)]
    artifacts = state.child(paths.ARTIFACTS)
    if artifacts is not None:
        with artifacts:
            found += _below(artifacts, DEPTH, [MOST_FOLDERS])
    return sorted(found)


def find_among_notes(nexus: Folder) -> list[str]:
    """Return the paths from the project root of the copies among the notes. Unusable folders count as empty."""
    found = []
    for kind in NOTES:
        with suppress(NexusError):
            folder = nexus.child(kind)
            if folder is not None:
                with folder:
                    found += [folder.show(name) for name in folder.names(MOST_NOTES) if is_copy(name)]
    return sorted(found)


def _below(folder: Folder, depth: int, left: list[int]) -> Iterator[str]:
    left[0] -= 1
    for name in folder.names():
        if is_copy(name):
            yield folder.show(name)
            continue
        seen = folder.look(name) if depth > 1 and left[0] > 0 else None
        if seen is not None and stat.S_ISDIR(seen.st_mode):
            yield from _child(folder, name, depth, left)


def _child(folder: Folder, name: str, depth: int, left: list[int]) -> list[str]:
    try:
        below = folder.child(name)
        if below is None:
            return []
        with below:
            return list(_below(below, depth - 1, left))
    except NexusError:  # most often a file
        return []


def is_copy(name: str) -> bool:
    """Return whether a name among artifacts or notes is that of a copy; any other name belongs to a user."""
    id_, _, rest = name.removeprefix(PREFIX).partition("-")
    return name.startswith(PREFIX) and bool(rest) and len(id_) == 16 and not id_.strip("0123456789abcdef")


def _parse(name: str) -> tuple[str, Mark, str, int] | None:
    parts = name.removeprefix(atomic.PREFIX).split("-", 2)
    fields = parts[1].split(".") if len(parts) == 3 else []
    if len(fields) != 4 or fields[1] not in (WHOLE, END, SAME):
        return None
    try:
        return parts[2], (int(fields[0], 16), int(fields[2], 16)), fields[1], int(fields[3], 16)
    except ValueError:
        return None


def mark(folder: Folder, name: str, kind: str) -> Mark | None:
    """Return the mark of the file `name`, None if it is absent or no plain file. Raise StorageError."""
    try:
        fd = folder.open(name, _READ)
    except (FileNotFoundError, PathRefused):
        return None
    except OSError as error:
        raise StorageError(folder.show(name), "read", reason(error)) from error
    try:
        return mark_of(fd, kind) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError as error:
        raise StorageError(folder.show(name), "read", reason(error)) from error
    finally:
        close_fd(fd)


def mark_of(fd: int, kind: str) -> Mark:
    """Return the mark of an open file: of all its bytes, or of its END. Raise OSError."""
    import zlib  # imported late: a shared library

    size, checksum = os.fstat(fd).st_size, 0
    os.lseek(fd, max(0, size - END_BYTES) if kind == END else 0, os.SEEK_SET)
    while part := os.read(fd, _CHUNK):
        checksum = zlib.crc32(part, checksum)
    return size, checksum


def sweep_all(nexus: Folder, state: Folder, *, notes: bool) -> None:
    """Remove temporary files in both folders, and with `notes` in the folders of the notes. Needs the lock.

    git tracks the folders of the notes and would also track a temporary file there, so a change of other files sweeps
    them, too. Raise StorageError, but never for the folders of the notes: the change does not need them.
    """
    sweep(nexus)
    sweep(state)
    for name in NOTES if notes else ():
        _sweep_child(nexus, name, 1, [1])


def sweep_artifacts(state: Folder) -> None:
    """Remove temporary files below the artifacts. Needs the lock. Call it before the change prepares its own temporary
    files.

    Links are not followed; the sweep ends after `MOST_SWEPT_FOLDERS` folders and at `DEPTH` levels. Never raises: the
    change does not need it.
    """
    left = [MOST_SWEPT_FOLDERS]
    _sweep_child(state, paths.ARTIFACTS, DEPTH, left)


def _sweep_child(parent: Folder, name: str, depth: int, left: list[int]) -> None:
    try:
        folder = parent.child(name)
    except NexusError:
        return  # most often a file
    if folder is None:
        return
    with folder:
        left[0] -= 1
        try:
            sweep(folder)
            names = folder.names()
        except NexusError:
            return
        for below in names if depth > 1 else ():
            if left[0] <= 0:
                return
            _sweep_child(folder, below, depth - 1, left)
