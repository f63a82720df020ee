"""Lifecycle commands that are wrong."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.miniatures.base import EVENTS, EventDeviation, Json, Miniature, Told, load, save, without

Entry = dict[str, Json]


def _entries(edit: Callable[[list[Entry], Told], list[Entry]]) -> EventDeviation:
    """Return a deviation: after the correct handling write the entries that `edit` returns to the tracker."""

    def deviation(told: Told) -> Json:
        answer = told.right()
        if told.tracker.exists():
            save(told.tracker, edit(load(told.tracker), told))
        return answer

    return deviation


def _own(edit: Callable[[Entry], Entry]) -> EventDeviation:
    """Return a deviation: after the correct handling edit the agent's entry in the tracker."""
    return _entries(
        lambda entries, told: [edit(e) if e.get("agent_id") == told.params.get("agent_id") else e for e in entries]
    )


def spawns_twice(told: Told) -> Json:
    before = load(told.tracker) or []
    again = any(entry.get("agent_id") == told.params.get("agent_id") for entry in before)
    answer = told.right()
    if again:
        fresh = {
            **without(load(told.tracker)[-1], "last_resumed_at"),
            "agent_id": told.params["agent_id"],
            "resume_count": 0,
        }
        save(told.tracker, [*before, fresh])
    return answer


def spawns_over(told: Told) -> Json:
    answer = told.right()
    save(told.tracker, load(told.tracker)[-1:])
    return answer


def _from_one(entry: Entry) -> Entry:
    return {**entry, "resume_count": entry["resume_count"] + 1}


def leaves_the_tracker(told: Told) -> Json:
    before = told.tracker.read_bytes() if told.tracker.exists() else None
    answer = told.right()
    if before is not None:
        told.tracker.write_bytes(before)
    return answer


def empties_the_tracker(told: Told) -> Json:
    answer = told.right()
    save(told.tracker, [])
    return answer


def allows_unreadable_tools(told: Told) -> Json:
    answer, tool = told.right(), told.params.get("tool")
    if isinstance(tool, str) and tool.strip():
        return answer
    return {**without(answer, "reason"), "decision": "continue"}


def starts_the_tasks(told: Told) -> Json:
    tasks = told.state / "tasks.json"
    if "[run]" in str(told.params.get("prompt")) and tasks.exists():
        value = load(tasks)
        save(tasks, {**value, "tasks": [{**task, "status": "in_progress"} for task in value["tasks"]]})
    return told.right()


def makes_no_record(told: Told) -> Json:
    there = told.log.exists()
    answer = told.right()
    if not there:
        told.log.unlink(missing_ok=True)
    return answer


def empties_the_record(told: Told) -> Json:
    answer = told.right()
    told.log.write_bytes(b"")
    return answer


def ends_for_all(told: Told) -> Json:
    answer = told.right()
    for tracker in told.state.glob("*/agent-tracker.json"):
        tracker.unlink()
    return answer


def ends_the_cycle(told: Told) -> Json:
    answer = told.right()
    for name in ("plan.json", "tasks.json"):
        (told.state / name).unlink(missing_ok=True)
    return answer


def uses_one_folder(told: Told) -> Json:
    return told.right({**told.params, "harness_id": "nexus-mcp"})


def removes_the_agent(told: Told) -> Json:
    answer = told.right()
    if told.tracker.exists():
        save(told.tracker, [e for e in load(told.tracker) if e.get("agent_id") != told.params.get("agent_id")])
    return answer


def takes_all_agents(told: Told) -> Json:
    answer = told.right()
    if told.tracker.exists():
        save(told.tracker, [])
    return answer


def _without_session(told: Told) -> Json:
    return told.right(without(told.params, "session_id"))


def allows_unknown(told: Told) -> Json:
    answer = told.right()
    entries = load(told.tracker) or []
    known = any(entry.get("agent_id") == told.params.get("agent_id") for entry in entries)
    if known or not told.params.get("agent_id") or told.params.get("agent_name") or answer["decision"] != "deny":
        return answer
    return {**without(answer, "reason"), "decision": "allow"}


def asks_at_each_end(told: Told) -> Json:
    from nexus_mcp.lifecycle.session_memory import FILE

    (told.tracker.parent / FILE).unlink(missing_ok=True)
    return told.right()


def asks_a_turn_that_goes_on(told: Told) -> Json:
    return told.right(without(told.params, "stop_hook_active"))


def believes_every_origin(told: Told) -> Json:
    return told.right(without(told.params, "origin"))


def believes_no_origin(told: Told) -> Json:
    return told.right({**told.params, "origin": "agent"} if "origin" in told.params else told.params)


def believes_the_tracker_alone(told: Told) -> Json:
    known = {entry.get("agent_id") for entry in load(told.tracker) or []}
    name = () if told.params.get("agent_id") not in known else ("agent_name",)
    return told.right(without(told.params, *name))


def spawns_anybody(told: Told) -> Json:
    return told.right({"agent_id": "unknown", **told.params})


def mends_names(told: Told) -> Json:
    name = re.sub("[^a-z0-9-]+", "-", str(told.params.get("agent_name", "")).lower()).strip("-")
    return told.right({**told.params, "agent_name": name or "agent"})


def takes_the_last(told: Told) -> Json:
    entries = load(told.tracker) or [{}]
    return told.right({"agent_id": entries[-1].get("agent_id"), **told.params})


_SPAWN = ("agent_spawn",)
_RESUME = ("agent_resume",)
_COMPLETE = ("agent_complete",)
_END = ("session_end",)
_START = ("session_start",)
_USE = ("pre_tool_use",)


def _row(name: str, wrong: str, events: tuple[str, ...], event: EventDeviation) -> Miniature:
    return Miniature(name, wrong, events, None, EVENTS, event)


MINIATURES = (
    _row("spawn-no-status", "agent_spawn forgets the status.", _SPAWN, _own(lambda e: without(e, "status"))),
    _row(
        "spawn-no-harness",
        "agent_spawn does not record the harness.",
        _SPAWN,
        _own(lambda e: without(e, "harness_id")),
    ),
    _row("spawn-no-count", "agent_spawn leaves resume_count out.", _SPAWN, _own(lambda e: without(e, "resume_count"))),
    _row("spawn-counts-one", "agent_spawn counts the start as a resume.", _SPAWN, _own(_from_one)),
    _row(
        "spawn-extra-field",
        "agent_spawn writes a field that no schema knows.",
        _SPAWN,
        _own(lambda e: {**e, "pid": 1}),
    ),
    _row(
        "spawn-nulls",
        "agent_spawn writes null for unknown fields.",
        _SPAWN,
        _own(lambda e: {**e, "stopped_at": None}),
    ),
    _row("spawn-twice", "agent_spawn adds a second entry for a known agent.", _SPAWN, spawns_twice),
    _row("spawn-over", "agent_spawn drops the other agents.", _SPAWN, spawns_over),
    _row(
        "events-one-folder",
        "All harnesses share the folder of nexus-mcp.",
        (*_SPAWN, *_COMPLETE, *_RESUME, *_END),
        uses_one_folder,
    ),
    _row("spawn-without-id", "agent_spawn makes up a missing id.", _SPAWN, spawns_anybody),
    _row("spawn-mends-names", "agent_spawn corrects an invalid name instead of refusing it.", _SPAWN, mends_names),
    _row("resume-without-id", "agent_resume takes the last agent if the id is missing.", _RESUME, takes_the_last),
    _row(
        "complete-without-id",
        "agent_complete takes the last agent if the id is missing.",
        _COMPLETE,
        takes_the_last,
    ),
    _row("resume-no-count", "agent_resume does not count.", _RESUME, _own(lambda e: {**e, "resume_count": 0})),
    _row(
        "resume-no-status",
        "agent_resume leaves the status as it was.",
        _RESUME,
        _own(lambda e: {**e, "status": "completed"}),
    ),
    _row("resume-no-time", "agent_resume records no time.", _RESUME, _own(lambda e: without(e, "last_resumed_at"))),
    _row(
        "complete-no-status",
        "agent_complete leaves the agent running.",
        _COMPLETE,
        _own(lambda e: {**e, "status": "running"}),
    ),
    _row("complete-no-time", "agent_complete records no time.", _COMPLETE, _own(lambda e: without(e, "stopped_at"))),
    _row(
        "complete-no-message",
        "agent_complete drops the last message.",
        _COMPLETE,
        _own(lambda e: without(e, "last_message")),
    ),
    _row(
        "complete-no-files",
        "agent_complete drops the files that were touched.",
        _COMPLETE,
        _own(lambda e: without(e, "files_touched")),
    ),
    _row("complete-removes", "agent_complete removes the agent from the tracker.", _COMPLETE, removes_the_agent),
    _row(
        "complete-all",
        "agent_complete completes every agent.",
        _COMPLETE,
        _entries(lambda entries, _: [{**e, "status": "completed"} for e in entries]),
    ),
    _row("end-leaves-tracker", "session_end leaves the tracker.", _END, leaves_the_tracker),
    _row("end-empties-tracker", "session_end empties the tracker instead of deleting it.", _END, empties_the_tracker),
    _row("end-no-record", "session_end does not create memory-access.jsonl.", _END, makes_no_record),
    _row("end-empties-record", "session_end empties memory-access.jsonl.", _END, empties_the_record),
    _row("end-for-all", "session_end deletes the trackers of other harnesses, too.", _END, ends_for_all),
    _row("end-closes", "session_end deletes plan and tasks.", _END, ends_the_cycle),
    _row("start-takes-all", "session_start removes the agents of other sessions.", _START, takes_all_agents),
    _row("end-takes-all", "session_end removes the tracker while another session goes on.", _END, ends_for_all),
    _row("spawn-no-session", "agent_spawn does not record the session.", ("subagent_spawn",), _without_session),
    _row("turn-asks-always", "turn_end blocks each end of a turn.", ("turn_end",), asks_at_each_end),
    _row("turn-asks-again", "turn_end blocks a turn that it continued.", ("turn_end",), asks_a_turn_that_goes_on),
    _row(
        "message-any-origin", "user_message looks for tags in each message.", ("user_message",), believes_every_origin
    ),
    _row("message-no-origin", "user_message finds no tags of the user.", ("user_message",), believes_no_origin),
    _row("use-unknown", "pre_tool_use allows an unknown agent everything.", _USE, allows_unknown),
    _row("use-one-name", "pre_tool_use ignores the agent name in the payload.", _USE, believes_the_tracker_alone),
    _row("use-unreadable", "pre_tool_use allows a call with an unreadable tool name.", _USE, allows_unreadable_tools),
    _row(
        "message-starts-tasks",
        "user_message sets tasks in tasks.json going.",
        ("user_message",),
        starts_the_tasks,
    ),
)
