"""The sessions of a harness: whose agents go when one begins or ends, and which are over."""

from __future__ import annotations

from contextlib import suppress

from nexus_mcp.errors import NexusError, StateError
from nexus_mcp.state import agent_log
from nexus_mcp.store import agents_extension, atomic
from nexus_mcp.store.agent_files import Agents, append_unlocked, load, write
from nexus_mcp.store.harness_files import ACCESS, TRACKER, own_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.state.agent_records import Records
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.store import Store

OVER_AFTER_S = 24 * 3600.0
"""A session without an event for so long is over."""
NOTED_AFTER_S = 3600.0
"""An event of a session is noted when the last one that is known is older: not at every use of a tool."""


def touch(store: Store, harness_id: str, session: str, records: Records) -> None:
    """Note an event of a session, unless it has one of this hour. Never raises.

    A session that has not begun, and has no agent, is not noted.
    """
    if records.knows(session) and _is_due(store, session, records):
        with suppress(NexusError):
            append_unlocked(store, harness_id, agent_log.seen(session, store.stamp()))


def begin(store: Store, harness_id: str, session: str, *, reset: bool) -> str:
    """Make all folders; with `reset` the session has no agents from now on, nor has any that is over.

    Return what a tracker that cannot be read as one is called now, as a path from the project root; "" when there was
    none. Raises StateError, PathRefused and StorageError with nothing written, NotConfirmed.
    """
    with own_folder(store, harness_id) as (own, held):
        if not reset:
            if session and _is_due(store, session, load(own, harness_id).records):
                with suppress(NexusError):
                    agents_extension.append(own, [agent_log.seen(session, store.stamp())])
            return ""
        found, kept = _salvaged(own, harness_id)
        left = _left(store, found, session)
        write(own, held, found, left.with_seen(session, store.stamp()) if session else left, is_made=True)
        return kept


def end(store: Store, harness_id: str, session: str) -> tuple[list[str], list[str], str]:
    """Take the session's agents away, and the tracker with the last session; see that the record of reads is there.

    Return (the files made, the files removed, what a tracker that cannot be read as one is called now: "" when there
    was none), as paths from the project root. Raises as `begin` does.
    """
    with own_folder(store, harness_id) as (own, held):
        is_made, there = not own.check_plain(ACCESS), own.check_plain(TRACKER)
        is_beside = agents_extension.is_there(own)
        if is_made:
            atomic.put(own, ACCESS, b"", held.check)
        kept, is_last = "", False
        if there or is_beside:
            held.check()
            found, kept = _salvaged(own, harness_id)
            left = _left(store, found, session)
            is_last = not (left.entries or left.seen)
            write(own, held, found, left, is_last=is_last)
        return [own.show(ACCESS)] * is_made, [own.show(TRACKER)] * (there and is_last and not kept), kept


def _left(store: Store, found: Agents, session: str) -> Records:
    """The records without this session, and without those that are over."""
    # Of a session that goes on, events within the last hour may not be noted; one of tomorrow is no event.
    before, after = store.stamp(-OVER_AFTER_S - NOTED_AFTER_S), store.stamp(OVER_AFTER_S)
    return found.records.without({session, *found.records.ended(before, after)})


def _is_due(store: Store, session: str, records: Records) -> bool:
    return records.last_event(session) <= store.stamp(-NOTED_AFTER_S)


def _salvaged(own: Folder, harness_id: str) -> tuple[Agents, str]:
    """(what is there, what a tracker that cannot be read as one is called from now on, as is what is beside it).

    Raises PathRefused, StorageError, NotConfirmed.
    """
    found = load(own, harness_id)
    kept = ""
    for fault, name in ((found.extension_fault, agents_extension.NAME), (found.fault, TRACKER)):
        if fault is None:
            continue
        if not isinstance(fault, StateError):
            raise fault
        # Nobody knows what is in it, so it is not thrown away; nor may it stop every session from now on.
        file = fault.file.rpartition("/")[2]
        kept = own.show(atomic.set_aside(own, file, f"conflict-{name}"))
    if found.fault is not None:
        found.data, found.entries = None, []
    return found, kept
