"""The files that a harness keeps for itself in `.nexus/state/<harness id>/`, and the log of the tools beside them."""

from __future__ import annotations

from contextlib import contextmanager

from nexus_mcp import schemas
from nexus_mcp.errors import NotConfirmed, StateError
from nexus_mcp.state import shapes, tracker
from nexus_mcp.store import atomic, jsonl
from nexus_mcp.store.codec import decode, encode
from nexus_mcp.store.journal import SESSION_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nexus_mcp.state.tracker import Entry
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import Held
    from nexus_mcp.store.store import Store

TRACKER = "agent-tracker.json"
ACCESS = "memory-access.jsonl"
TOOL_LOG = "tool-log.jsonl"


def change_tracker(
    store: Store, harness_id: str, make: Callable[[list[Entry]], list[Entry] | None]
) -> list[Entry] | None:
    """Put what `make` makes of the tracker in its place, and return it; nothing is written when it makes None.

    `make` gets the agents of the tracker, none when there is no file, and may be run twice. Raises StateError,
    PathRefused and StorageError with nothing written, NotConfirmed.
    """
    with store.state() as state:
        own = None if state is None else state.child(harness_id)
        if own is None:
            seen = make([])
        else:
            with own:
                seen = make(_tracker(own))
    if seen is None:  # not so much as a folder is left by a call that has nothing to write
        return None
    with own_folder(store, harness_id) as (own, held):
        entries = make(_tracker(own))
        if entries is not None:
            atomic.put(own, TRACKER, _encoded(entries, own.show(TRACKER)), held.check)
        return entries


def begin_session(store: Store, harness_id: str, *, reset: bool) -> str:
    """Make all folders; with `reset` an empty tracker as well.

    What a tracker that cannot be read as one is called now, as a path from the project root; "" when there was none.
    Raises as `change_tracker` does.
    """
    with own_folder(store, harness_id) as (own, held):
        if not reset:
            return ""
        kept = ""
        try:
            is_empty = own.check_plain(TRACKER) and not _tracker(own)
        except StateError:
            is_empty, kept = False, own.show(atomic.set_aside(own, TRACKER, f"conflict-{TRACKER}"))
        if not is_empty:
            atomic.put(own, TRACKER, _encoded([], own.show(TRACKER)), held.check)
        return kept


def drop_old_tracker(store: Store) -> list[str]:
    """Remove a tracker in `.nexus/state` itself, where old versions had it; what was removed. Raises as above."""
    with store.state() as state:
        if state is None or not state.check_plain(TRACKER):
            return []
    with store.locked_state() as (state, held):
        atomic.put(state, TRACKER, None, held.check)
        return [state.show(TRACKER)]


def agents(store: Store, harness_id: str) -> list[Entry]:
    """The agents in the tracker, none when there is no file. Raises StateError, PathRefused, StorageError."""
    with store.state() as state:
        own = None if state is None else state.child(harness_id)
        if own is None:
            return []
        with own:
            return _tracker(own)


def usable_agents(store: Store, harness_id: str) -> tuple[list[Entry], StateError | None]:
    """(the agents in the tracker that can be used, what is wrong with the others). Raises PathRefused, StorageError."""
    with store.state() as state:
        own = None if state is None else state.child(harness_id)
        if own is None:
            return [], None
        with own:
            try:
                return _tracker(own), None
            except StateError as error:
                return _usable(own), error


def _usable(own: Folder) -> list[Entry]:
    try:
        data = own.read(TRACKER, SESSION_LIMIT)
        return [] if data is None else tracker.usable(decode(data, own.show(TRACKER)))
    except StateError:
        return []


def end_session(store: Store, harness_id: str) -> tuple[list[str], list[str], str]:
    """Remove the tracker, and see to it that the record of the notes read is there.

    (the files made, the files removed, what a tracker that cannot be read as one is called now: "" when there was
    none), as paths from the project root. Raises as `change_tracker` does.
    """
    with own_folder(store, harness_id) as (own, held):
        made, there = not own.check_plain(ACCESS), own.check_plain(TRACKER)
        if made:
            atomic.put(own, ACCESS, b"", held.check)
        removed, kept = there, ""
        if there:
            held.check()
            try:
                _tracker(own)
                atomic.put(own, TRACKER, None)
            except StateError:
                # Nobody knows what is in it, so it is not thrown away; nor may it stop every session from now on.
                removed, kept = False, own.show(atomic.set_aside(own, TRACKER, f"conflict-{TRACKER}"))
        return [own.show(ACCESS)] * made, [own.show(TRACKER)] * removed, kept


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


def _tracker(own: Folder) -> list[Entry]:
    data = own.read(TRACKER, SESSION_LIMIT)
    shown = own.show(TRACKER)
    return [] if data is None else tracker.checked(decode(data, shown), shown)


def _encoded(entries: list[Entry], shown: str) -> bytes:
    try:
        data = encode(shapes.ordered(entries, schemas.load(tracker.SCHEMA)))
    except ValueError as error:
        raise StateError(shown, "would hold a number with more digits than can be read back") from error
    if len(data) > SESSION_LIMIT:
        raise StateError(shown, f"would grow beyond {SESSION_LIMIT >> 20} MiB")
    return data
