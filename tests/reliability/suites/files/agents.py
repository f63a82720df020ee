"""Cases of a harness's own files: the tracker of its agents, and the tool log."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.reliability.suites.files import answers, reference_reader
from tests.reliability.suites.files.project import Done, Files, Ground
from tests.reliability.suites.files.projects import TASKS, TOOL_LOG, TRACKER
from tests.reliability.suites.files.reference_reader import Broken, same

Json = Any

_RECORD = "state/nexus-mcp/memory-access.jsonl"
_BESIDE = "state/nexus-mcp/agents.extension.jsonl"
_ASIDE = "state/nexus-mcp/conflict-agent-tracker.json"
_LONGEST = 4096  # characters of a path that the tracker keeps (docs/lifecycle.md)
_NOTHING = ("error", "fail", "den", "block", "cancel", "interrupt")  # what a status begins with (docs/lifecycle.md)
EVENTS: tuple[tuple[str, Json], ...] = (
    ("agent_spawn", {"agent_name": "writer", "agent_id": "a-new"}),
    ("agent_spawn", {"agent_name": "writer", "agent_id": "a-1"}),
    ("agent_resume", {"agent_id": "a-1"}),
    ("agent_resume", {"agent_id": "a-2"}),
    ("agent_complete", {"agent_id": "a-1", "last_message": "Done — fertig", "files_touched": ["a"]}),
    ("agent_complete", {"agent_id": "a-2", "files_touched": []}),
    ("session_end", {}),
)


def tracker(ground: Ground, rng: random.Random, files: Files) -> Iterator[str]:
    """Return the failures with a tracker that may be corrupt."""
    ground.lay(files)
    listed = ground.call("task_list")
    if listed.error or not same(listed.answer, answers.task_list(reference_reader.read("tasks", files[TASKS]))):
        yield f"task_list, which needs no tracker, answers {str(listed.answer)[:300]}"
    name, params = rng.choice(EVENTS)
    done = ground.event(name, **params)
    try:
        before = reference_reader.read("tracker", files[TRACKER])
    except Broken as error:
        yield from (f"{name}: {told}" for told in _beside_broken(done, name, str(error)))
        return
    if name == "session_end":
        if done.error or done.changed != {TRACKER, _RECORD} or TRACKER in done.after:
            yield f"session_end changed {sorted(done.changed)}, said {done.error or done.answer}"
        return
    right = _wanted(before, name, params, ground.clock.stamp())
    refusal = _refusal(done)
    if refusal:
        if done.changed or "more digits than can be read back" not in refusal:
            yield f"{name} {params} is refused, {sorted(done.changed)} changed: {refusal[:300]}"
        return
    yield from _compared(done, right, before, f"{name} {params}")


def _refusal(done: Done) -> str:
    """Return why nothing was recorded: an error, or the warning of agent_spawn, which answers with more fields."""
    warnings = [] if done.error else done.answer["warnings"]
    return done.error or next((text for text in warnings if text.startswith("The agent was not recorded: ")), "")


def _beside_broken(done: Done, name: str, why: str) -> Iterator[str]:
    if name != "session_end":
        if f".nexus/{TRACKER}" not in _refusal(done) or done.changed:
            yield f"changed {sorted(done.changed)}, said {done.error or done.answer}, though it is broken ({why})"
    elif done.error or done.after.get(_ASIDE) != done.before[TRACKER] or done.changed != {TRACKER, _RECORD, _ASIDE}:
        yield f"did not set a broken tracker aside ({why}): {sorted(done.changed)} changed; {done.error}"


def _compared(done: Done, right: Json, before: Json, what: str) -> Iterator[str]:
    if right is None:
        if done.changed or not done.answer["warnings"]:
            yield f"{what}: changed {sorted(done.changed)} for an unknown agent, answered {done.answer}"
        return
    try:
        now = reference_reader.read("tracker", done.after.get(TRACKER, b""))
    except Broken as error:
        yield f"{what}: wrote a tracker that cannot be read: {error}"
        return
    if not same(now, right):
        yield f"{what}: wrote {str(now)[:500]} where {str(right)[:500]} is right"
    # The second spawn of an agent with another name goes into the extension file, which keeps both names.
    beside = {_BESIDE} if what.startswith("agent_spawn") and "'a-1'" in what else set()
    if done.changed - {TRACKER, *beside}:
        yield f"{what}: changed {sorted(done.changed)}"


def _wanted(entries: Json, name: str, params: Json, now: str) -> Json:
    """Return the expected tracker after an event; None when the event is about an agent that is not in it."""
    at = next((n for n in reversed(range(len(entries))) if entries[n].get("agent_id") == params["agent_id"]), None)
    if at is None:
        if name != "agent_spawn":
            return None
        new = {"harness_id": "nexus-mcp", "started_at": now, **params, "resume_count": 0, "status": "running"}
        return [*entries, new]
    if name == "agent_complete":
        told = {key: value for key, value in params.items() if key != "agent_id"}
        changed = {**entries[at], "status": "completed", "stopped_at": now, **told}
    else:
        count = entries[at].get("resume_count")
        known = not isinstance(count, bool) and isinstance(count, (int, float)) and count > 0 and count == count // 1
        again = {"last_resumed_at": now, "resume_count": int(count) + 1 if known else 1, "status": "running"}
        changed = {**entries[at], **again}
    return [*entries[:at], changed, *entries[at + 1 :]]


def tool_log(ground: Ground, rng: random.Random, files: Files) -> Iterator[str]:
    """Return the failures with a tool log that may be corrupt: it names the files that an agent touched."""
    ground.lay(files)
    entries = reference_reader.read("tracker", files[TRACKER])
    agent = rng.choice(("a-1", "a-2"))
    good, bad = _lines(files[TOOL_LOG])
    entry: Json = next((one for one in reversed(entries) if one.get("agent_id") == agent), {})
    began = _stamp(entry.get("last_resumed_at", entry.get("started_at")))
    touched = [
        line.get("file")
        for line in good
        if line.get("agent_id") == agent
        and not str(line.get("status", "")).casefold().startswith(_NOTHING)
        and (_stamp(line.get("timestamp")) or began) >= began
    ]
    files_touched = list(dict.fromkeys(f for f in touched if isinstance(f, str) and len(f) <= _LONGEST))
    given = {"agent_id": agent, "files_touched": files_touched}
    done = ground.event("agent_complete", agent_id=agent)
    if done.error:
        yield f"agent_complete is refused: {done.error[:300]}"
        return
    right = _wanted(entries, "agent_complete", given, ground.clock.stamp())
    yield from _compared(done, right, entries, f"agent_complete of {agent}")
    if right is not None and bad and not any(f" {bad} unreadable line" in text for text in done.answer["warnings"]):
        yield f"agent_complete says nothing of {bad} unreadable lines: {done.answer['warnings']}"


def _stamp(value: Json) -> str:
    return value if isinstance(value, str) and len(value) == 24 and value.endswith("Z") else ""


def _lines(data: bytes) -> tuple[list[Json], int]:
    """Return (the objects in the lines, the number of other lines)."""
    good, bad = [], 0
    for line in data.split(b"\n"):
        if line.strip():
            try:
                good.append(reference_reader.read("line", line))
            except Broken:
                bad += 1
    return good, bad
