"""The store: read and change the files of the tools, and undo changes (docs/decisions/0003)."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from functools import partial

from nexus_mcp.errors import NexusError
from nexus_mcp.state import oplog as changes
from nexus_mcp.state import times
from nexus_mcp.store import atomic, lock
from nexus_mcp.store.access import Access
from nexus_mcp.store.history.memory import Memory
from nexus_mcp.store.paths import PLAN, SESSION, TASKS
from nexus_mcp.store.replacement import retry
from nexus_mcp.store.session import SessionCache, SessionSnapshot
from nexus_mcp.store.transaction import Transaction, value_of

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    from nexus_mcp.state.oplog import By
    from nexus_mcp.store import close_receipt
    from nexus_mcp.store.access import WriterLock
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.workspace import Workspace

    Found = TypeVar("Found")
    Make = Callable[[Transaction], dict[str, Any]]


def undo(store: Store, by: By, count: int, *, dry_run: bool = False) -> dict[str, Any]:
    """Take back the last `count` changes that were not taken back yet: all of them or, if one must stay, none.

    Return `undone`: their entries, newest first, and `files`: path from `.nexus/state` -> whether the file exists
    afterwards. Raise UndoRefused, StateError, PathRefused, StorageError with nothing changed, NotAppliedYet,
    NotConfirmed. With `dry_run` these changes are not taken back. An interrupted change is completed first in any case.
    If it was an undo, this call then raises UndoRefused, because the user may only be repeating the interrupted undo,
    and an undo too many cannot be taken back.
    """

    def change(now: Transaction) -> dict[str, Any]:
        changes.check_completed(now.completed)
        lines = now.log()
        entries = changes.last_changes(lines, count)
        changes.check_names({file["name"] for entry in entries for file in entry["files"]})
        files: dict[str, bytes | None] = {}
        for entry in entries:
            for file in entry["files"]:
                name = file["name"]
                files[name] = changes.restore(file, files[name] if name in files else now.current(name), entry)
        for name, data in files.items():
            now.restore(name, data)
        now.undoes = [entry["id"] for entry in entries]
        now.what = f"takes back {count} change{'s' * (count > 1)}"
        return {"undone": entries, "files": {name: data is not None for name, data in files.items()}}

    return store.preview(change, by) if dry_run else store.change(change, by)


class Store:
    """The files of one workspace. `now` returns seconds since 1970; `wait` is how many seconds a call waits for the
    lock.

    With `in_all`, every wait of this store, also for other things than the lock, ends at most `wait` seconds after the
    store was made.
    """

    __slots__ = ("_access", "_done", "_memory", "_notes", "_now", "_session", "_transaction", "deadline")

    def __init__(
        self,
        workspace: Workspace,
        now: Callable[[], float] | None = None,
        wait: float = lock.WAIT_SECONDS,
        *,
        in_all: bool = False,
    ) -> None:
        self._session = SessionCache()
        self._access = Access(workspace.state_root, wait, self._session.prepare, in_all=in_all)
        self.deadline = self._access.deadline
        # The folders of the notes are always the project's own, even if it shares the state of another worktree.
        is_shared = workspace.state_root != workspace.root
        self._notes = Access(workspace.root, wait) if is_shared else self._access
        self._notes.deadline = self.deadline
        self._memory = Memory()
        self._now = now or time.time
        self._transaction = partial(Transaction, now=self._now, session=self._session, memory=self._memory)
        self._done: Transaction | None = None

    @property
    def state_path(self) -> str:
        """Return the path of `.nexus/state`, which may be absent."""
        return os.path.join(self._access.root, ".nexus", "state")

    def plan(self) -> dict[str, Any] | None:
        """Return plan.json as it is now, None if there is no plan. Raise StateError, PathRefused, StorageError."""
        return self._access.look(lambda _, state: value_of(self._session.read(state, PLAN)))

    def tasks(self) -> dict[str, Any] | None:
        """Return tasks.json as it is now, None if absent. Raise StateError, PathRefused, StorageError."""
        return self._access.look(lambda _, state: value_of(self._session.read(state, TASKS)))

    def snapshot(self) -> SessionSnapshot:
        """Return plan.json and tasks.json as they were at one moment. Two reads could see a half-done close.

        Raise only LockNeeded, within `without_lock`; plan() and tasks() of the result raise all other errors.
        """
        try:
            return self._access.look(lambda _, state: SessionSnapshot(self._session, state), several=True)
        except NexusError as error:
            return SessionSnapshot(self._session, error)

    def history(self, at: Callable[[Archive], Found]) -> Found:
        """Return the result of `at` for history.json as it is now. Raise StateError, PathRefused, StorageError."""

        from nexus_mcp.store.history.archive import look  # imported late: start-up does not need it

        return self._access.look(partial(look, self._memory, at))

    def initialise(self) -> list[str]:
        """Create `.nexus/`, `.nexus/state/` and `.nexus/.gitignore` if absent; return the created
        paths from the root.
        """
        with self._access.folders() as (nexus, state):
            made = [".nexus/"] * (nexus is None) + [".nexus/state/"] * (state is None)
        with self._access.writing() as at:
            return made + [".nexus/.gitignore"] * at.begin()

    def warm_up(self) -> Iterator[None]:
        """Cache the session files, and import the modules and prepare the schemas that a change needs, one step for
        each `next`. Raise PathRefused, StorageError, and the errors of the imports.
        """
        for name in SESSION:
            # The next read reports the fault.
            with suppress(NexusError), self._access.folders() as (_, state):
                self._session.read(state, name)
            yield
        from nexus_mcp.store import commit, jsonl  # noqa: F401

        yield
        import zlib  # noqa: F401 - a shared object

        atomic.load_renameat2()

        with self._access.folders() as (_, state):
            self._session.prepare(state)
        from nexus_mcp.state import shapes

        for schema in shapes.change_schemas():
            yield
            schema.prepare()

    def observe_waits(self, waited: Callable[[float, bool], object]) -> None:
        """Call `waited` after each wait for the lock, with its seconds and whether the lock was taken."""
        self._access.on_wait = self._notes.on_wait = waited

    @contextmanager
    def without_lock(self) -> Iterator[None]:
        """Within the block, let each call raise LockNeeded where it would otherwise take the lock."""
        self._access.is_lockless = self._notes.is_lockless = True
        try:
            yield
        finally:
            self._access.is_lockless = self._notes.is_lockless = False

    def stop(self) -> None:
        """End all waits for the lock: the server stops. May be called from any thread."""
        self._access.stopping = self._notes.stopping = True

    def tidy(self) -> None:
        """Free the files and values of the last change. Call it after the answer was sent, so that no call waits."""
        self._done = None

    def change(self, make: Make, by: By) -> dict[str, Any]:
        """Run `make` under the lock, write the requested changes, and return its answer. `by` is the caller.

        `make` runs again if another program saved a file that the change was about to replace, and in a new project it
        runs once beforehand. So it must only read the transaction and request writes. If it raises, nothing is written.
        If an earlier call had the same idempotency key, `make` does not run. A change with a cycle, with an idempotency
        key or of several files, and an undo, use the journal. Raise NotAppliedYet and NotConfirmed if the change is
        recorded or made, other errors with nothing changed.
        """
        return self._change(make, by)[0]

    def preview(self, make: Make, by: By) -> dict[str, Any]:
        """Return the answer that `change` would give now. Nothing is written; an interrupted change is completed first.

        This holds the lock: without it another change could fall between the reads of the log and of a file.
        """
        with (
            self._access.looking() as (nexus, state, completed),
            self._transaction(nexus, state, by, completed=completed) as change,
        ):
            return make(change)

    def close(
        self, make: Make, by: By, is_answer: Callable[[dict[str, Any]], bool]
    ) -> tuple[dict[str, Any], close_receipt.Receipt | None]:
        """Make a change whose answer is stored until it was delivered; return (answer, its receipt or None).

        A stored answer comes from a file: `is_answer` returns whether `make` could have returned it.
        """
        return self._change(make, by, is_answer)

    def stamp(self, offset_s: float = 0.0) -> str:
        """Return the time `offset_s` seconds from now, as the contract writes it."""
        return times.stamp(self._now() + offset_s)

    def state(self) -> AbstractContextManager[Folder | None]:
        """Open the folder `.nexus/state`, None if absent; an interrupted change is completed first.

        Raise StateError, PathRefused, StorageError.
        """
        return self._access.recovered_state()

    def state_as_it_is(self) -> AbstractContextManager[Folder | None]:
        """Open the folder `.nexus/state`, None if absent. An interrupted change stays: it may belong to the lock
        holder.
        """
        return self._access.state()

    def own_as_it_is(self, harness_id: str) -> AbstractContextManager[Folder | None]:
        """Open the folder of a harness in `.nexus/state` as `state_as_it_is` does."""
        return self._access.innermost(".nexus", "state", harness_id)

    def nexus(self) -> AbstractContextManager[Folder | None]:
        """Open the folder `.nexus`, None if absent, and complete no interrupted change: for the notes. Raise
        PathRefused, StorageError.
        """
        return self._notes.innermost(".nexus")

    def history_folder(self) -> AbstractContextManager[Folder | None]:
        """Open the folder `.nexus` that has state and history, None if absent: in a linked worktree it may be that of
        the main worktree.
        """
        return self._access.innermost(".nexus")

    @contextmanager
    def locked_state(self) -> Iterator[tuple[Folder, lock.HeldLock]]:
        """Open `.nexus/state`, created if absent, with the lock held: for files that need no transaction."""
        with self._access.writing() as at:
            at.begin()
            yield at.state, at.held

    @contextmanager
    def locked_nexus(self) -> Iterator[tuple[Folder, lock.HeldLock]]:
        """Open `.nexus` as `locked_state` opens `.nexus/state`: for the notes."""
        with self._notes.writing() as at:
            at.begin()
            yield at.nexus, at.held

    def _change(
        self, make: Make, by: By, is_answer: Callable[[dict[str, Any]], bool] | None = None
    ) -> tuple[dict[str, Any], close_receipt.Receipt | None]:
        # Imported late, to keep the start short, but before anything is written: an import can fail.
        from nexus_mcp.store import close_receipt, commit  # noqa: F401

        with self._access.writing(lambda nexus, state: self._rehearse(nexus, state, make, by)) as at:
            return retry(lambda: self._try_change(at, make, by, is_answer))

    def _try_change(
        self, at: WriterLock, make: Make, by: By, is_answer: Callable[[dict[str, Any]], bool] | None
    ) -> tuple[dict[str, Any], close_receipt.Receipt | None]:
        """Try `_change` once. Raise ChangedMeanwhile with nothing changed."""
        from nexus_mcp.store import close_receipt
        from nexus_mcp.store.commit import carry_out

        if by.keyed is not None:
            is_answer = None  # the record of the key shows whether this call was made, and has its answer
        markers = None if is_answer is None else close_receipt.Receipts(at.state, self._access.state, is_answer)
        recovered = None if markers is None else markers.answer
        with self._transaction(at.nexus, at.state, by, recovered=recovered, completed=at.completed) as change:
            answer, is_repeated = _answer(change, make)
            if is_repeated or (markers is not None and markers.repeated is not None):
                return answer, None if markers is None else markers.repeated
            at.begin()
            keep = None if is_answer is None else answer
            name = carry_out(at.nexus, at.state, change, at.held, keep)
            kept = None if name is None else close_receipt.lock_receipt(at.state, name, self._access.state)
            at.is_kept = True
            self._done = change
            if at.has_receipts and (change.cycle is not None or not change.writes.keys().isdisjoint(SESSION)):
                # Not after a change of artifacts only: another client may still repeat the close.
                close_receipt.forget(at.state, self._access.state, at.held.end)
            if change.record is not None:
                from nexus_mcp.store import idempotency

                idempotency.remove_expired(at.state, self._now())
            return answer, kept

    def _rehearse(self, nexus: Folder | None, state: Folder | None, make: Make, by: By) -> None:
        """Run a change in a new project without writing: a failing call must not leave even a folder."""
        with self._transaction(nexus, state, by) as change:
            _answer(change, make)


def _answer(change: Transaction, make: Make) -> tuple[dict[str, Any], bool]:
    """Return (the answer of the change, whether it is that of an earlier call with the same idempotency key)."""
    keyed = change.by.keyed
    if keyed is None:
        return make(change), False
    from nexus_mcp.state.idempotency import answer_in  # imported late: few calls have a key
    from nexus_mcp.store import idempotency

    records = idempotency.read(change, keyed)
    stored = answer_in(records, keyed)
    if stored is not None:
        return stored, True
    answer = make(change)
    idempotency.keep(change, keyed, records, answer)
    return answer, False
