"""How the store reaches its files: the folders, the lock, and the recovery of what a crash left, in this order."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

from nexus_mcp.errors import BEGUN, FolderGone, NexusError, NotAppliedYet, NotConfirmed
from nexus_mcp.store import beginnings, journal, lock
from nexus_mcp.store.completing import roll_forward
from nexus_mcp.store.folder import Folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Self, TypeVar

    from nexus_mcp.state.oplog import Entry
    from nexus_mcp.store.patience import Patience

    Found = TypeVar("Found")
    Rehearse = Callable[[Folder | None, Folder | None], object]

_LOOKS = 8  # at several files
_TRIES = 5  # to make the folders of a first write, while others that fail take them back


class Access:
    """The folders `.nexus` and `.nexus/state` of the project at `root`. `patience`: how long to wait for the lock.

    `meanwhile` is called with `.nexus/state` when another process holds the lock, once, before that is waited for.
    `swept` is whether this process has swept what dead ones left, and no change of its own has failed since.
    """

    __slots__ = ("_meanwhile", "patience", "root", "stopping", "swept")

    def __init__(self, root: str, patience: Patience, meanwhile: Callable[[Folder], object] = bool) -> None:
        self.root = root
        self._meanwhile = meanwhile
        self.patience = patience
        self.stopping = False
        self.swept = False

    def folders(self) -> Folders:
        """(`.nexus`, `.nexus/state`) as they are, None where absent. Raises PathRefused, StorageError."""
        return Folders(self.root)

    @contextmanager
    def state(self) -> Iterator[Folder | None]:
        """`.nexus/state` as it is."""
        with self.folders() as (_, state):
            yield state

    @contextmanager
    def reading(self) -> Iterator[tuple[Folder | None, Folder | None]]:
        """As `folders`, after completing a change that a crash interrupted. Takes no lock otherwise."""
        with self.folders() as (nexus, state):
            if nexus is not None and state is not None and state.check_plain(journal.NAME):
                with self._completed(nexus, state):
                    pass
            yield nexus, state

    def look(self, at: Callable[[Folder | None, Folder | None], Found], *, several: bool = False) -> Found:
        """What `at` returns for the folders, of files that no change of several was about to replace meanwhile.

        Takes no lock unless a journal waits, before or after. Who reads while a change is made may see a file as it was
        before: that journal was there when the look was over, so it is completed, and looked again. `several` files are
        as they were when there was none: `at` has to return the same once more, or, after _LOOKS, has the lock.
        """
        with self.folders() as (nexus, state):
            if nexus is None or state is None:
                return at(nexus, state)
            for _ in range(_LOOKS):
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
        """As `reading`, and what `roll_forward` says; nobody changes anything meanwhile. Makes nothing: without a lock
        file nobody has the lock."""
        with self.folders() as (nexus, state), ExitStack() as stack:
            there = state is not None and (state.check_plain(lock.NAME) or state.check_plain(journal.NAME))
            completed = None
            if nexus is not None and state is not None and there:
                stack.enter_context(self.lock(state))
                completed = roll_forward(nexus, state)
            yield nexus, state, completed

    def writing(self, rehearse: Rehearse | None = None) -> Locked:
        """As `locked`, with interrupted changes completed."""
        return Locked(self, rehearse, completing=True)

    def locked(self) -> Locked:
        """The folders with the lock, made where absent. An interrupted change may still wait."""
        return Locked(self)

    def lock(self, state: Folder) -> AbstractContextManager[lock.Held]:
        """The lock. Raises as lock.held does."""
        return lock.held(state, self.patience.at(state), lambda: self.stopping, lambda: self._meanwhile(state))


class Folders:
    """(`.nexus`, `.nexus/state`) as they are, None where absent: a context. Raises PathRefused, StorageError."""

    __slots__ = ("_open", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._open: list[Folder] = []

    def __enter__(self) -> tuple[Folder | None, Folder | None]:
        try:
            return beginnings.found(self._path, self._open)[1:]
        except BaseException:
            beginnings.close(self._open)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        beginnings.close(self._open)


class Locked:
    """`nexus` and `state`, which are `.nexus` and `.nexus/state`, and `held`, the lock, for who writes: a context.

    The folders are made where absent, and go again when the block fails, so that a first call that fails leaves nothing
    behind. Where nothing was ever written `rehearse` is called before, with the folders that there are. If it is
    `completing`, interrupted changes are completed at its beginning, `completed` is what `roll_forward` said, and
    `names` are those in `state` since then.
    """

    held: lock.Held
    names: list[str]
    nexus: Folder
    state: Folder

    def __init__(self, access: Access, rehearse: Rehearse | None = None, *, completing: bool = False) -> None:
        self._access = access
        self._rehearse = rehearse
        self._completing = completing
        self._lock: AbstractContextManager[lock.Held] | None = None
        self._open: list[Folder] = []
        self._new: list[tuple[Folder, str]] = []
        self._is_begun = self._wrote_ignore = False
        self.completed: Entry | None = None

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
                beginnings.close(self._open)

    def begin(self) -> bool:
        """What comes before the first write of a change, once nothing is left that could refuse it.

        `.gitignore` comes with that; whether it did. What a dead writer left is swept where one may have died: the
        first time (again after a cut of the power), and when the lock was not let go. What is new on the way to the
        files is synced: the folders unless the lock vouches for them, `.nexus` when something was put into it just now.
        Raises StorageError, PathRefused.
        """
        held = self.held
        self._wrote_ignore = beginnings.ignore(self.nexus, held)
        self._is_begun = True
        if not (self._access.swept and held.orderly):
            held.check()
            beginnings.sweep(self.nexus, self.state, notes=not held.orderly)
        if self._wrote_ignore or not held.orderly:
            beginnings.confirm_all(self._root, self.nexus)
        held.orderly = self._access.swept = True
        return self._wrote_ignore

    def keep(self) -> None:
        """What was asked for is written: whatever fails from now on, what came with it stays."""
        self._wrote_ignore = False
        self._new.clear()

    def _enter(self) -> None:
        for left in reversed(range(_TRIES)):
            try:
                self._take()
                break
            except FolderGone:  # with another first write, which failed just then
                if not left:
                    raise
        if self._completing:
            self.names = self.state.names()
            if journal.NAME in self.names:
                self.completed = roll_forward(self.nexus, self.state)
                self.names = self.state.names()

    def _take(self) -> None:
        self._root, nexus, state = beginnings.found(self._access.root, self._open)
        used = state is not None and (self._access.swept or state.check_plain(lock.NAME))
        if self._rehearse is not None and not used and not (state is not None and state.check_plain(journal.NAME)):
            self._rehearse(nexus, state)
        if nexus is None or state is None or not used:
            nexus = beginnings.entered(self._open, beginnings.made(self._root, ".nexus", self._new))
            state = beginnings.entered(self._open, beginnings.made(nexus, "state", self._new))
        self.nexus, self.state, held = nexus, state, self._access.lock(state)
        self.held, self._lock = held.__enter__(), held
        self._new += [(state, lock.NAME)] * self.held.created

    def _take_back(self, error: BaseException) -> None:
        if self._is_begun:
            if self._wrote_ignore and self.held.is_ours():  # else it is somebody else's by now
                beginnings.unignore(self.nexus)
            if not isinstance(error, NexusError):
                error.add_note(BEGUN)
        beginnings.take_back(self._new, None if self._lock is None else self.held)
        self._access.swept = False
