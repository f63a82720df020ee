"""Faults in the writing of files: syncs, their order, and the lock."""

from __future__ import annotations

import os
from typing import Any

from nexus_mcp.store import access, atomic, close_receipt, codec, commit, journal, lock, oplog
from nexus_mcp.store.folder import Folder
from tests.reliability.mutants.definition import Mutant


def _no_fsync() -> tuple[Any, str, Any]:
    return atomic, "_sync", lambda fd: None


def _no_folder_fsync() -> tuple[Any, str, Any]:
    return Folder, "sync", lambda self: None


def _no_lock() -> tuple[Any, str, Any]:
    def held(state: Folder, *_: Any, **__: Any) -> lock.HeldLock:
        created = not state.check_plain(lock.NAME)
        os.close(state.open(lock.NAME, os.O_RDWR | os.O_CREAT))
        return lock.HeldLock(state, None, created=created)

    return lock, "acquire", held


def _no_sync_afterwards() -> tuple[Any, str, Any]:
    return lock.HeldLock, "end", lambda self: None


def _forgotten_unsynced() -> tuple[Any, str, Any]:
    real = close_receipt.forget
    return close_receipt, "forget", lambda state, open_state, confirm: real(state, open_state, lambda: None)


def _in_place() -> tuple[Any, str, Any]:
    def replace(folder: Folder, name: str, parts: Any, check: Any = None, **_: Any) -> None:
        folder.plain(name)
        fd = folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            for part in parts:
                os.write(fd, part)
            os.fsync(fd)
        finally:
            os.close(fd)

    return atomic, "replace", replace


def _no_journal() -> tuple[Any, str, Any]:
    def archive(nexus: Folder, state: Folder, asked: Any, held: Any, answer: Any) -> None:
        entry = journal.record(asked.cycle, asked.writes, None, asked.entry())
        journal.apply(nexus, state, entry, None, {})

    return commit, "write_journaled", archive


def _unlink_before_archive() -> tuple[Any, str, Any]:
    real = commit.write_journaled

    def archive(nexus: Folder, state: Folder, asked: Any, *rest: Any) -> Any:
        for name, (_, after) in asked.writes.items():
            if asked.cycle is not None and after is None:
                state.unlink(name)
        return real(nexus, state, asked, *rest)

    return commit, "write_journaled", archive


def _no_recovery() -> tuple[Any, str, Any]:
    return access, "roll_forward", lambda nexus, state: None


def _thrown_away() -> tuple[Any, str, Any]:
    return access, "roll_forward", lambda nexus, state: state.unlink(journal.NAME)


def _wrong_order() -> tuple[Any, str, Any]:
    real = journal.apply

    def apply(nexus: Folder, state: Folder, entry: Any, history: Any, prepared: Any) -> None:
        # The journal is removed first, then its changes are made.
        state.unlink(journal.NAME)
        real(nexus, state, entry, history, prepared)
        atomic.replace(state, journal.NAME, [codec.encode(entry)])

    return journal, "apply", apply


def _noted_early() -> tuple[Any, str, Any]:
    real = commit.write_one

    def write_one(state: Folder, folder: Folder, read: Any, after: Any, make_entry: Any, **more: Any) -> None:
        oplog.note(state, make_entry)
        real(state, folder, read, after, lambda: None, **more)  # type: ignore[arg-type,return-value]

    return commit, "write_one", write_one


def _note_unsynced() -> tuple[Any, str, Any]:
    return atomic, "sync_file", lambda folder, name: None


MUTANTS = (
    Mutant("no-fsync", "A new file's bytes are not synced before its rename.", _no_fsync),
    Mutant("no-folder-fsync", "A rename is not synced.", _no_folder_fsync),
    Mutant("note-unsynced", "The operation log's entry of a cycle is not synced.", _note_unsynced),
    Mutant("no-sync-afterwards", "The syncs that follow the release of the lock are left out.", _no_sync_afterwards),
    Mutant("forgotten-unsynced", "A receipt is removed before the next change is synced.", _forgotten_unsynced),
    Mutant("no-lock", "Writers do not exclude each other.", _no_lock),
    Mutant("in-place", "A file is truncated and written in place.", _in_place),
    Mutant("no-journal", "Several files change one after the other, without a commit point.", _no_journal),
    Mutant("unlink-before-archive", "Session files are removed before the cycle is recorded.", _unlink_before_archive),
    Mutant("no-recovery", "A journal that a crash left is never completed.", _no_recovery),
    Mutant("thrown-away", "A journal that a crash left is removed without being completed.", _thrown_away),
    Mutant("noted-early", "The operation log gets its entry before the change is made.", _noted_early),
    Mutant("wrong-order", "The journal is removed before it is applied.", _wrong_order),
)
