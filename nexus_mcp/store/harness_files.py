"""The files that a harness keeps for itself in `.nexus/state/<harness id>/`, and the log of the tools beside them."""

from __future__ import annotations

from contextlib import contextmanager

from nexus_mcp.errors import NotConfirmed
from nexus_mcp.store import atomic, jsonl
from nexus_mcp.store.journal import SESSION_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import Held
    from nexus_mcp.store.store import Store

TRACKER = "agent-tracker.json"
ACCESS = "memory-access.jsonl"
TOOL_LOG = "tool-log.jsonl"


def drop_old_tracker(store: Store) -> list[str]:
    """Remove a tracker in `.nexus/state` itself, where old versions had it; what was removed. Raises PathRefused,
    StorageError, NotConfirmed."""
    with store.state() as state:
        if state is None or not state.check_plain(TRACKER):
            return []
    with store.locked_state() as (state, held):
        atomic.put(state, TRACKER, None, held.check)
        return [state.show(TRACKER)]


def tool_log(store: Store) -> tuple[list[dict[str, object]], int] | None:
    """(the lines of the log of the tools that can be read, how many cannot); None when there is no log.

    Raises StateError, PathRefused, StorageError.
    """
    with store.state() as state:
        lines = jsonl.lines(state, TOOL_LOG, SESSION_LIMIT)
    if lines is None:
        return None
    good = [value for _, value in lines if value is not None]
    return good, len(lines) - len(good)


@contextmanager
def own_folder(store: Store, harness_id: str) -> Iterator[tuple[Folder, Held]]:
    """The folder of the harness, made when absent, with the lock held. A first call that fails takes it away again."""
    with store.locked_state() as (state, held):
        own, is_new = state.make(harness_id)
        with own:
            try:
                atomic.sweep(own)
                yield own, held
            except NotConfirmed:
                raise
            except BaseException:
                if is_new:
                    state.remove_folder(harness_id)
                raise
