"""The store: what the tools read and change (docs/decisions/0003)."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress

from nexus_mcp.errors import NexusError
from nexus_mcp.state import times
from nexus_mcp.store import lock, unanswered
from nexus_mcp.store.access import Access
from nexus_mcp.store.history.memory import Memory
from nexus_mcp.store.patience import Patience
from nexus_mcp.store.places import SESSION
from nexus_mcp.store.session.kept import Both, Kept
from nexus_mcp.store.transaction import PLAN, TASKS, Transaction, read_history, read_session, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from nexus_mcp.state.oplog import By, Entry
    from nexus_mcp.store.access import Locked
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.workspace import Workspace

    Found = TypeVar("Found")
    Make = Callable[[Transaction], dict[str, Any]]


class Store:
    """The files of one workspace. `now` gives seconds since 1970; `wait` is how long a writer waits for the lock.

    With `in_all` that is for all calls of this store together, and for what else they wait for. `meanwhile`, which
    raises nothing, may be called with the answer of a change before that is on disk: while the disk is at work.
    """

    __slots__ = ("_access", "_done", "_kept", "_meanwhile", "_memory", "_now", "patience")

    def __init__(
        self,
        workspace: Workspace,
        now: Callable[[], float] | None = None,
        wait: float = lock.WAIT_SECONDS,
        *,
        in_all: bool = False,
        meanwhile: Callable[[dict[str, Any]], object] = bool,
    ) -> None:
        self.patience = Patience(wait, in_all=in_all)
        self._kept = Kept()
        self._access = Access(workspace.root, self.patience, self._kept.prepare)
        self._memory = Memory()
        self._meanwhile = meanwhile
        self._now = now or time.time
        self._done: Transaction | None = None

    def plan(self) -> dict[str, Any] | None:
        """plan.json as it is now, None when there is no plan. Raises StateError, PathRefused, StorageError."""
        return self._access.look(lambda _, state: value_of(read_session(state, PLAN, self._kept)))

    def tasks(self) -> dict[str, Any] | None:
        """tasks.json as it is now, None when absent. Raises StateError, PathRefused, StorageError."""
        return self._access.look(lambda _, state: value_of(read_session(state, TASKS, self._kept)))

    def both(self) -> Both:
        """plan.json and tasks.json as they were at one moment. Apart, a close might be seen half done.

        Raises nothing: what is wrong is raised by whoever asks for the one or the other.
        """
        try:
            return self._access.look(lambda _, state: Both(self._kept, state), several=True)
        except NexusError as error:
            return Both(self._kept, error)

    def history(self, at: Callable[[Archive], Found]) -> Found:
        """What `at` returns for history.json as it is now. Raises StateError, PathRefused, StorageError."""

        def read(nexus: Folder | None, state: Folder | None) -> Found:
            with read_history(nexus, state, self._memory) as archive:
                return at(archive)

        return self._access.look(read)

    def initialise(self) -> list[str]:
        """Make `.nexus/`, `.nexus/state/` and `.nexus/.gitignore` where absent; those made, as paths from the root."""
        with self._access.folders() as (nexus, state):
            made = [".nexus/"] * (nexus is None) + [".nexus/state/"] * (state is None)
        with self._access.writing() as at:
            return made + [".nexus/.gitignore"] * at.begin()

    def warm_up(self) -> Iterator[None]:
        """Come to know the session files, and load what a change takes, step by step. Raises what comes of that.

        The first step is needed by all that reads those files.
        """
        from nexus_mcp.store.session import reading  # noqa: F401

        yield

        for name in SESSION:
            # What is wrong is told by whoever reads it.
            with suppress(NexusError), self._access.folders() as (_, state):
                self._kept.read(state, name)
            yield
        from nexus_mcp.store import commit, jsonl  # noqa: F401

        yield
        import bisect  # noqa: F401 - a shared object, like the next
        import zlib  # noqa: F401

        from nexus_mcp.store import swap

        swap.prepare()

        with self._access.folders() as (_, state):
            self._kept.prepare(state)
        from nexus_mcp.state import shapes

        for schema in shapes.of_changes():
            yield
            schema.prepare()

    def stop(self) -> None:
        """End all waiting for the lock: the server is asked to stop. May be called from any thread."""
        self._access.stopping = True

    def tidy(self) -> None:
        """Do what nobody waits for, once the last change was answered: let go of what it replaced, and of the values
        that it was made from."""
        self._done = None

    def change(self, make: Make, by: By) -> dict[str, Any]:
        """Run `make` under the lock, write what it asked for, return its answer. `by` is for the operation log.

        `make` may be run several times and must do nothing but read the transaction and ask for writes: again where
        another program saved a file that it read. What it raises goes out, with nothing written. A change with a cycle,
        or of several files, goes through the journal. Raises StorageError when nothing was changed, NotAppliedYet and
        NotConfirmed when it was.
        """
        return self._change(make, by)[0]

    def preview(self, make: Make, by: By) -> dict[str, Any]:
        """What `change` would answer now. Nothing is written; an interrupted change is completed first.

        The lock is held meanwhile, or a file could be read after a change and the log before its note.
        """
        with (
            self._access.looking() as (nexus, state, completed),
            self._asked(nexus, state, by, lambda _: None, completed) as asked,
        ):
            return make(asked)

    def close(
        self, make: Make, by: By, is_answer: Callable[[dict[str, Any]], bool]
    ) -> tuple[dict[str, Any], unanswered.Unanswered | None]:
        """As `change`, and the answer is kept until it was written out: (answer, the marker that keeps it).

        `is_answer` says of a kept answer, which comes from a file, whether it is one that `make` could have given.
        """
        return self._change(make, by, is_answer)

    def stamp(self, offset_s: float = 0.0) -> str:
        """The time now, as the contract writes it; or so many seconds later."""
        return times.stamp(self._now() + offset_s)

    @contextmanager
    def state(self) -> Iterator[Folder | None]:
        """The folder `.nexus/state` as it is, None when absent. Raises StateError, PathRefused, StorageError."""
        with self._access.reading() as (_, state):
            yield state

    @contextmanager
    def nexus(self) -> Iterator[Folder | None]:
        """The folder `.nexus` as it is, None when absent: for the notes. Raises PathRefused, StorageError."""
        with self._access.folders() as (nexus, _):
            yield nexus

    @contextmanager
    def locked_state(self) -> Iterator[tuple[Folder, lock.Held]]:
        """`.nexus/state`, made when absent, and the lock, held: for files that need no transaction."""
        with self._access.writing() as at:
            at.begin()
            yield at.state, at.held

    @contextmanager
    def locked_nexus(self) -> Iterator[tuple[Folder, lock.Held]]:
        """`.nexus` itself in the same way: for the notes."""
        with self._access.writing() as at:
            at.begin()
            yield at.nexus, at.held

    def _change(
        self, make: Make, by: By, is_answer: Callable[[dict[str, Any]], bool] | None = None
    ) -> tuple[dict[str, Any], unanswered.Unanswered | None]:
        # Not at the start, and before anything is written.
        from nexus_mcp.store import commit  # noqa: F401
        from nexus_mcp.store.replacing import repeated

        with self._access.writing(lambda nexus, state: self._rehearse(nexus, state, make, by)) as at:
            return repeated(lambda: self._made(at, make, by, is_answer))

    def _made(
        self, at: Locked, make: Make, by: By, is_answer: Callable[[dict[str, Any]], bool] | None
    ) -> tuple[dict[str, Any], unanswered.Unanswered | None]:
        """As `_change`, once. Raises ChangedMeanwhile with nothing changed."""
        from nexus_mcp.store.commit import carry_out

        markers = unanswered.Markers(at.state, at.names, self._access.state, is_answer)
        with self._asked(at.nexus, at.state, by, markers.answer, at.completed) as asked:
            answer = make(asked)
            if markers.given is not None:
                return answer, markers.given
            at.begin()
            keep = None if is_answer is None else answer
            name = carry_out(at.nexus, at.state, asked, at.held, keep, meanwhile=lambda: self._meanwhile(answer))
            kept = None if name is None else unanswered.held(at.state, name, self._access.state)
            at.keep()
            self._done = asked
            if asked.cycle is not None or not asked.writes.keys().isdisjoint(SESSION):
                markers.forget(at.held.end)  # not for an artifact: who waits for an answer may not be who wrote it
            return answer, kept

    def _rehearse(self, nexus: Folder | None, state: Folder | None, make: Make, by: By) -> None:
        """Where nothing was ever written, a call that is going to fail must not leave so much as a folder."""
        with self._asked(nexus, state, by, lambda _: None) as asked:
            make(asked)

    def _asked(
        self,
        nexus: Folder | None,
        state: Folder | None,
        by: By,
        recovered: Callable[[Archive], dict[str, Any] | None],
        completed: Entry | None = None,
    ) -> Transaction:
        kept, memory = self._kept, self._memory
        return Transaction(nexus, state, by, self._now, recovered, kept=kept, memory=memory, completed=completed)
