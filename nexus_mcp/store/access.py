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
    """A call in `Store.without_lock` needs the lock, for example to complete an interrupted change."""


LOOKS = 8  # attempts to read several files before the lock is taken
_TRIES = 5  # attempts to create the folders of a first write, which failing writers may remove


class Access:
    """The folders `.nexus` and `.nexus/state` of the project at `root`. `wait` and `in_all` are the arguments `seconds`
    and `in_all` of Deadline.

    If another call holds the lock, `meanwhile` is called with the folder `.nexus/state` before the wait. `on_wait` is
    called after each wait, with the seconds of the wait and whether the lock was taken. Without flock neither is
    called. `swept` is true if leftovers were deleted through this Access, and no change through it has failed since
    with another error than NotAppliedYet and NotConfirmed. While `is_lockless`, `lock` raises LockNeeded.
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
        """Return a context manager that opens [`.nexus`, `.nexus/state`], each None if absent. It completes no
        interrupted change. Raise PathRefused, StorageError.
        """
        return Folders(self.root, ".nexus", "state")

    @contextmanager
    def innermost(self, *names: str) -> Iterator[Folder | None]:
        """Open the folder at the path `names` below the project, None if absent, without completing an interrupted
        change. Raise PathRefused, StorageError.
        """
        with Folders(self.root, *names) as found:
            yield found[-1]

    def state(self) -> AbstractContextManager[Folder | None]:
        """Open `.nexus/state`, None if absent, without completing an interrupted change. Raise as `innermost` does."""
        return self.innermost(".nexus", "state")

    @contextmanager
    def recovered_state(self) -> Iterator[Folder | None]:
        """Open `.nexus/state`, None if absent, after completing an interrupted change. Without one, take no lock.

        Raise StateError, PathRefused, StorageError and LockNeeded.
        """
        with self.folders() as (nexus, state):
            if nexus is not None and state is not None and state.check_plain(journal.NAME):
                with self._complete(nexus, state):
                    pass
            yield state

    def look(self, at: Callable[[Folder | None, Folder | None], Found], *, several: bool = False) -> Found:
        """Return the result of `at` for (`.nexus`, `.nexus/state`), read while no change of several files is half done.

        If a journal exists before or after the call of `at`, a change may be half done. Then take the lock, complete
        the change and call `at` once more. A change may also begin and end during the call. So with `several`, for an
        `at` that reads several files, a second call has to return the same value as the first. After LOOKS such pairs
        with different values call `at` with the lock held. Raise StateError, PathRefused, StorageError and LockNeeded.
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
            with self._complete(nexus, state):
                return at(nexus, state)

    @contextmanager
    def _complete(self, nexus: Folder, state: Folder) -> Iterator[None]:
        with self.lock(state):
            roll_forward(nexus, state)
            yield

    @contextmanager
    def looking(self) -> Iterator[tuple[Folder | None, Folder | None, Entry | None]]:
        """Open (`.nexus`, `.nexus/state`, the result of `roll_forward`), with the lock held if there is a lock file or
        a journal. Without both, no process has the lock: take no lock, create no file; the result is None.
        """
        with self.folders() as (nexus, state), ExitStack() as stack:
            there = state is not None and (state.check_plain(lock.NAME) or state.check_plain(journal.NAME))
            completed = None
            if nexus is not None and state is not None and there:
                stack.enter_context(self.lock(state))
                completed = roll_forward(nexus, state)
            yield nexus, state, completed

    def writing(self, rehearse: Rehearse | None = None) -> WriterLock:
        """Return a context manager like that of `writer_lock`, which also completes an interrupted change. In a new
        project it calls `rehearse` first.
        """
        return WriterLock(self, rehearse, completing=True)

    def writer_lock(self) -> WriterLock:
        """Return a context manager that makes absent folders, takes the lock, and completes no interrupted change."""
        return WriterLock(self)

    def lock(self, state: Folder) -> lock.HeldLock:
        """Take the lock and return it. Raise LockNeeded, and the errors of `Deadline.at` and `lock.acquire`."""
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
        """Report the wait as progress, and return whether to give it up. Called repeatedly while a call waits."""
        progress.note(progress.WAITING_FOR_LOCK)
        return self.stopping


class Folders:
    """A context manager that opens the folders `names`, each inside the one before it, the first inside the folder
    `path`, and returns them as a list: None from the first absent one on. Raise PathRefused, StorageError.
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


class WriterLock:
    """A context manager for a writer. `nexus` is the folder `.nexus`, `state` is `.nexus/state`, `held` is the lock.

    It creates missing folders. If the block fails, it removes them again, so that a failed first call leaves nothing
    behind; after NotAppliedYet and NotConfirmed they stay, because the change is recorded or made. In a new project,
    without a lock file and a journal, it first calls `rehearse` with the folders, None for a missing one.

    With `completing`, it completes an interrupted change before the block. `completed` is then the result of
    `roll_forward`, None without a journal; `has_receipts` says whether a receipt exists then (only the lock holder
    creates receipts). Set `is_kept` once the change is written: then the new folders and `.gitignore` stay even if a
    later step fails.
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

        Leftovers are deleted unless `Access.swept` is true and the earlier lock holder left the mark of an orderly end
        in the lock file. The project folder and `.nexus` are synced if that mark is missing, because new folders may
        not be synced yet, or if this call wrote `.gitignore`. Raise StorageError, PathRefused.
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
        """Return the folder `name` in `parent`, created if absent. A new name is not synced yet.

        Raise FolderGone if `parent` was removed, PathRefused, StorageError.
        """
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
    """Remove what this call created, the last first: `new` lists (folder, name in it) of folders and the lock file.

    Stop at a folder that is not empty. If the lock was taken, but is not ours any more, another process uses the
    folders: remove nothing.
    """
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
    """Remove the history cache that a failed first write made in `.nexus/state`, so that `state` can be removed."""
    from nexus_mcp.store.history import cache

    with suppress(OSError, NexusError):
        state = nexus.child("state")
        if state is not None:
            with state:
                cache.remove(state)


def write_gitignore(nexus: Folder, held: lock.HeldLock) -> bool:
    """Write `.gitignore` if absent; return whether this call wrote it.

    Its name is synced later by `WriterLock.begin`. Raise StorageError, PathRefused.
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
    """The time limit of waits: `seconds` for each wait for the lock. With `in_all`, all waits also end at the latest
    `seconds` after the Deadline was made.
    """

    __slots__ = ("_end", "seconds")

    def __init__(self, seconds: float, *, in_all: bool = False) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds if in_all else None

    def at(self, state: Folder) -> float:
        """Return how many seconds to wait for the lock in this folder.

        Raise JournalError if `in_all` was set, as in a hook, and the journal is larger than HOOK_LIMIT. Raise
        StorageError if its size cannot be read.
        """
        waiting = None if self._end is None else state.look(journal.NAME)
        if waiting is not None and waiting.st_size > HOOK_LIMIT:
            raise JournalError(
                journal.SHOWN,
                f"should hold a pending change, but is larger than the {HOOK_LIMIT >> 20} MiB that a hook completes",
                next_step="Call a tool, such as task_list: it completes the change, or says what is wrong with it.",
            )
        return self.seconds_left()

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """Limit each wait for the lock to this number of seconds within the block."""
        usual, self.seconds = self.seconds, min(self.seconds, seconds)
        try:
            yield
        finally:
            self.seconds = usual

    def seconds_left(self, most: float | None = None) -> float:
        """Return how many seconds a wait may take now. `most` is the limit of a wait that is not for the lock; without
        it, the limit is `seconds`.
        """
        wanted = self.seconds if most is None else most
        return wanted if self._end is None else max(0.0, min(wanted, self._end - time.monotonic()))
