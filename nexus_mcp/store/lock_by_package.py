"""The lock where the platform has no flock: by the package filelock, which polls."""

from __future__ import annotations

from contextlib import contextmanager

from nexus_mcp.errors import LockTimeout, StorageError
from nexus_mcp.store.folder import reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def held_by_package(path: str, shown: str, wait: float) -> Iterator[None]:
    """Hold the lock file at `path`, `shown` in messages. Raises LockTimeout after `wait` seconds, StorageError."""
    import filelock

    lock = filelock.FileLock(path, timeout=wait, thread_local=False)
    try:
        lock.acquire(poll_interval=0.005)
    except filelock.Timeout as error:
        raise LockTimeout(shown, wait, None) from error
    except OSError as error:
        raise StorageError(shown, "lock", reason(error)) from error
    try:
        yield
    finally:
        lock.release()
