"""A file in a folder of its own, put there whole: the folder of an agent without its file would be a fault."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from nexus_mcp.catalog.bounds import YAML_BYTES
from nexus_mcp.errors import NexusError, NotConfirmed, StorageError
from nexus_mcp.store import atomic
from nexus_mcp.store.opening import reason
from nexus_mcp.store.original import ChangedMeanwhile, Original, read
from nexus_mcp.store.replacing import Replacement

if TYPE_CHECKING:
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import Held


def original_at(nexus: Folder, path: str) -> Original:
    """Read the file at `path` from `nexus`. Raises PathRefused, StorageError, StateError."""
    *folders, name = path.split("/")
    with ExitStack() as stack:
        folder = nexus
        for part in folders:
            below = folder.child(part)
            if below is None:
                return Original()
            folder = stack.enter_context(below)
        return read(folder, name, YAML_BYTES)


def place(nexus: Folder, path: str, original: Original, data: bytes, held: Held) -> None:
    """Write the file at `path` from `nexus`, at most two folders below, at once for every reader.

    Only under the lock. Raises ChangedMeanwhile where the file is not the `original` any more, PathRefused,
    StorageError with nothing changed, NotConfirmed.
    """
    *folders, name = path.split("/")
    with ExitStack() as stack:
        folder, new = nexus, False
        for part in folders[:-1]:
            below, new = nexus.make(part)
            folder = stack.enter_context(below)
        try:
            own = folder.child(folders[-1]) if folders else None
            if folders and own is None:
                if original.is_there:
                    raise ChangedMeanwhile(folder.show(path))
                _sweep(folder)
                _put_with_folder(folder, folders[-1], name, data, held)
                return
            target = stack.enter_context(own) if own is not None else folder
            atomic.sweep(target)
            Replacement(target, name, original).put(data, held.check)()
        except NotConfirmed:
            raise
        except BaseException:
            if new:
                nexus.remove_folder(folders[0])
            raise


def take_away(nexus: Folder, path: str, original: Original, held: Held) -> bool:
    """Remove the file at `path` from `nexus`, and the folder that it has for itself, at once for every reader.

    False, with nothing changed, when there is something else in that folder, or the file is not the `original` any
    more. Only under the lock. Raises ChangedMeanwhile, PathRefused, StorageError with nothing changed, NotConfirmed.
    """
    *folders, name = path.split("/")
    held.check()
    if not folders:
        Replacement(nexus, name, original).put(None)()
        return True
    with ExitStack() as stack:
        try:
            above = nexus.child(folders[0])
            own = None if above is None else stack.enter_context(above).child(folders[1])
            if above is None or own is None:
                return False
            if not _is_gone(above, folders[1], stack.enter_context(own), (name, original)):
                return False
        except OSError as error:
            raise StorageError(nexus.show(path), "remove", reason(error)) from error
        try:
            atomic.confirm(above)
        except atomic.Unsynced as error:
            raise NotConfirmed(nexus.show(path), reason(error.cause)) from error
    nexus.remove_folder(folders[0])  # stays when there is more in it
    return True


def _is_gone(above: Folder, final: str, folder: Folder, file: tuple[str, Original]) -> bool:
    """Remove a folder with nothing but the file in it; whether it was so. Raises OSError, StorageError.

    `file`: its name, and the file as it was read.
    """
    name, original = file
    if folder.names() != [name]:
        return False
    temporary = f"{atomic.PREFIX}{os.urandom(8).hex()}"
    above.rename(final, temporary)  # without its file it would be a fault
    if folder.names() != [name] or not original.is_at(folder, name):
        above.rename(temporary, final)
        return False
    _empty(above, temporary, folder)
    return True


def _put_with_folder(above: Folder, final: str, name: str, data: bytes, held: Held) -> None:
    """The file within a new folder, which gets its name only when the file is in it."""
    temporary = f"{atomic.PREFIX}{os.urandom(8).hex()}"
    with above.make(temporary)[0] as folder:
        try:
            atomic.put(folder, name, data, held.check)
            try:
                above.rename(temporary, final)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):  # another process made it, and it is not empty
                    raise ChangedMeanwhile(above.show(final)) from error
                raise StorageError(above.show(final), "make", reason(error)) from error
        except BaseException:
            _empty(above, temporary, folder)
            raise
    try:
        atomic.confirm(above)
    except atomic.Unsynced as error:
        raise NotConfirmed(f"{above.show(final)}/{name}", reason(error.cause)) from error


def _sweep(folder: Folder) -> None:
    """Remove the folders that a crash left before they had a name. Raises PathRefused, StorageError."""
    for name in folder.names():
        if name.startswith(atomic.PREFIX):
            left = folder.child(name)
            if left is not None:
                with left:
                    _empty(folder, name, left)


def _empty(above: Folder, name: str, folder: Folder) -> None:
    """Remove a folder of ours and the files in it, as far as that goes: it is in nobody's way."""
    try:
        for file in folder.names():
            folder.unlink(file)
    except (OSError, NexusError):
        return
    above.remove_folder(name)
