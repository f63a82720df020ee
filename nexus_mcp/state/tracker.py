"""Transitions of the agents of a session. Each takes agent-tracker.json as a value and returns the changed one."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.errors import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]

SCHEMA = "state/agent-tracker"
RUNNING = "running"
COMPLETED = "completed"


def checked(value: Any, file: str) -> list[Entry]:
    """`value`, read from `file`. Raises StateError when it is no tracker; fields we do not know are no fault."""
    found = [f"{fault.pointer or '/'} {fault.message}" for fault in schemas.faults(schemas.readable(SCHEMA), value)]
    if not found:
        statuses = schemas.load(SCHEMA)["items"]["properties"]["status"]
        for index, entry in enumerate(value):
            if "status" in entry:
                found += [
                    f"{f.pointer} {f.message}" for f in schemas.faults(statuses, entry["status"], f"/{index}/status")
                ]
    if found:
        more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
        raise StateError(file, f"is not a valid agent-tracker file: {'; '.join(found[:5])}{more}")
    entries: list[Entry] = value
    return entries


def usable(value: Any) -> list[Entry]:
    """The agents in `value` that a tracker might have: what somebody spoilt of one says nothing about the others."""
    entries: list[Entry] = []
    for entry in value if isinstance(value, list) else []:
        try:
            entries += checked([entry], "")
        except StateError:
            continue
    return entries


def find(entries: list[Entry], agent_id: str) -> Entry | None:
    """The agent with this id, the newest where a file has several; None when there is none."""
    return next((entry for entry in reversed(entries) if entry.get("agent_id") == agent_id), None)


def spawn(entries: list[Entry], harness_id: str, agent_name: str, agent_id: str, now: str) -> list[Entry]:
    """The tracker with one more running agent; one that is there already is resumed. Its name may be ""."""
    resumed = resume(entries, agent_id, now)
    if resumed is not None:
        return resumed
    entry = {
        "harness_id": harness_id,
        "started_at": now,
        **({"agent_name": agent_name} if agent_name else {}),
        "agent_id": agent_id,
        "resume_count": 0,
        "status": RUNNING,
    }
    return [*entries, entry]


def resume(entries: list[Entry], agent_id: str, now: str) -> list[Entry] | None:
    """The tracker with this agent running again, resumed once more; None when it has no such agent."""
    entry = find(entries, agent_id)
    if entry is None:
        return None
    seen: Any = entry.get("resume_count")
    count = int(seen) if schemas.is_integer(seen) and seen > 0 else 0
    return _replaced(entries, entry, {"last_resumed_at": now, "resume_count": count + 1, "status": RUNNING})


def complete(entries: list[Entry], agent_id: str, now: str, told: dict[str, Any]) -> list[Entry] | None:
    """The tracker with this agent completed, and with those of last_message and files_touched that `told` has.

    None when it has no such agent.
    """
    entry = find(entries, agent_id)
    if entry is None:
        return None
    return _replaced(entries, entry, {"status": COMPLETED, "stopped_at": now, **told})


def _replaced(entries: list[Entry], old: Entry, fields: dict[str, Any]) -> list[Entry]:
    return [{**entry, **fields} if entry is old else entry for entry in entries]
