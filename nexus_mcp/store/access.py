"""How the store reaches its files: the folders, the lock, and the recovery of what a crash left, in this order."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

from nexus_mcp import log
from nexus_mcp.errors import FolderGone, JournalError, NexusError, NotAppliedYet, NotConfirmed, StorageError
from nexus_mcp.store import atomic, journal, lock, unanswered
from nexus_mcp.store.beginnings import confirm_all, entered, made, sweep, take_back
from nexus_mcp.store.folder import Folder, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    from nexus_mcp.state.oplog import Entry
    from nexus_mcp.store.history.growing import Growth
    from nexus_mcp.store.patience import Patience

    Found = TypeVar("Found")
    Rehearse = Callable[[Folder | None, Folder | None], object]

_LOOKS = 8  # at several files
_DISK_ADVICE = "Check the free space and the permissions of .nexus, then call again."


class Access:
    """The folders `.nexus` and `.nexus/state` of the project at `root`. `patience`: how long to wait for the lock.

    `meanwhile` is called with `.nexus/state` when another process holds the lock, once, before that is waited for.
    """

    __slots__ = ("_meanwhile", "_swept", "patience", "root", "stopping")

    def __init__(self, root: str, patience: Patience, meanwhile: Callable[[Folder], object] = bool) -> None:
        self.root = root
        self._meanwhile = meanwhile
        self.patience = patience
        self.stopping = False
        self._swept = False  # whether this process has swept, and no change of its own has failed since

    @contextmanager
    def folders(self) -> Iterator[tuple[Folder | None, Folder | None]]:
        """(`.nexus`, `.nexus/state`) as they are, None where absent. Raises PathRefused, StorageError."""
        with ExitStack() as stack:
            root = stack.enter_context(Folder.root(self.root))
            nexus = entered(stack, root.child(".nexus"))
            state = entered(stack, nexus.child("state")) if nexus is not None else None
            yield nexus, state

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
        with self._lock(state):
            roll_forward(nexus, state)
            yield

    @contextmanager
    def looking(self) -> Iterator[tuple[Folder | None, Folder | None, Entry | None]]:
        """As `reading`, and nobody changes anything meanwhile. Makes nothing: without a lock file nobody has one.

        The third is what `roll_forward` says.
        """
        with self.folders() as (nexus, state), ExitStack() as stack:
            there = state is not None and (state.check_plain(lock.NAME) or state.check_plain(journal.NAME))
            completed = None
            if nexus is not None and state is not None and there:
                stack.enter_context(self._lock(state))
                completed = roll_forward(nexus, state)
            yield nexus, state, completed

    @contextmanager
    def writing(self, rehearse: Rehearse | None = None) -> Iterator[tuple[Folder, Folder, lock.Held, Entry | None]]:
        """As `locked`, with interrupted changes completed. The fourth is what `roll_forward` says."""
        with self.locked(rehearse) as (nexus, state, held):
            yield nexus, state, held, roll_forward(nexus, state)

    @contextmanager
    def locked(self, rehearse: Rehearse | None = None) -> Iterator[tuple[Folder, Folder, lock.Held]]:
        """(`.nexus`, `.nexus/state`, the lock), made where absent. An interrupted change may still wait.

        What was made goes again when the block fails, so that a first call that fails leaves nothing behind. Where
        nothing was ever written `rehearse` is called before anything is made, with the folders that there are.
        """
        with ExitStack() as stack:
            root = stack.enter_context(Folder.root(self.root))
            new: list[tuple[Folder, str]] = []
            held: lock.Held | None = None
            try:
                nexus, state, held = self._entered(stack, root, new, rehearse)
                yield nexus, state, held
            except (NotAppliedYet, NotConfirmed):
                raise
            except BaseException:
                take_back(new, held)
                self._swept = False
                raise

    def _entered(
        self, stack: ExitStack, root: Folder, new: list[tuple[Folder, str]], rehearse: Rehearse | None, tries: int = 5
    ) -> tuple[Folder, Folder, lock.Held]:
        nexus = entered(stack, root.child(".nexus"))
        state = entered(stack, nexus.child("state")) if nexus is not None else None
        used = state is not None and state.check_plain(lock.NAME)
        if rehearse is not None and not used and not (state is not None and state.check_plain(journal.NAME)):
            rehearse(nexus, state)
        try:
            if nexus is None or state is None or not used:
                nexus = stack.enter_context(made(root, ".nexus", new))
                state = stack.enter_context(made(nexus, "state", new))
            held = stack.enter_context(self._lock(state))
        except FolderGone:  # with another first write, which failed just then
            if tries <= 1:
                raise
            return self._entered(stack, root, new, rehearse, tries - 1)
        if held.created:
            new.append((state, lock.NAME))
        return nexus, state, held

    def begin(self, nexus: Folder, state: Folder, held: lock.Held, *, with_news: bool = False) -> None:
        """What comes before the first write of a change, once nothing is left that could refuse it.

        What a dead writer left is swept where one may have died: the first time, and when the lock was not let go. (A
        cut of the power takes all processes, so that the first time comes again.) Whatever is new on the way to the
        files is synced, before anything relies on it: the folders unless the lock vouches for them, and `.nexus` when
        something was put into it just now, which `with_news` says. Raises StorageError.
        """
        if not (self._swept and held.orderly):
            held.check()
            sweep(nexus, state, notes=not held.orderly)
        if with_news or not held.orderly:
            with Folder.root(self.root) as root:
                confirm_all(root, nexus)
        held.orderly = self._swept = True

    def _lock(self, state: Folder) -> AbstractContextManager[lock.Held]:
        return lock.held(state, self.patience.at(state), lambda: self.stopping, lambda: self._meanwhile(state))


def roll_forward(nexus: Folder, state: Folder) -> Entry | None:
    """Complete the change whose journal waits, if one does. Only under the lock. Raises JournalError.

    It is somebody else's change: whoever calls now must not take it for his own. The entry of one without a cycle is
    returned, so that an undo can tell whether it was an undo.
    """
    entry = journal.pending(state)
    if entry is None:
        return None
    from nexus_mcp.store import oplog

    try:
        _confirm_journal(state)
        # Whoever began it may have noted it before he died.
        finish(nexus, state, entry, lambda: oplog.unless_there(state, journal.log_entry(entry)))
    except NotAppliedYet as error:
        cause = error.__cause__
        raise JournalError(
            journal.SHOWN,
            f"holds an earlier change that could not be completed ({error.reason})",
            next_step=cause.next_step if isinstance(cause, NexusError) else _DISK_ADVICE,
        ) from error
    try:
        for folder in (nexus, state):
            atomic.sweep(folder)  # of what was prepared by whoever died
    except StorageError as error:
        log.warning(error.fault)
    return entry["log"] if entry["cycle"] is None else None


def _confirm_journal(state: Folder) -> None:
    """Sync the journal's name, which must last as long as its change: who put it there may have died before.

    Raises NotAppliedYet.
    """
    try:
        atomic.confirm(state)
    except atomic.Unsynced as error:
        raise NotAppliedYet(journal.SHOWN, reason(error.cause)) from error


def finish(
    nexus: Folder,
    state: Folder,
    entry: dict[str, Any],
    make_entry: Callable[[], Entry | None],
    *,
    growth: Growth | None = None,
    prepared: Mapping[str, str] | None = None,
) -> None:
    """Apply a journal that is in place, then take it away, or turn it into the marker of its answer.

    What `make_entry` makes goes into the operation log while the journal is still there: no death comes in between.
    `growth` and `prepared` as for journal.apply. Raises NotAppliedYet.
    """
    from nexus_mcp.store import oplog

    try:
        journal.apply(nexus, state, entry, growth, prepared or {})
        oplog.note(state, make_entry)
        if entry["answer"] is None:
            atomic.remove(state, journal.NAME)
        else:
            state.rename(journal.NAME, unanswered.name_of(entry["id"]))
            atomic.confirm(state)
    except atomic.Unsynced as error:
        raise NotAppliedYet(journal.SHOWN, reason(error.cause)) from error
    except OSError as error:
        raise NotAppliedYet(journal.SHOWN, reason(error)) from error
    except (ImportError, MemoryError) as error:  # a module that is loaded only now, or too little of something
        raise NotAppliedYet(journal.SHOWN, str(error) or type(error).__name__) from error
    except NexusError as error:
        raise NotAppliedYet(journal.SHOWN, error.fault) from error
