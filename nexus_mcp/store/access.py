"""Open the workspace folders, take the lock and complete an interrupted change, in this order.

The first write creates the folders and syncs them. If that write fails, it removes them again.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager, suppress

from nexus_mcp import progress
from nexus_mcp.errors import BEGUN, FolderGone, JournalError, NexusError, NotAppliedYet, NotConfirmed, StorageError
from nexus_mcp.store import atomic, conflicts, journal, lock
from nexus_mcp.store.folder import Folder, close_all, open_folders, reason
from nexus_mcp.store.journal import roll_forward

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Self, TypeVar

    from nexus_mcp.state.oplog import Entry

    Found = TypeVar("Found")
    Rehearse = Callable[[Folder | None, Folder | None], object]


class LockNeeded(Exception):
    """A read in `without_lock` needs the lock: a change of another process is not complete."""


LOOKS = 8  # attempts to read several files before the lock is taken
_TRIES = 5  # attempts to create the folders of a first write, which failing writers may remove


class Access:
    """The folders `.nexus` and `.nexus/state` of the project at `root`. `wait` and `in_all` are the arguments `seconds`
    and `in_all` of Deadline.

    If another process holds the lock, `meanwhile` is called once with `.nexus/state` before the wait. `swept` is true
    if this process has deleted the leftovers of dead processes and none of its own changes has failed since.
    `on_wait` is called after each wait for the lock, with its seconds and whether the lock was taken. While
    `is_lockless`, `lock` raises LockNeeded.
    """

    __slots__ = ("_meanwhile", "deadline", "is_lockless", "on_wait", "root", "stopping", "swept")

    def __init__(
        self, root: str, wait: float, meanwhile: Callable[[Folder], object] = bool, *, in_all: bool = False
    ) -> None:
        self.root = root
        self._meanwhile = meanwhile
        self.deadline = Deadline(wait, in_all=in_all)
        self.on_wait: Callable[[float, bool], object] | None = None
        self.is_lockless = False
        self.stopping = False
        self.swept = False

    def folders(self) -> Folders:
        """Return (`.nexus`, `.nexus/state`), each None if absent, without completing an interrupted change. Raise
        PathRefused, StorageError.
        """
        return Folders(self.root, ".nexus", "state")

    @contextmanager
    def innermost(self, *names: str) -> Iterator[Folder | None]:
        """Return the folder at the path `names` below the project, None if absent, without completing an interrupted
        change.
        """
        with Folders(self.root, *names) as found:
            yield found[-1]

    def state(self) -> AbstractContextManager[Folder | None]:
        """Return `.nexus/state`, None if absent, without completing an interrupted change."""
        return self.innermost(".nexus", "state")

    @contextmanager
    def recovered_state(self) -> Iterator[Folder | None]:
        """Return `.nexus/state`, after completing an interrupted change. Without an interrupted change it takes no
        lock.
        """
        with self.folders() as (nexus, state):
            if nexus is not None and state is not None and state.check_plain(journal.NAME):
                with self._completed(nexus, state):
                    pass
            yield state

    def look(self, at: Callable[[Folder | None, Folder | None], Found], *, several: bool = False) -> Found:
        """Return the result of `at` for the two folders, read while no change of several files is half done.

        It takes no lock unless a journal exists before or after the call of `at`. A read during a change may see old
        files and new ones, but then the journal exists after the read: the change is completed, and `at` is called
        again. With `several`, `at` reads several files and has to return the same value twice in a row; after LOOKS
        attempts `at` is called with the lock held.
        """
        with self.folders() as (nexus, state):
            if nexus is None or state is None:
                return at(nexus, state)
            for _ in range(LOOKS):
                if state.check_plain(journal.NAME):
                    break
                found = at(nexus, state)
                if state.check_plain(journal.NAME):
                    break
                if not several or at(nexus, state) == found:
                    return found
            with self._completed(nexus, state):
                return at(nexus, state)

    @contextmanager
    def _completed(self, nexus: Folder, state: Folder) -> Iterator[None]:
        with self.lock(state):
            roll_forward(nexus, state)
            yield

    @contextmanager
    def looking(self) -> Iterator[tuple[Folder | None, Folder | None, Entry | None]]:
        """Return the folders and the result of `roll_forward`, with the lock held. Creates nothing: without a lock file
        no process has the lock.
        """
        with self.folders() as (nexus, state), ExitStack() as stack:
            there = state is not None and (state.check_plain(lock.NAME) or state.check_plain(journal.NAME))
            completed = None
            if nexus is not None and state is not None and there:
                stack.enter_context(self.lock(state))
                completed = roll_forward(nexus, state)
            yield nexus, state, completed

    def writing(self, rehearse: Rehearse | None = None) -> Locked:
        """Return `locked()`, which then also completes an interrupted change."""
        return Locked(self, rehearse, completing=True)

    def locked(self) -> Locked:
        """Return a context manager that makes absent folders, takes the lock, and completes no interrupted change."""
        return Locked(self)

    def lock(self, state: Folder) -> lock.HeldLock:
        """Take the lock and return it. Raise the errors of `lock.acquire`, and LockNeeded."""
        if self.is_lockless:
            raise LockNeeded
        began = 0.0

        def begin() -> None:
            nonlocal began
            began = time.monotonic()
            self._meanwhile(state)

        is_taken = False
        try:
            held = lock.acquire(state, self.deadline.at(state), self._is_stopping, begin)
            is_taken = True
            if began:
                progress.note(progress.WORKING)
        finally:
            if began and self.on_wait is not None:
                self.on_wait(time.monotonic() - began, is_taken)
        return held

    def _is_stopping(self) -> bool:
        """Return whether to give up the wait for the lock; it is called repeatedly during the wait."""
        progress.note(progress.WAITING_FOR_LOCK)
        return self.stopping


class Folders:
    """A context manager that opens the folders `names`, each inside the one before it, the first inside the folder
    `path`; None for an absent one. Raise PathRefused, StorageError.
    """

    __slots__ = ("_names", "_open", "_path")

    def __init__(self, path: str, *names: str) -> None:
        self._path = path
        self._names = names
        self._open: list[Folder] = []

    def __enter__(self) -> list[Folder | None]:
        try:
            return open_folders(self._open, self._path, *self._names)[1:]
        except BaseException:
            close_all(self._open)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        close_all(self._open)


class Locked:
    """A context manager for a writer. `nexus` is the folder `.nexus`, `state` is `.nexus/state`, `held` is the lock.

    It creates missing folders, and removes them if the block fails, so that a failed first call leaves nothing behind.
    In a new project it first calls `rehearse` with the existing folders. With `completing`, it completes an interrupted
    change at its beginning; `completed` is then the result of `roll_forward`. `has_receipts` is whether a receipt
    existed at the beginning: only the lock holder creates receipts. Set `is_kept` once the change is written: then the
    new folders and `.gitignore` stay even if a later step fails.
    """

    held: lock.HeldLock
    nexus: Folder
    state: Folder

    def __init__(self, access: Access, rehearse: Rehearse | None = None, *, completing: bool = False) -> None:
        self._access = access
        self._rehearse = rehearse
        self._completing = completing
        self._lock: lock.HeldLock | None = None
        self._open: list[Folder] = []
        self._new: list[tuple[Folder, str]] = []
        self._is_begun = self._wrote_ignore = False
        self.completed: Entry | None = None
        self.has_receipts = self.is_kept = False

    def __enter__(self) -> Self:
        try:
            self._enter()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if error is not None and not isinstance(error, (NotAppliedYet, NotConfirmed)):
                self._take_back(error)
        finally:
            try:
                if self._lock is not None:
                    if any(folder.is_untidy for folder in self._open):
                        self.held.leave_signed()
                    self._lock.__exit__(kind, error, at)
            finally:
                close_all(self._open)

    def begin(self) -> bool:
        """Prepare the first write of a change, after all its checks; return whether `.gitignore` was written.

        Leftovers are deleted if a writer may have died: on the first call in this process, and if the earlier lock
        holder did not release the lock. New folders are synced unless the mark in the lock file says that they were
        synced; `.nexus` is synced if this call added an entry to it. Raise StorageError, PathRefused.
        """
        held = self.held
        self._wrote_ignore = write_gitignore(self.nexus, held)
        self._is_begun = True
        if not (self._access.swept and held.orderly):
            held.check()
            conflicts.sweep_all(self.nexus, self.state, notes=not held.orderly)
        if self._wrote_ignore or not held.orderly:
            for folder in (self._root, self.nexus):  # their creator may have died before it synced them
                atomic.sync(folder)
        held.orderly = self._access.swept = True
        return self._wrote_ignore

    def _enter(self) -> None:
        for left in reversed(range(_TRIES)):
            try:
                self._take()
                break
            except FolderGone:  # another first write failed and removed the folder
                if not left:
                    raise
        if self._completing:
            names = self.state.names()
            if journal.NAME in names:
                self.completed = roll_forward(self.nexus, self.state)
                names = self.state.names()
            self.has_receipts = any(name.startswith(journal.RECEIPT_PREFIX) for name in names)

    def _take(self) -> None:
        root, nexus, state = open_folders(self._open, self._access.root, ".nexus", "state")
        assert root is not None
        self._root = root
        used = state is not None and (self._access.swept or state.check_plain(lock.NAME))
        if self._rehearse is not None and not used and not (state is not None and state.check_plain(journal.NAME)):
            self._rehearse(nexus, state)
        if nexus is None or state is None or not used:
            nexus = self._make(self._root, ".nexus")
            state = self._make(nexus, "state")
        self.nexus, self.state = nexus, state
        self.held = self._lock = self._access.lock(state)
        self._new += [(state, lock.NAME)] * self.held.created

    def _make(self, parent: Folder, name: str) -> Folder:
        """Return the folder `name` in `parent`, created if absent. Its name is not synced yet."""
        try:
            folder, is_new = parent.make(name, confirm=False)
        except StorageError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise FolderGone(parent.shown) from error
            raise
        self._open.append(folder)
        if is_new:
            self._new.append((parent, name))
        return folder

    def _take_back(self, error: BaseException) -> None:
        if self._is_begun:
            # If the lock is not ours any more, another process uses the folder.
            if self._wrote_ignore and not self.is_kept and self.held.is_ours():
                remove_gitignore(self.nexus)
            if not isinstance(error, NexusError):
                error.add_note(BEGUN)
        if not self.is_kept:
            remove_new(self._new, self._lock)
        self._access.swept = False


IGNORE = ".gitignore"
_IGNORED = b"state/\n"


def remove_new(new: list[tuple[Folder, str]], held: lock.HeldLock | None) -> None:
    """Remove the folders that this call created, the last first; a folder that another process uses stays."""
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
    """Remove the derived files of a failed first write, so that its folder can be removed."""
    from nexus_mcp.store.history import cache

    with suppress(OSError, NexusError):
        state = nexus.child("state")
        if state is not None:
            with state:
                cache.remove(state)


def write_gitignore(nexus: Folder, held: lock.HeldLock) -> bool:
    """Write `.gitignore` if absent, as a part of the first write; return whether it was absent.

    Its name is synced later together with the new folders. Raise StorageError, PathRefused.
    """
    if nexus.check_plain(IGNORE):
        return False
    held.check()
    try:
        temporary = atomic.prepare(nexus, [_IGNORED])
        try:
            atomic.place(nexus, temporary, IGNORE)
        except OSError as error:
            nexus.unlink(temporary)
            if isinstance(error, FileExistsError):  # another process wrote `.gitignore` meanwhile
                return False
            raise
    except OSError as error:
        raise StorageError(nexus.show(IGNORE), "write", reason(error)) from error
    return True


def remove_gitignore(nexus: Folder) -> None:
    """Remove `.gitignore` again, because the first write failed; a changed one stays."""
    with suppress(OSError, NexusError):
        if nexus.read(IGNORE, len(_IGNORED)) == _IGNORED:
            nexus.unlink(IGNORE)


HOOK_LIMIT = 16 << 20
"""Largest journal that a hook completes, in bytes: a larger one takes longer than a hook may wait."""


class Deadline:
    """The time limit of waits: `seconds` for each wait for the lock. With `in_all`, all waits together end at most
    `seconds` from now.
    """

    __slots__ = ("_end", "seconds")

    def __init__(self, seconds: float, *, in_all: bool = False) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds if in_all else None

    def at(self, state: Folder) -> float:
        """Return how many seconds to wait for the lock in this folder.

        Raise JournalError if a pending change is too large for a call with `in_all`, such as a hook.
        """
        waiting = None if self._end is None else state.look(journal.NAME)
        if waiting is not None and waiting.st_size > HOOK_LIMIT:
            raise JournalError(
                journal.SHOWN,
                f"should hold a pending change, but is larger than the {HOOK_LIMIT >> 20} MiB that a hook completes",
                next_step="Call a tool, such as task_list: it completes the change, or says what is wrong with it.",
            )
        return self.left()

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """Limit each wait for the lock to this number of seconds within the block."""
        usual, self.seconds = self.seconds, min(self.seconds, seconds)
        try:
            yield
        finally:
            self.seconds = usual

    def left(self, most: float | None = None) -> float:
        """Return how many seconds a wait may take now; `most` is the limit of a wait that is not for the lock."""
        wanted = self.seconds if most is None else most
        return wanted if self._end is None else max(0.0, min(wanted, self._end - time.monotonic()))
