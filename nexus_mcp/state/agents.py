"""Compute the agents of all sessions of a harness: the entries of the tracker, and data for which it has no field.

The tracker has no field for an agent's session, for its further names, or for a name that the schema of the tracker
refuses. store/agents.py stores these in agents.extension.jsonl, under the agent's id and started_at: nexus-mcp makes no
two entries with the same pair.

Each line of agents.extension.jsonl is an object with a kind. A hook that cannot get the lock in time appends an event
(`spawn`, `resume`, `complete`). The next hook that changes the tracker, as the lock holder, applies the event to it.
This hook first appends a `fold` line: the checksum of the tracker that it is about to write, the ids of such events in
that tracker (of old ones only the newest), and the data for which the tracker has no field. If a fold line has the
checksum of the present tracker, no other fold line counts. So if the hook dies between the two writes, nothing has
changed, and no event is counted twice. If another program replaced the tracker, the last fold line counts as far as it
fits. A `seen` line has the time of an event that changed no agent.
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
    Line = dict[str, Any]

SPAWN, RESUME, COMPLETE = "spawn", "resume", "complete"
ANONYMOUS = ""
"""The session of all events without a session_id, and of all entries without a known session."""
MOST_NAMES = 16
"""The maximum number of names of one agent that are stored beside its name in the tracker. An agent with this many
names may have had more.
"""
_TIMES = ("started_at", "last_resumed_at", "stopped_at")
_SHORTEST_TIME = len("2026-01-01T00:00:00Z")


class Records:
    """The agents of a harness. Never changed in place.

    `entries` are those of the tracker. `extras` maps (agent_id, started_at) to the fields `session_id` and `names`;
    each is absent if unknown. `seen` has the time of the last known event of each session that has begun.
    """

    __slots__ = ("entries", "extras", "seen")

    def __init__(self, entries: list[Entry], extras: dict[Key, Extra], seen: dict[str, str]) -> None:
        self.entries = entries
        self.extras = extras
        self.seen = seen

    def session_of(self, entry: Entry) -> str:
        """Return the session to which the agent belongs; ANONYMOUS if none is known."""
        session: str = self._extra(entry).get("session_id", ANONYMOUS)
        return session

    def names_of(self, entry: Entry) -> list[str]:
        """Return all stored names of the agent, the name in the tracker first; [] if it has none."""
        name = entry.get("agent_name")
        return [*([name] if isinstance(name, str) and name else []), *self._extra(entry).get("names", ())]

    def names_for(self, agent_id: str, session: str) -> tuple[list[list[str]], bool, bool]:
        """Return (`names_of` each agent to which an event may refer; whether the session itself has such an agent;
        whether one of these agents may have a name that was not stored).

        An event refers to the agent of its session. If that session has no such agent, or the event names no session,
        the restrictions of the agents with this id in all sessions apply together.
        """
        every = self.all(agent_id)
        own = [entry for entry in every if self.session_of(entry) == session]
        meant = own if own and session != ANONYMOUS else every
        is_cut = any(len(self._extra(entry).get("names", ())) >= MOST_NAMES for entry in meant)
        return [self.names_of(entry) for entry in meant], bool(own), is_cut

    def all(self, agent_id: str) -> list[Entry]:
        """Return the agents with this id, of any session."""
        return [entry for entry in self.entries if entry.get("agent_id") == agent_id]

    def own(self, agent_id: str, session: str) -> Entry | None:
        """Return the agent of this session with this id, the newest if there are several."""
        return next((entry for entry in reversed(self.all(agent_id)) if self.session_of(entry) == session), None)

    def pairs(self) -> set[tuple[str, str]]:
        """Return the id and the session of each agent whose id is a text; another program may write other values."""
        named = (entry for entry in self.entries if isinstance(entry.get("agent_id"), str))
        return {(entry["agent_id"], self.session_of(entry)) for entry in named}

    def last_event(self, session: str) -> str | None:
        """Return the time of the last known event of a session, "" when none is known; None for a session that has not
        begun and has no agent.
        """
        own = [entry for entry in self.entries if self.session_of(entry) == session]
        if session not in self.seen and not own:
            return None
        return max([self.seen.get(session, ""), *(time for entry in own for time in _times(entry))])

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

    def sessions_outside(self, before: str, after: str) -> set[str]:
        """Return the sessions whose last event is not between these two times. A session without a readable time is not
        returned.
        """
        last = dict(self.seen)
        for entry in self.entries:  # computed once, because there may be thousands of sessions
            session = self.session_of(entry)
            last[session] = max(last.get(session, ""), *_times(entry))
        return {session for session, at in last.items() if at and not before <= at <= after}

    def apply(self, event: Event, harness_id: str) -> Records | None:
        """Return the records after an event of an agent; None if it resumes or completes an unknown agent."""
        working = _Working(self, harness_id)
        return working.records() if working.apply(event) else None

    def apply_all(self, events: Iterable[Event], harness_id: str) -> Records:
        """Return the records after these events, in linear time. An event that resumes or completes an unknown agent is
        left out.
        """
        working = _Working(self, harness_id)
        for event in events:
            working.apply(event)
        return working.records()

    def _extra(self, entry: Entry) -> Extra:
        key = key_of(entry)
        return {} if key is None else self.extras.get(key, {})


class _Working:
    """A copy of the records that events change in place. `_own` maps (agent_id, session) to the index of the entry."""

    def __init__(self, records: Records, harness_id: str) -> None:
        self._harness_id = harness_id
        self._entries = [*records.entries]
        self._extras = {**records.extras}
        self._seen = {**records.seen}
        self._own = {
            (entry["agent_id"], records.session_of(entry)): number
            for number, entry in enumerate(records.entries)
            if isinstance(entry.get("agent_id"), str)  # another program may write any value
        }
        self._keys = {key for entry in records.entries if (key := key_of(entry)) is not None}

    def records(self) -> Records:
        """Return the present records."""
        return Records(self._entries, self._extras, self._seen)

    def apply(self, event: Event) -> bool:
        """Apply the event and return True; if it resumes or completes an unknown agent, do nothing and return False."""
        kind, session, at = event["kind"], event.get("session_id", ANONYMOUS), event["at"]
        number = self._own.get((event["agent_id"], session))
        if number is None:
            if kind != SPAWN:
                return False
            number = self._begin(event, session)
        elif kind == COMPLETE:
            details: dict[str, Any] = {name: event[name] for name in ("last_message", "files_touched") if name in event}
            self._entries[number] = tracker.complete(self._entries[number], at, details)
        else:
            self._entries[number] = tracker.resume(self._entries[number], at)
        if kind == SPAWN:
            self._name(self._entries[number], event.get("agent_name", ""))
        if session:
            self._seen[session] = max(at, self._seen.get(session, ""))
        return True

    def _begin(self, event: Event, session: str) -> int:
        agent_id, at, name = event["agent_id"], event["at"], event.get("agent_name", "")
        while (agent_id, at) in self._keys:  # an agent of another session has this id and time
            at = times.next_after(at) or f"{at}~"
        self._keys.add((agent_id, at))
        self._extras[agent_id, at] = {"session_id": session} if session else {}
        self._entries.append(tracker.spawn(self._harness_id, name if tracker.is_name(name) else "", agent_id, at))
        self._own[agent_id, session] = len(self._entries) - 1
        return len(self._entries) - 1

    def _name(self, entry: Entry, name: str) -> None:
        """Add a name that the entry lacks, up to MOST_NAMES: the agent has the restrictions of all its names."""
        key = key_of(entry)
        if key is None or not name or name == entry.get("agent_name"):
            return
        extra = self._extras.get(key, {})
        names = extra.get("names", [])
        if name not in names:
            self._extras[key] = {**extra, "names": [*names, name][:MOST_NAMES]}


def key_of(entry: Entry) -> Key | None:
    """Return the key that identifies an entry of the tracker; None if its id or started_at is missing or no text."""
    agent_id, started_at = entry.get("agent_id"), entry.get("started_at")
    return (agent_id, started_at) if isinstance(agent_id, str) and isinstance(started_at, str) else None


def _times(entry: Entry) -> list[str]:
    """Return the readable times of the entry's events; [""] when it has none."""
    return [str(entry[name]) for name in _TIMES if is_time(entry.get(name))] or [""]


def is_time(value: object) -> bool:
    """Return whether the value looks like a time in UTC, in the form that sorts as a text."""
    return isinstance(value, str) and len(value) >= _SHORTEST_TIME and value[10] == "T" and value.endswith("Z")


FOLD, SEEN = "fold", "seen"
EVENTS = (SPAWN, RESUME, COMPLETE)
_REMEMBERED = 200
"""The maximum number of event ids that a fold line keeps after the lines of these events were removed."""
_EVENT_TEXTS = ("session_id", "agent_name", "last_message")


def is_line(value: object) -> bool:
    """Return whether the value is a valid line. A line of a kind that only a later version knows is valid; readers skip
    it.

    Checked by hand, because hooks read the file at every step, and agents-extension.schema.json does not say which
    fields each kind needs.
    """
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return False
    kind = value["kind"]
    if kind == FOLD:
        return _is_fold(value)
    if kind != SEEN and kind not in EVENTS:
        return True
    texts = _are_texts(value, _EVENT_TEXTS) and is_time(value.get("at"))
    return texts and (kind == SEEN or (_has_text(value, "id") and _has_text(value, "agent_id") and _has_files(value)))


def select_lines(values: Iterable[Line | None]) -> list[Line]:
    """Return those values for which `is_line` is true."""
    return [value for value in values if value is not None and is_line(value)]


def is_event(line: Line) -> bool:
    """Return whether the line is an event of an agent."""
    return line["kind"] in EVENTS


def _find_base(entries: list[Entry], checksum: str, lines: list[Line]) -> tuple[Line, int]:
    """Return (the fold line of this tracker, its index in `lines`).

    A tracker has no fold line if another program wrote it, or if no data was stored beside it. Then the returned line
    is derived from the last fold line, whose index is returned; without any fold line it is empty, and the index is -1.
    """
    folds = [number for number, line in enumerate(lines) if line["kind"] == FOLD]
    exact = [number for number in folds if lines[number]["tracker"] == checksum]
    if exact:
        return lines[exact[-1]], exact[-1]
    last = lines[folds[-1]] if folds else {"kind": FOLD, "events": [], "agents": [], "sessions": []}
    # If the tracker lacks an agent whose spawn line is still in the file, the spawn is applied again. Without that line
    # the agent stays removed.
    there = Records(entries, _extras(last), {}).pairs()
    lost = {line["id"] for line in lines if line["kind"] == SPAWN and _pair(line) not in there}
    events = [event for event in last["events"] if event not in lost]
    return {**last, "tracker": checksum, "events": events}, (folds or [-1])[-1]


def merge(
    entries: list[Entry], checksum: str, lines: list[Line], harness_id: str
) -> tuple[Records, list[str], Line, bool]:
    """Return (the agents of a tracker with these entries and this checksum, with the data that the lines add; the ids
    of `_known_events`; the fold line of `_find_base`; whether the lines contain a fold line of this tracker). Without
    such a line, data may be missing.
    """
    fold, at = _find_base(entries, checksum, lines)
    is_exact = any(line["kind"] == FOLD and line["tracker"] == checksum for line in lines)
    seen = {one.get("session_id", ANONYMOUS): one["at"] for one in fold["sessions"]}
    records = Records(entries, _extras(fold), seen)
    done = frozenset(fold["events"])
    waiting = {line["id"]: line for line in lines if is_event(line) and line["id"] not in done}
    # A lock holder may have moved a line behind later lines of its agent.
    records = records.apply_all(_order(waiting.values()), harness_id)
    for line in lines[at + 1 :]:
        if line["kind"] == SEEN:
            records = records.with_seen(line.get("session_id", ANONYMOUS), line["at"])
    return records, _known_events(lines), fold, is_exact


def _known_events(lines: Iterable[Line]) -> list[str]:
    """Return the ids of the events in the lines, and the newest ids of events that are already in the tracker.

    The latter are needed because a hook that was stopped during an append may append its line again when it continues:
    the event must not count twice.
    """
    before: list[str] = []
    now: list[str] = []
    for line in lines:
        if line["kind"] == FOLD:
            before = line["events"]
        elif is_event(line):
            now.append(line["id"])
    return list(dict.fromkeys([*before[-_REMEMBERED:], *now]))


def make_fold(records: Records, checksum: str, events: Iterable[str]) -> Line:
    """Return the fold line for a tracker that has this checksum and contains these events."""
    agents = [
        {"agent_id": agent_id, "started_at": started_at, **extra}
        for (agent_id, started_at), extra in _needed_extras(records).items()
    ]
    sessions = [{**_session(session), "at": at} for session, at in records.seen.items()]
    return {"kind": FOLD, "tracker": checksum, "events": [*events], "agents": agents, "sessions": sessions}


def make_seen(session: str, at: str) -> Line:
    """Return the line of an event of a session that changes no agent."""
    return {"kind": SEEN, **_session(session), "at": at}


def is_needed(records: Records) -> bool:
    """Return whether any data has to be stored beside the tracker."""
    return bool(records.seen or _needed_extras(records))


def _order(events: Iterable[Event]) -> list[Event]:
    """Return the events ordered by time; at equal times, events that begin an agent come first."""
    return sorted(events, key=lambda event: (event["at"], event["kind"] != SPAWN))


def _session(session: str) -> Line:
    return {"session_id": session} if session else {}


def _needed_extras(records: Records) -> dict[Key, Extra]:
    there = {key_of(entry) for entry in records.entries}
    return {key: extra for key, extra in records.extras.items() if extra and key in there}


def _extras(fold: Line) -> dict[Key, Extra]:
    return {
        (one["agent_id"], one["started_at"]): {name: one[name] for name in ("session_id", "names") if name in one}
        for one in fold["agents"]
    }


def _pair(event: Event) -> tuple[str, str]:
    return event["agent_id"], event.get("session_id", ANONYMOUS)


def _is_fold(value: Line) -> bool:
    agents, sessions, events = value.get("agents"), value.get("sessions"), value.get("events")
    if not (isinstance(agents, list) and isinstance(sessions, list) and isinstance(events, list)):
        return False
    return (
        isinstance(value.get("tracker"), str)
        and all(isinstance(one, str) for one in events)
        and all(map(_is_agent, agents))
        and all(
            isinstance(one, dict) and _are_texts(one, ("session_id",)) and is_time(one.get("at")) for one in sessions
        )
    )


def _is_agent(value: object) -> bool:
    if not (isinstance(value, dict) and _has_text(value, "agent_id") and _has_text(value, "started_at")):
        return False
    names = value.get("names", [])
    return _are_texts(value, ("session_id",)) and isinstance(names, list) and all(isinstance(n, str) for n in names)


def _has_text(value: Line, name: str) -> bool:
    return isinstance(value.get(name), str) and bool(value[name])


def _are_texts(value: Line, names: Iterable[str]) -> bool:
    return all(isinstance(value.get(name, ""), str) for name in names)


def _has_files(value: Line) -> bool:
    files = value.get("files_touched", [])
    return isinstance(files, list) and all(isinstance(file, str) for file in files)
