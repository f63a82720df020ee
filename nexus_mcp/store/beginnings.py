"""The folders of a workspace that is new: made, confirmed, and taken back when the first call fails."""

from __future__ import annotations

from contextlib import suppress

from nexus_mcp.errors import StorageError
from nexus_mcp.store import lock
from nexus_mcp.store.folder import reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import ExitStack

    from nexus_mcp.store.folder import Folder


def entered(stack: ExitStack, folder: Folder | None) -> Folder | None:
    """The folder, if any, which `stack` closes."""
    return None if folder is None else stack.enter_context(folder)


def made(parent: Folder, name: str, new: list[tuple[Folder, str]]) -> Folder:
    """The folder `name` in `parent`, made when absent, and then added to `new`. Raises PathRefused, StorageError."""
    folder, is_new = parent.make(name)
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


def take_back(new: list[tuple[Folder, str]]) -> None:
    """Remove what this call made, the last first; what somebody else uses by now stays."""
    for parent, name in reversed(new):
        if name == lock.NAME:
            with suppress(OSError):
                parent.unlink(name)
        elif not parent.remove_folder(name):
            return
