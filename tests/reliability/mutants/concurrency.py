"""Faults in a server beside others and after crashes: when it locks, reads, answers, recovers and cleans up."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nexus_mcp.server.app import App
from nexus_mcp.server.call_queue import CallQueue
from nexus_mcp.store import close_receipt, conflicts, journal, lock
from nexus_mcp.store.access import Access
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.history.archive import Archive
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.reliability.mutants.definition import Mutant


def _late_lock() -> tuple[Any, str, Any]:
    class Late(lock.HeldLock):
        def check(self) -> None:
            if self._fd is None:
                return
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(self._fd, fcntl.LOCK_EX)

    def held(state: Folder, *_: Any, **__: Any) -> lock.HeldLock:
        created = not state.check_plain(lock.NAME)
        return Late(state, state.open(lock.NAME, os.O_RDWR | os.O_CREAT), created=created)

    return lock, "acquire", held


def _recovers_unlocked() -> tuple[Any, str, Any]:
    @contextmanager
    def completed(self: Access, nexus: Folder, state: Folder) -> Iterator[None]:
        journal.roll_forward(nexus, state)
        yield

    return Access, "_complete", completed


def _stale_read() -> tuple[Any, str, Any]:
    real, seen = Store.tasks, {}

    def tasks(self: Store) -> Any:
        if id(self) not in seen:
            seen[id(self)] = (self, real(self))  # the store stays referenced, so that no other one gets its id
        return seen[id(self)][1]

    return Store, "tasks", tasks


def _answer_first() -> tuple[Any, str, Any]:
    real = CallQueue._serve

    def serve(self: CallQueue, job: Any) -> None:
        app = self._app
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copytree(app.workspace.root, os.path.join(folder, "project"))
            self._app = App(Workspace(copy))
            real(self, job)
        self._app = app
        app.call(job.call.name, job.call.arguments).confirm_delivery()

    return CallQueue, "_serve", serve


def _answer_forgotten() -> tuple[Any, str, Any]:
    real = close_receipt.lock_receipt

    def held(*arguments: Any) -> close_receipt.Receipt:
        receipt = real(*arguments)
        receipt.confirm_delivery()
        return receipt

    return close_receipt, "lock_receipt", held


def _answer_kept() -> tuple[Any, str, Any]:
    return close_receipt.Receipt, "confirm_delivery", close_receipt.Receipt.release


def _redone() -> tuple[Any, str, Any]:
    return Archive, "has", lambda self, cycle: False


def _no_sweep() -> tuple[Any, str, Any]:
    return conflicts, "sweep", lambda folder: None


MUTANTS = (
    Mutant("late-lock", "The lock is taken after the state was read.", _late_lock),
    Mutant("recovers-unlocked", "A reader completes a journal without the lock.", _recovers_unlocked),
    Mutant("stale-read", "A server answers from an earlier read of the file.", _stale_read),
    Mutant("answer-first", "An answer goes out before the change is made.", _answer_first),
    Mutant("answer-forgotten", "The receipt of a close is not kept until the response is written.", _answer_forgotten),
    Mutant("answer-kept", "The receipt of a close is still kept after the response was written.", _answer_kept),
    Mutant("redone", "A recovery adds its cycle even if the history has it already.", _redone),
    Mutant("no-sweep", "Temporary files of a dead process are never removed.", _no_sweep),
)
