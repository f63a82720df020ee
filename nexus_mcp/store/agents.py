"""Read and write the agents of a harness: agent-tracker.json (in the contract's format) and agents.extension.jsonl.

Readers take no lock and complete no interrupted change, because the journal never holds these files.
"""

from __future__ import annotations

import os
from contextlib import suppress

from nexus_mcp import schemas
from nexus_mcp.errors import LockTimeout, NexusError, StateError
from nexus_mcp.state import agents, shapes, tracker
from nexus_mcp.state.agents import Records
from nexus_mcp.store import agents_extension, atomic
from nexus_mcp.store.codec import decode, encode
from nexus_mcp.store.harness_files import ACCESS, TRACKER, own_folder
from nexus_mcp.store.journal import SESSION_LIMIT

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.state.agents import Event
    from nexus_mcp.state.tracker import Entry
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import HeldLock
    from nexus_mcp.store.store import Store

EVENT_WAIT_S = 0.5
"""Seconds that a hook waits for the lock to record an event of an agent. After that it records the event without the
lock, long before its deadline.
"""
_LOOKS = 5
_FILES = (agents_extension.OLD, agents_extension.NAME, TRACKER)


class Agents:
    """The result of `read` and `load`: the `records`, and the reasons not to rely on them.

    `fault` is the reason why all or a part of the tracker is unusable, `extension_fault` the reason why
    agents.extension.jsonl cannot be read. `data` is the tracker in bytes, `entries` its usable entries. For
    agents.extension.jsonl, `events` are the ids of its events and the newest ids of its last fold line
    (state/agents.py), `bad` is the number of its malformed lines, `size` its size in bytes. `base` is a new fold line
    for the tracker if there are `events`, but no fold line of this tracker; else None.

    `is_sure` is False if agents.extension.jsonl cannot be read, or has malformed lines and no fold line of this
    tracker, or if the files changed during each read without the lock: then an agent without a known session may belong
    to any session.
    """

    __slots__ = ("bad", "base", "data", "entries", "events", "extension_fault", "fault", "is_sure", "records", "size")

    def __init__(self) -> None:
        self.records = Records([], {}, {})
        self.fault: NexusError | None = None
        self.extension_fault: NexusError | None = None
        self.is_sure = True
        self.data: bytes | None = None
        self.base: agents.Line | None = None
        self.entries: list[Entry] = []
        self.events: list[str] = []
        self.bad = self.size = 0


def read(store: Store, harness_id: str) -> Agents:
    """Return the agents of all sessions of a harness, with the faults of its files. Raise PathRefused for a folder
    above the files, StorageError.
    """
    with store.own_as_it_is(harness_id) as own:
        return Agents() if own is None else _load_unlocked(own, harness_id)


def record(store: Store, harness_id: str, event: Event) -> tuple[Records | None, bool]:
    """Record an event of an agent: in the tracker, or in agents.extension.jsonl if the lock is not free in time.

    Return (the records after the event, whether a text was truncated). If the event resumes or completes an unknown
    agent, return None as the records, and write nothing. Raise StateError, PathRefused and StorageError with nothing
    recorded (but a StorageError without the lock may come after the write), NotConfirmed.
    """
    event = {"id": os.urandom(8).hex(), **event}
    try:
        with store.deadline.at_most(EVENT_WAIT_S):
            return change(store, harness_id, lambda records: records.apply(event, harness_id)), False
    except LockTimeout:
        after = read(store, harness_id).records.apply(event, harness_id)
        short, is_cut = agents_extension.shorten(event)
        if after is not None:
            append_unlocked(store, harness_id, short)
        return after, is_cut


def change(store: Store, harness_id: str, make: Callable[[Records], Records | None]) -> Records | None:
    """Replace the records by the result of `make`, and return this result; write nothing if `make` returns None.

    `make` may run twice. Raise the errors of `record`.
    """
    with store.state() as state:
        own = None if state is None else state.child(harness_id)
        if own is None:
            seen = make(Records([], {}, {}))
        else:
            with own:
                seen = make(_check(_load_unlocked(own, harness_id)).records)
    if seen is None:  # a call that writes nothing must not leave a folder
        return None
    with own_folder(store, harness_id) as (own, held):
        found = _check(load(own, harness_id))
        records = make(found.records)
        if records is not None:
            write(own, held, found, records)
        return records


def append_unlocked(store: Store, harness_id: str, line: agents.Line) -> None:
    """Append a line to agents.extension.jsonl without the lock; do nothing if there is no `.nexus/state`.

    Raise StateError, PathRefused, StorageError.
    """
    with store.state_as_it_is() as state:
        if state is not None:  # the folder exists: a process has the lock in it, or a session has begun
            with state.make(harness_id, confirm=False)[0] as own:
                agents_extension.append(own, [line], agents_extension.APPEND_LIMIT)


def load(own: Folder, harness_id: str) -> Agents:
    """Return the agents in the folder `own` of a harness, with the faults of its files. Needs the lock; without it use
    `read`, which repeats `load` if the files change meanwhile.
    """
    found = Agents()
    lines: list[agents.Line] = []
    try:
        lines, found.bad, found.size = agents_extension.read(own)
    except NexusError as error:
        found.extension_fault = error
    # Read the tracker last: an event is removed from agents.extension.jsonl only after it was written to the tracker.
    try:
        found.data = own.read(TRACKER, SESSION_LIMIT)
        found.entries = [] if found.data is None else _entries(found, own.show(TRACKER))
    except NexusError as error:
        found.fault = error
    merged = agents.merge(found.entries, checksum_of(found.data), lines, harness_id)
    found.records, found.events, fold, is_exact = merged
    if found.events and not is_exact:
        found.base = fold
    found.is_sure = found.extension_fault is None and (is_exact or not found.bad)
    return found


def write(
    own: Folder, held: HeldLock, found: Agents, records: Records, *, is_made: bool = False, is_last: bool = False
) -> None:
    """Append a fold line to agents.extension.jsonl if one is needed, then write the tracker if it changes, then shorten
    agents.extension.jsonl if necessary.

    With `is_made` a tracker without agents is written, too; with `is_last` the tracker is removed. Needs the lock.
    Raise StateError, PathRefused and StorageError with the agents unchanged, NotConfirmed.
    """
    data = found.data
    if is_last:
        data = None
    elif is_made or data is not None or records.entries:
        is_same = data is not None and records.entries == found.entries
        data = data if is_same else _encode(records.entries, own.show(TRACKER))
    checksum = checksum_of(data)
    fold = agents.make_fold(records, checksum, found.events)
    # Keep the ids of events until the last session ends: a hook that was stopped during an append may append its event
    # again when it continues.
    is_needed = agents.is_needed(records) or (bool(found.events) and not is_last)
    if is_needed or found.size:
        # The fold line of the present tracker is written first: if this process dies before the tracker is replaced,
        # nothing has changed.
        before = [] if found.base is None else [found.base]
        agents_extension.append(own, [*before, fold])
    if data != found.data:
        atomic.put(own, TRACKER, data, held.check)
    if found.size and (not is_needed or found.bad or found.size > agents_extension.TIDY_FROM):
        with suppress(NexusError, OSError):  # the file keeps its size, and the next lock holder tries again
            agents_extension.tidy(own, fold if is_needed else None, frozenset(found.events))


def checksum_of(data: bytes | None) -> str:
    """Return a checksum of a tracker, which protects only against accidents; "" if there is no tracker."""
    if data is None:
        return ""
    from zlib import crc32

    return f"{len(data)}-{crc32(data):08x}"


def _load_unlocked(own: Folder, harness_id: str) -> Agents:
    for _ in range(_LOOKS):
        before = _look(own)
        found = load(own, harness_id)
        if _look(own) == before:
            return found
    found.is_sure = False
    return found


def _look(own: Folder) -> list[tuple[int, int, int] | None]:
    return [None if one is None else (one.st_ino, one.st_size, one.st_mtime_ns) for one in own.look_all(_FILES)]


def _check(found: Agents) -> Agents:
    fault = found.extension_fault or found.fault
    if fault is not None:
        raise fault
    return found


def _entries(found: Agents, shown: str) -> list[Entry]:
    value = decode(found.data or b"", shown)
    try:
        return tracker.check(value, shown)
    except StateError as error:
        found.fault = error
        return tracker.filter_usable(value)


def _encode(entries: list[Entry], shown: str) -> bytes:
    try:
        data = encode(shapes.order(entries, schemas.load(tracker.SCHEMA)))
    except ValueError as error:
        raise StateError(shown, "would hold a number with more digits than can be read back") from error
    if len(data) > SESSION_LIMIT:
        raise StateError(shown, f"would grow beyond {SESSION_LIMIT >> 20} MiB")
    return data


OVER_AFTER_S = 24 * 3600.0
"""Seconds without an event after which a session is over."""
NOTED_AFTER_S = 3600.0
"""The minimum number of seconds between two stored events of a session that change no agent, because to store each use
of a tool would cost too much.
"""


def touch(store: Store, harness_id: str, session: str, records: Records) -> None:
    """Store the time of an event of a session, unless a time within the last hour is stored. Never raises.

    A session that has not begun, and has no agent, is skipped.
    """
    last = records.last_event(session)
    if last is not None and _is_due(store, last):
        with suppress(NexusError):
            append_unlocked(store, harness_id, agents.make_seen(session, store.stamp()))


def begin(store: Store, harness_id: str, session: str, *, reset: bool) -> str:
    """Create the folders up to that of the harness, and store the time of the event, without `reset` only if the stored
    one is older than NOTED_AFTER_S. With `reset` remove the agents of the session and of all sessions that are over.

    Return the new path, from the project root, to which an unreadable tracker was renamed, or else an unreadable
    agents.extension.jsonl; "" if both were readable, or without `reset`. Raise StateError, PathRefused and StorageError
    with no agent removed, NotConfirmed.
    """
    with own_folder(store, harness_id) as (own, held):
        if not reset:
            if session and _is_due(store, load(own, harness_id).records.last_event(session) or ""):
                with suppress(NexusError):
                    agents_extension.append(own, [agents.make_seen(session, store.stamp())])
            return ""
        found, kept = _salvage(own, harness_id)
        left = _records_left(store, found, session)
        write(own, held, found, left.with_seen(session, store.stamp()) if session else left, is_made=True)
        return kept


def end(store: Store, harness_id: str, session: str) -> tuple[list[str], list[str], str]:
    """Remove the agents of the session and of all sessions that are over, and after the last session the tracker.
    Create memory-access.jsonl if absent.

    Return (the created files, the removed files, the new path of an unreadable file as from `begin`), as paths from the
    project root. Raise the errors of `begin`.
    """
    with own_folder(store, harness_id) as (own, held):
        is_made, there = not own.check_plain(ACCESS), own.check_plain(TRACKER)
        is_beside = agents_extension.is_there(own)
        if is_made:
            atomic.put(own, ACCESS, b"", held.check)
        kept, is_removed = "", False
        if there or is_beside:
            held.check()
            found, kept = _salvage(own, harness_id)
            left = _records_left(store, found, session)
            is_last = not (left.entries or left.seen)
            write(own, held, found, left, is_last=is_last)
            is_removed = there and is_last and found.fault is None
        return [own.show(ACCESS)] * is_made, [own.show(TRACKER)] * is_removed, kept


def _records_left(store: Store, found: Agents, session: str) -> Records:
    """Return the records without this session, and without the sessions that are over."""
    # A running session may have had later events, within NOTED_AFTER_S of the last stored one, that were not stored. A
    # session whose last time is more than OVER_AFTER_S in the future is over, too, because that time must be wrong.
    before, after = store.stamp(-OVER_AFTER_S - NOTED_AFTER_S), store.stamp(OVER_AFTER_S)
    return found.records.without({session, *found.records.sessions_outside(before, after)})


def _is_due(store: Store, last: str) -> bool:
    return last <= store.stamp(-NOTED_AFTER_S)


def _salvage(own: Folder, harness_id: str) -> tuple[Agents, str]:
    """Rename an unreadable or malformed tracker, and an unreadable agents.extension.jsonl. Return (the agents, the new
    path as from `begin`).

    Raise PathRefused, StorageError, NotConfirmed.
    """
    found = load(own, harness_id)
    kept = ""
    for fault, name in ((found.extension_fault, agents_extension.NAME), (found.fault, TRACKER)):
        if fault is None:
            continue
        if not isinstance(fault, StateError):
            raise fault
        # The content of the unreadable file is unknown, so it is kept under a new name. Under its old name it would
        # make every later session fail.
        file = fault.file.rpartition("/")[2]
        kept = own.show(atomic.set_aside(own, file, f"conflict-{name}"))
    if found.fault is not None:
        found.data, found.entries = None, []
    return found, kept
