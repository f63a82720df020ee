"""The lock where the platform has no flock: by the package filelock, which polls."""

from __future__ import annotations

import os

from nexus_mcp.errors import LockTimeout, StorageError
from nexus_mcp.store import lock
from nexus_mcp.store.opening import let_go, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    import filelock

    from nexus_mcp.store.folder import Folder


class HeldByPackage(lock.Held):
    """The same lock, with nothing written into its file."""

    __slots__ = ("_lock",)

    def __init__(self, state: Folder, lock: filelock.BaseFileLock, *, created: bool) -> None:
        super().__init__(state, None, created=created)
        self._lock = lock

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._lock.release()
        finally:
            super().__exit__(kind, error, at)


def held_by_package(state: Folder, wait: float) -> HeldByPackage:
    """As lock.held. Raises LockTimeout after `wait` seconds, StorageError."""
    import filelock

    fd, created = lock.opened(state)
    let_go(fd)
    shown = state.show(lock.NAME)
    ours = filelock.FileLock(os.path.join(state.path, lock.NAME), timeout=wait, thread_local=False)
    try:
        ours.acquire(poll_interval=0.005)
    except filelock.Timeout as error:
        raise LockTimeout(shown, wait, None) from error
    except OSError as error:
        raise StorageError(shown, "lock", reason(error)) from error
    return HeldByPackage(state, ours, created=created)
