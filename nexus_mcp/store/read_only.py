"""A store that never writes to the project, for the pages of the board.

An ordinary `Store` completes an interrupted change before it reads plan, tasks or history, and caches the index of a
long history in the project. A `ReadOnlyStore` reads the files as they are, and reports an interrupted change as an
error. Its caller provides a folder for the cache.
"""

from __future__ import annotations

from contextlib import contextmanager

from nexus_mcp.errors import JournalError, StorageError
from nexus_mcp.program import command
from nexus_mcp.store import journal
from nexus_mcp.store.access import LOOKS, Access
from nexus_mcp.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Never, TypeVar

    from nexus_mcp.store.access import Rehearse
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.workspace import Workspace

    Found = TypeVar("Found")

WAITING = "holds a change that was interrupted"


class ReadOnlyStore(Store):
    """The files of one workspace, only for reading. Every call that would write raises StorageError.

    `cache` is the path of a folder outside of the project for data derived from a long history; "" for none. The caller
    removes this folder.
    """

    __slots__ = ("_cache",)

    def __init__(self, workspace: Workspace, cache: str = "") -> None:
        super().__init__(workspace)
        self._cache = cache
        self._access = self._notes = ReadOnlyAccess(workspace.state_root, 0.0, self._session.prepare)
        if workspace.state_root != workspace.root:
            self._notes = ReadOnlyAccess(workspace.root, 0.0)
        self.deadline = self._access.deadline

    def history(self, at: Callable[[Archive], Found]) -> Found:
        """Return the result of `at` for history.json as it is now, without the cache of its index in the project.

        Raise JournalError, StateError, PathRefused, StorageError.
        """
        from contextlib import ExitStack

        from nexus_mcp.store.folder import Folder
        from nexus_mcp.store.history.archive import look

        with ExitStack() as stack:
            cache = stack.enter_context(Folder.root(self._cache)) if self._cache else None
            return self._access.look(lambda nexus, _: look(self._memory, at, nexus, cache))


class ReadOnlyAccess(Access):
    """The folders `.nexus` and `.nexus/state`, only for reading. It never takes the lock."""

    __slots__ = ()

    def look(self, at: Callable[[Folder | None, Folder | None], Found], *, several: bool = False) -> Found:
        """Return the result of `at`, as Access.look does. Raise JournalError if LOOKS attempts fail, because a change
        is interrupted or under way, or because with `several` two results in a row differ.
        """
        with self.folders() as (nexus, state):
            if nexus is None or state is None:
                return at(nexus, state)
            for _ in range(LOOKS):
                if state.check_plain(journal.NAME):
                    continue
                found = at(nexus, state)
                if not state.check_plain(journal.NAME) and (not several or at(nexus, state) == found):
                    return found
            advice = f"The next call of a tool, or {command('status')}, completes it."
            raise JournalError(state.show(journal.NAME), WAITING, next_step=advice)

    @contextmanager
    def recovered_state(self) -> Iterator[Folder | None]:
        """Return `.nexus/state`, None if absent; an interrupted change stays, and is no error."""
        with self.state() as state:
            yield state

    def writer_lock(self) -> Never:
        """Raise StorageError: this store only reads."""
        raise StorageError(".nexus", "change", "it was opened only for reading")

    def writing(self, rehearse: Rehearse | None = None) -> Never:  # noqa: ARG002
        """Raise StorageError, as `writer_lock` does."""
        self.writer_lock()

    def lock(self, state: Folder) -> Never:  # noqa: ARG002
        """Raise StorageError, as `writer_lock` does."""
        self.writer_lock()
