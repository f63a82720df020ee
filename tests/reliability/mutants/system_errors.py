"""Faults in the handling of system errors: ignored, worked around, or reported wrongly."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from nexus_mcp.errors import NexusError, NotAppliedYet, StorageError
from nexus_mcp.store import access, atomic, close_receipt, commit, journal, lock
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.replacement import Replacement
from tests.reliability.mutants.definition import Mutant


def _fsync_passed_over() -> tuple[Any, str, Any]:
    def sync(fd: int) -> None:
        with suppress(OSError):
            os.fsync(fd)

    return atomic, "_sync", sync


def _fsync_again() -> tuple[Any, str, Any]:
    def sync(fd: int) -> None:
        try:
            os.fsync(fd)
        except OSError:
            os.fsync(fd)

    return atomic, "_sync", sync


def _write_passed_over() -> tuple[Any, str, Any]:
    real = atomic.write_all

    def write_all(fd: int, data: bytes) -> None:
        with suppress(OSError):
            real(fd, data)

    return atomic, "write_all", write_all


def _removal_passed_over() -> tuple[Any, str, Any]:
    real = Replacement.install

    def install(self: Replacement, temporary: str, new: Any) -> None:
        try:
            real(self, temporary, new)
        except (OSError, NexusError):
            if new is not None:
                raise

    return Replacement, "install", install


def _rename_or_in_place() -> tuple[Any, str, Any]:
    real = Folder.rename

    def rename(self: Folder, old: str, new: str) -> None:
        try:
            real(self, old, new)
        except OSError:
            data = self.read(old, 1 << 30) or b""
            fd = self.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.write(fd, data)
            os.fsync(fd)
            os.close(fd)
            self.unlink(old)

    return Folder, "rename", rename


def _lock_or_not() -> tuple[Any, str, Any]:
    real = lock.acquire

    def held(state: Folder, *rest: Any) -> lock.HeldLock:
        try:
            return real(state, *rest)
        except StorageError:
            return lock.HeldLock(state, None, created=False)

    return lock, "acquire", held


def _unreadable_is_absent() -> tuple[Any, str, Any]:
    real = Folder.hold

    def hold(self: Folder, name: str, limit: int) -> Any:
        try:
            return real(self, name, limit)
        except StorageError:
            return None

    return Folder, "hold", hold


def _told_as_unchanged() -> tuple[Any, str, Any]:
    real = journal.finish

    def finish(*arguments: Any, **named: Any) -> None:
        try:
            real(*arguments, **named)
        except NotAppliedYet as error:
            raise StorageError(error.path, "write", error.reason) from error

    return commit, "finish", finish


def _told_as_recorded() -> tuple[Any, str, Any]:
    real = commit.write_journaled

    def together(*arguments: Any) -> str | None:
        try:
            return real(*arguments)
        except StorageError as error:
            raise NotAppliedYet(error.path, error.reason) from error

    return commit, "write_journaled", together


def _made_and_left() -> tuple[Any, str, Any]:
    return access, "remove_new", lambda new, held: None


def _receipt_presumed_held() -> tuple[Any, str, Any]:
    real = close_receipt._lock_free

    def locked(state: Folder, name: str) -> int | None:
        try:
            return real(state, name)
        except StorageError:
            return None

    return close_receipt, "_lock_free", locked


MUTANTS = (
    Mutant("fsync-passed-over", "A failed fsync is ignored.", _fsync_passed_over),
    Mutant("fsync-again", "A failed fsync is tried again on the same descriptor.", _fsync_again),
    Mutant("write-passed-over", "A failed write is ignored: the file ends there.", _write_passed_over),
    Mutant("unlink-passed-over", "A file that could not be removed counts as removed.", _removal_passed_over),
    Mutant("rename-or-in-place", "If a rename fails, the file is written in place.", _rename_or_in_place),
    Mutant("lock-or-not", "If the lock fails, the call writes without it.", _lock_or_not),
    Mutant("unreadable-is-absent", "A file that could not be read counts as absent.", _unreadable_is_absent),
    Mutant("told-as-unchanged", "An error after the commit point is reported as one before it.", _told_as_unchanged),
    Mutant("told-as-recorded", "An error before the commit point is reported as one after it.", _told_as_recorded),
    Mutant("made-and-left", "A failed first call does not remove the folders that it made.", _made_and_left),
    Mutant("receipt-presumed-held", "A receipt that cannot be locked counts as held.", _receipt_presumed_held),
)
