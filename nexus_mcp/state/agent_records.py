"""The agents of all sessions of a harness: the entries of the tracker, and what the tracker has no field for.

The tracker does not say which session an agent belongs to, nor which names it was told of that its schema refuses. Both
are kept beside it by the agent's id and its started_at, which no two entries share (store/agent_files.py writes them).
"""

from __future__ import annotations

from nexus_mcp.state import times, tracker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from nexus_mcp.state.tracker import Entry

    Key = tuple[str, str]
    Extra = dict[str, Any]
    Event = dict[str, Any]

SPAWN, RESUME, COMPLETE = "spawn", "resume", "complete"
ANONYMOUS = ""
"""The session of all events without a session_id, and of all entries of which no session is known."""
MOST_NAMES = 16
"""Names that are kept of an agent beside that of the tracker. One with so many may have had more."""
_TIMES = ("started_at", "last_resumed_at", "stopped_at")
_SHORTEST_TIME = len("2026-01-01T00:00:00Z")


class Records:
    """The agents of a harness. Never changed in place.

    `entries` are those of the tracker. `extras` has, by agent_id and started_at, `session_id` and `names`: each is left
    out where there is none. `seen` has the time of the last known event of each session that has begun.
    """

    __slots__ = ("entries", "extras", "seen")

    def __init__(self, entries: list[Entry], extras: dict[Key, Extra], seen: dict[str, str]) -> None:
        self.entries = entries
        self.extras = extras
        self.seen = seen

    def session_of(self, entry: Entry) -> str:
        """Return the session that the agent belongs to; ANONYMOUS where none is known."""
        session: str = self._extra(entry).get("session_id", ANONYMOUS)
        return session

    def names_of(self, entry: Entry) -> list[str]:
        """Return all names that the agent was told by, that of the tracker first; [] when it has none."""
        name = entry.get("agent_name")
        return [*([name] if isinstance(name, str) and name else []), *self._extra(entry).get("names", ())]

    def has_too_many_names(self, entry: Entry) -> bool:
        """Whether the agent may have been told by a name that was not kept."""
        return len(self._extra(entry).get("names", ())) >= MOST_NAMES

    def all(self, agent_id: str) -> list[Entry]:
        """Return the agents with this id, of any session."""
        return [entry for entry in self.entries if entry.get("agent_id") == agent_id]

    def own(self, agent_id: str, session: str) -> Entry | None:
        """Return the agent of this session with this id, the newest where there are several."""
        return next((entry for entry in reversed(self.all(agent_id)) if self.session_of(entry) == session), None)

    def pairs(self) -> set[tuple[object, str]]:
        """Return the id and the session of each agent."""
        return {(entry.get("agent_id"), self.session_of(entry)) for entry in self.entries}

    def last_event(self, session: str) -> str:
        """Return the time of the last known event of a session; "" when none is known."""
        own = [entry for entry in self.entries if self.session_of(entry) == session]
        return max([self.seen.get(session, ""), *(time for entry in own for time in _times(entry))])

    def knows(self, session: str) -> bool:
        """Whether the session has begun, or has an agent."""
        return session in self.seen or any(self.session_of(entry) == session for entry in self.entries)

    def with_seen(self, session: str, at: str) -> Records:
        """Return the records with an event of the session at this time."""
        return Records(self.entries, self.extras, {**self.seen, session: max(at, self.seen.get(session, ""))})

    def without(self, sessions: Iterable[str]) -> Records:
        """Return the records without these sessions and their agents."""
        gone = frozenset(sessions)
        entries = [entry for entry in self.entries if self.session_of(entry) not in gone]
        keys = {key_of(entry) for entry in entries}
        extras = {key: extra for key, extra in self.extras.items() if key in keys}
        return Records(entries, extras, {one: at for one, at in self.seen.items() if one not in gone})

    def ended(self, before: str, after: str) -> set[str]:
        """Return the sessions without an event between these two times. One whose times cannot be read is none."""
        last = dict(self.seen)
        for entry in self.entries:  # once, because there may be thousands of sessions
            session = self.session_of(entry)
            last[session] = max(last.get(session, ""), *_times(entry))
        return {session for session, at in last.items() if at and not before <= at <= after}

    def apply(self, event: Event, harness_id: str) -> Records | None:
        """Return the records after an event of an agent; None when it is about an agent that is not there."""
        working = _Working(self, harness_id)
        return working.records() if working.apply(event) else None

    def apply_all(self, events: Iterable[Event], harness_id: str) -> Records:
        """Return the records after these events, in time linear in them. An event of an agent not there is left out."""
        working = _Working(self, harness_id)
        for event in events:
            working.apply(event)
        return working.records()

    def _extra(self, entry: Entry) -> Extra:
        key = key_of(entry)
        return {} if key is None else self.extras.get(key, {})


class _Working:
    """A copy of the records that events change in place. `_own` has the number of each session's entry of an agent."""

    def __init__(self, records: Records, harness_id: str) -> None:
        self._harness_id = harness_id
        self._entries = [*records.entries]
        self._extras = {**records.extras}
        self._seen = {**records.seen}
        self._own = {
            (entry.get("agent_id"), records.session_of(entry)): number for number, entry in enumerate(records.entries)
        }
        self._keys = {key for entry in records.entries if (key := key_of(entry)) is not None}

    def records(self) -> Records:
        """Return the records as they are now."""
        return Records(self._entries, self._extras, self._seen)

    def apply(self, event: Event) -> bool:
        """Put the event into the records. Return False, with nothing changed, for an agent that is not there."""
        kind, session, at = event["kind"], event.get("session_id", ANONYMOUS), event["at"]
        number = self._own.get((event["agent_id"], session))
        if number is None:
            if kind != SPAWN:
                return False
            number = self._begin(event, session)
        elif kind == COMPLETE:
            told: dict[str, Any] = {name: event[name] for name in ("last_message", "files_touched") if name in event}
            self._entries[number] = tracker.completed(self._entries[number], at, told)
        else:
            self._entries[number] = tracker.resumed(self._entries[number], at)
        if kind == SPAWN:
            self._name(self._entries[number], event.get("agent_name", ""))
        if session:
            self._seen[session] = max(at, self._seen.get(session, ""))
        return True

    def _begin(self, event: Event, session: str) -> int:
        agent_id, at, name = event["agent_id"], event["at"], event.get("agent_name", "")
        while (agent_id, at) in self._keys:  # of another session
            at = times.next_after(at) or f"{at}~"
        self._keys.add((agent_id, at))
        self._extras[agent_id, at] = {"session_id": session} if session else {}
        self._entries.append(tracker.spawned(self._harness_id, name if tracker.is_name(name) else "", agent_id, at))
        self._own[agent_id, session] = len(self._entries) - 1
        return len(self._entries) - 1

    def _name(self, entry: Entry, name: str) -> None:
        """Keep a name that the entry does not have: whatever any of its names forbids stays forbidden."""
        key = key_of(entry)
        if key is None or not name or name == entry.get("agent_name"):
            return
        extra = self._extras.get(key, {})
        names = extra.get("names", [])
        if name not in names:
            self._extras[key] = {**extra, "names": [*names, name][:MOST_NAMES]}


def key_of(entry: Entry) -> Key | None:
    """Return what tells an entry from all others of the tracker; None for one without an id."""
    agent_id, started_at = entry.get("agent_id"), entry.get("started_at")
    return (agent_id, started_at) if isinstance(agent_id, str) and isinstance(started_at, str) else None


def _times(entry: Entry) -> list[str]:
    """Return the times of the entry's events; [""] when it has none."""
    return [str(entry[name]) for name in _TIMES if is_time(entry.get(name))] or [""]


def is_time(value: object) -> bool:
    """Whether the value is a time in UTC that sorts as a text."""
    return isinstance(value, str) and len(value) >= _SHORTEST_TIME and value[10] == "T" and value.endswith("Z")
