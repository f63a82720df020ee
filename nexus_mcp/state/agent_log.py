"""The lines of agents.extension.jsonl as values, and the agents that they make of a tracker.

A hook that cannot get the lock in time appends an event (`spawn`, `resume`, `complete`). The next lock holder puts it
into the tracker: it first appends a `fold` line, which has the checksum of the tracker that it is about to write, the
ids of all events that are in that tracker, and what the tracker has no field for. A fold line counts only while the
tracker has its checksum. So a lock holder that dies between the two writes has changed nothing, and no event is counted
twice. `seen` is the time of an event of a session that changed no agent.
"""

from __future__ import annotations

from nexus_mcp.state.agent_records import ANONYMOUS, COMPLETE, RESUME, SPAWN, Records, is_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from nexus_mcp.state.agent_records import Event, Extra, Key
    from nexus_mcp.state.tracker import Entry

    Line = dict[str, Any]

FOLD, SEEN = "fold", "seen"
EVENTS = (SPAWN, RESUME, COMPLETE)
_REMEMBERED = 200
"""Ids of events that a fold line has though their lines are gone."""
_EVENT_TEXTS = ("session_id", "agent_name", "last_message")


def is_line(value: object) -> bool:
    """Whether the value is a line that readers can rely on. A kind of a later version is, too, and is passed over.

    By hand, because hooks read the file at every step, and agents-extension.schema.json takes alternatives.
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


def is_event(line: Line) -> bool:
    """Whether the line is an event of an agent."""
    return line["kind"] in EVENTS


def is_exact(checksum: str, lines: Iterable[Line]) -> bool:
    """Whether a fold line goes with the tracker of this checksum: then all is known that belongs beside it."""
    return any(line["kind"] == FOLD and line["tracker"] == checksum for line in lines)


def base(entries: list[Entry], checksum: str, lines: list[Line]) -> tuple[Line, int]:
    """Return (the fold line that goes with this tracker, its number), made from the last one where none is there.

    Then another program wrote the tracker, or nothing was ever kept beside it.
    """
    folds = [number for number, line in enumerate(lines) if line["kind"] == FOLD]
    exact = [number for number in folds if lines[number]["tracker"] == checksum]
    if exact:
        return lines[exact[-1]], exact[-1]
    last = lines[folds[-1]] if folds else {"kind": FOLD, "events": [], "agents": [], "sessions": []}
    # An agent that was put into the tracker and is not there now was told of all the same.
    there = Records(entries, _extras(last), {}).pairs()
    lost = {line["id"] for line in lines if line["kind"] == SPAWN and _pair(line) not in there}
    events = [event for event in last["events"] if event not in lost]
    return {**last, "tracker": checksum, "events": events}, (folds or [-1])[-1]


def merged(entries: list[Entry], checksum: str, lines: list[Line], harness_id: str) -> Records:
    """Return the agents of a tracker with these entries and this checksum, with what the lines say beside it."""
    fold, at = base(entries, checksum, lines)
    seen = {one.get("session_id", ANONYMOUS): one["at"] for one in fold["sessions"]}
    records = Records(entries, _extras(fold), seen)
    done = frozenset(fold["events"])
    waiting = {line["id"]: line for line in lines if is_event(line) and line["id"] not in done}
    # A line that a lock holder has moved may stand behind later ones of its agent.
    records = records.apply_all(_ordered(waiting.values()), harness_id)
    for line in lines[at + 1 :]:
        if line["kind"] == SEEN:
            records = records.with_seen(line.get("session_id", ANONYMOUS), line["at"])
    return records


def known_events(lines: Iterable[Line]) -> list[str]:
    """Return the ids of the events in the lines, and the latest of those that were put into the tracker before.

    A hook that was stopped while it appended may append its line again, once it goes on.
    """
    before: list[str] = []
    now: list[str] = []
    for line in lines:
        if line["kind"] == FOLD:
            before = line["events"]
        elif is_event(line):
            now.append(line["id"])
    return list(dict.fromkeys([*before[-_REMEMBERED:], *now]))


def fold(records: Records, checksum: str, events: Iterable[str]) -> Line:
    """Return the line that goes with a tracker of this checksum, in which these events are."""
    agents = [
        {"agent_id": agent_id, "started_at": started_at, **extra}
        for (agent_id, started_at), extra in _needed(records).items()
    ]
    sessions = [{**_session(session), "at": at} for session, at in records.seen.items()]
    return {"kind": FOLD, "tracker": checksum, "events": [*events], "agents": agents, "sessions": sessions}


def seen(session: str, at: str) -> Line:
    """Return the line of an event of a session that changes no agent."""
    return {"kind": SEEN, **_session(session), "at": at}


def is_needed(records: Records) -> bool:
    """Whether there is anything to keep beside the tracker."""
    return bool(records.seen or _needed(records))


def _ordered(events: Iterable[Event]) -> list[Event]:
    """The events by their times; of one time, those first that an agent begins with."""
    return sorted(events, key=lambda event: (event["at"], event["kind"] != SPAWN))


def _session(session: str) -> Line:
    return {"session_id": session} if session else {}


def _needed(records: Records) -> dict[Key, Extra]:
    there = {(entry.get("agent_id"), entry.get("started_at")) for entry in records.entries}
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
