"""The store: what the tools read and change (docs/decisions/0003)."""

from __future__ import annotations

import time
from contextlib import contextmanager

from nexus_mcp import log
from nexus_mcp.errors import NexusError, NotAppliedYet, NotConfirmed, StateError, StorageError
from nexus_mcp.store import atomic, journal, lock, unanswered
from nexus_mcp.store.access import Access, finish
from nexus_mcp.store.folder import Folder, reason
from nexus_mcp.store.transaction import PLAN, TASKS, Transaction, read_history, read_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from nexus_mcp.store.history_file import HistoryFile
    from nexus_mcp.workspace import Workspace

    Make = Callable[[Transaction], dict[str, Any]]

_IGNORE = ".gitignore"
_IGNORED = b"state/\n"


class Store:
    """The files of one workspace. `now` gives seconds since 1970; `wait` is how long a writer waits for the lock."""

    __slots__ = ("_access", "_now")

    def __init__(
        self, workspace: Workspace, now: Callable[[], float] | None = None, wait: float = lock.WAIT_SECONDS
    ) -> None:
        self._access = Access(workspace.root, wait)
        self._now = now or time.time

    def plan(self) -> dict[str, Any] | None:
        """plan.json as it is now, None when there is no plan. Raises StateError, PathRefused, StorageError."""
        with self._access.reading() as (_, state):
            return read_session(state, PLAN)[1]

    def tasks(self) -> dict[str, Any] | None:
        """tasks.json as it is now, None when absent. Raises StateError, PathRefused, StorageError."""
        with self._access.reading() as (_, state):
            return read_session(state, TASKS)[1]

    def history(self) -> HistoryFile:
        """history.json as it is now. Raises StateError, PathRefused, StorageError."""
        with self._access.reading() as (nexus, _):
            return read_history(nexus)

    def initialise(self) -> list[str]:
        """Make `.nexus/`, `.nexus/state/` and `.nexus/.gitignore` where absent; those made, as paths from the root."""
        with self._access.folders() as (nexus, state):
            made = [".nexus/"] * (nexus is None) + [".nexus/state/"] * (state is None)
        with self._access.writing() as (nexus, _):
            return made + [".nexus/.gitignore"] * _ignore(nexus)

    def change(self, make: Make) -> dict[str, Any]:
        """Run `make` under the lock, write what it asked for, return its answer.

        `make` may be run twice and must do nothing but read the transaction and ask for writes. What it raises goes
        out, with nothing written. A change with a cycle goes through the journal. Raises StorageError when nothing
        was changed, NotAppliedYet and NotConfirmed when it was.
        """
        return self._change(make, keep_answer=False)[0]

    def close(self, make: Make) -> tuple[dict[str, Any], unanswered.Unanswered | None]:
        """As `change`, and the answer is kept until it was written out: (answer, the marker that keeps it)."""
        return self._change(make, keep_answer=True)

    @contextmanager
    def locked_state(self) -> Iterator[Folder]:
        """The folder `.nexus/state`, made when absent, with the lock held: for files that need no transaction."""
        with self._access.writing() as (nexus, state), _ignored(nexus):
            yield state

    def _change(self, make: Make, *, keep_answer: bool) -> tuple[dict[str, Any], unanswered.Unanswered | None]:
        self._rehearse(make)
        with self._access.writing() as (nexus, state):
            kept: list[unanswered.Unanswered] = []
            transaction = Transaction(nexus, state, self._now, lambda history: self._recovered(state, history, kept))
            answer = make(transaction)
            if kept:
                return answer, kept[0]
            with _ignored(nexus):
                return answer, self._commit(nexus, state, transaction, answer if keep_answer else None)

    def _rehearse(self, make: Make) -> None:
        """Where nothing was ever written, a call that is going to fail must not leave so much as a folder."""
        with self._access.folders() as (nexus, state):
            if state is None or not (state.check_plain(lock.NAME) or state.check_plain(journal.NAME)):
                make(Transaction(nexus, state, self._now, lambda _: None))

    def _commit(
        self, nexus: Folder, state: Folder, asked: Transaction, answer: dict[str, Any] | None
    ) -> unanswered.Unanswered | None:
        if asked.cycle is None:
            if len(asked.writes) > 1:
                raise ValueError("several files change together only with a cycle")
            for name, (_, after) in asked.writes.items():
                _write(state, name, after)
            self._forget(state)
            return None
        entry = journal.record(asked.cycle, asked.writes, answer)
        if sum(map(len, asked.history.with_cycle(asked.cycle))) > journal.HISTORY_LIMIT:
            raise StateError(journal.SHOWN_HISTORY, f"would grow beyond {journal.HISTORY_LIMIT >> 20} MiB")
        try:
            atomic.replace(state, journal.NAME, [journal.encoded(entry)])
        except OSError as error:
            raise StorageError(journal.SHOWN, "write", reason(error)) from error
        except atomic.Unsynced as error:
            raise NotAppliedYet(journal.SHOWN, reason(error.cause)) from error
        finish(nexus, state, entry, asked.history)
        if answer is None:
            self._forget(state)
            return None
        return unanswered.held(state, unanswered.name_of(entry["id"]), self._access.state)

    def _recovered(
        self, state: Folder, history: HistoryFile, kept: list[unanswered.Unanswered]
    ) -> dict[str, Any] | None:
        """The answer of a close that was never delivered, taken over so that nobody else gives it too.

        Only where its cycle still is in the history: git may have taken it out since.
        """
        found: dict[str, Any] | None = None
        for entry, holder in unanswered.left_behind(state, self._access.state):
            if found is None and history.has(entry["cycle"]):
                found = entry["answer"]
                kept.append(holder)
            else:
                holder.undelivered()
        return found

    def _forget(self, state: Folder) -> None:
        """Something was opened after a close that went unanswered: its client went on, nobody will ask again."""
        try:
            for _, holder in unanswered.left_behind(state, self._access.state):
                holder.delivered()
        except (OSError, NexusError) as error:
            # The change itself is on disk and must be answered as such; at worst an old answer is given once more.
            log.warning(f"could not look for unanswered closes: {error}")


def _ignore(nexus: Folder) -> bool:
    """Write `.gitignore` when it is absent; whether it was."""
    if nexus.check_plain(_IGNORE):
        return False
    _write(nexus, _IGNORE, _IGNORED)
    return True


@contextmanager
def _ignored(nexus: Folder) -> Iterator[None]:
    """`.gitignore` comes with the first write: it is there before, and goes again when that write fails."""
    written = _ignore(nexus)
    try:
        yield
    except (NotAppliedYet, NotConfirmed):
        raise
    except BaseException:
        if written:
            nexus.unlink(_IGNORE)
        raise


def _write(folder: Folder, name: str, data: bytes | None) -> None:
    try:
        if data is None:
            atomic.remove(folder, name)
        else:
            atomic.replace(folder, name, [data])
    except atomic.Unsynced as error:
        raise NotConfirmed(folder.show(name), reason(error.cause)) from error
    except OSError as error:
        raise StorageError(folder.show(name), "write", reason(error)) from error
