"""The folders of a workspace: found, or made, confirmed, and taken back when the first call fails."""

from __future__ import annotations

from contextlib import suppress

from nexus_mcp.errors import FolderGone, NexusError, StorageError
from nexus_mcp.store import atomic, lock, swap
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.opening import reason

IGNORE = ".gitignore"
_IGNORED = b"state/\n"


def found(path: str, opened: list[Folder]) -> tuple[Folder, Folder | None, Folder | None]:
    """The project folder at `path`, its `.nexus` and `.nexus/state`; each is in `opened` as soon as it is open."""
    root = entered(opened, Folder.root(path))
    nexus = root.child(".nexus")
    state = None if nexus is None else entered(opened, nexus).child("state")
    return root, nexus, None if state is None else entered(opened, state)


def entered(opened: list[Folder], folder: Folder) -> Folder:
    opened.append(folder)
    return folder


def close(opened: list[Folder]) -> None:
    while opened:
        opened.pop().close()


def made(parent: Folder, name: str, new: list[tuple[Folder, str]]) -> Folder:
    """The folder `name` in `parent`, made when absent, and then added to `new`; its name is not synced yet.

    Raises PathRefused, StorageError.
    """
    try:
        folder, is_new = parent.make(name, confirm=False)
    except StorageError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise FolderGone(parent.shown) from error
        raise
    if is_new:
        new.append((parent, name))
    return folder


def confirm_all(*folders: Folder) -> None:
    """Sync the folders of a new workspace: whoever made them may have died before doing so. Raises StorageError."""
    for folder in folders:
        try:
            folder.sync()
        except OSError as error:
            raise StorageError(folder.shown or folder.path, "sync", reason(error)) from error


def sweep(nexus: Folder, state: Folder, *, notes: bool) -> None:
    """leftovers.sweep, which is not loaded at the start. Raises StorageError, also where it cannot be loaded."""
    try:
        from nexus_mcp.store import leftovers
    except (ImportError, OSError) as error:
        raise StorageError(state.shown, "look for what was left in", str(error) or type(error).__name__) from error
    leftovers.sweep(nexus, state, notes=notes)


def take_back(new: list[tuple[Folder, str]], held: lock.Held | None) -> None:
    """Remove what this call made, the last first; what somebody else uses by now stays."""
    if held is not None and not held.is_ours():
        return
    for parent, name in reversed(new):
        if name == lock.NAME:
            with suppress(OSError):
                parent.unlink(name)
        else:
            if name == "state":
                _forget(parent)
            if not parent.remove_folder(name):
                return


def _forget(nexus: Folder) -> None:
    """Remove what was derived on the way to a first write that failed, so that its folder can go."""
    from nexus_mcp.store.history import cache

    with suppress(OSError, NexusError):
        state = nexus.child("state")
        if state is not None:
            with state:
                cache.remove(state)


def ignore(nexus: Folder, held: lock.Held) -> bool:
    """Write `.gitignore`, which comes with the first write, when it is absent; whether it was.

    Its name is left to be synced with all else that is new. Raises StorageError, PathRefused.
    """
    if nexus.check_plain(IGNORE):
        return False
    held.check()
    try:
        temporary = atomic.prepare(nexus, [_IGNORED])
        try:
            swap.place(nexus, temporary, IGNORE)
        except OSError as error:
            nexus.unlink(temporary)
            if isinstance(error, FileExistsError):  # somebody has written one meanwhile
                return False
            raise
    except OSError as error:
        raise StorageError(nexus.show(IGNORE), "write", reason(error)) from error
    return True


def unignore(nexus: Folder) -> None:
    """Take that back, because the write which it came with failed. What somebody wrote into it since stays."""
    with suppress(OSError, NexusError):
        if nexus.read(IGNORE, len(_IGNORED)) == _IGNORED:
            nexus.unlink(IGNORE)
