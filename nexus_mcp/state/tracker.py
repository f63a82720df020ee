"""The entries of agent-tracker.json: check them, and apply the start, resume and end of an agent."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.errors import StateError
from nexus_mcp.wording import list_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]

SCHEMA = "state/agent-tracker"
RUNNING = "running"
COMPLETED = "completed"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_CHARACTERS = _LETTERS | frozenset("0123456789-")


def check(value: Any, file: str) -> list[Entry]:
    """Return `value`, read from `file`. Raise StateError if it is no tracker; unknown fields are accepted."""
    found = [f"{fault.pointer or '/'} {fault.message}" for fault in schemas.readable_faults(SCHEMA, value)]
    if not found:
        statuses = schemas.load(SCHEMA)["items"]["properties"]["status"]
        for index, entry in enumerate(value):
            if "status" in entry:
                found += [
                    f"{f.pointer} {f.message}" for f in schemas.faults(statuses, entry["status"], f"/{index}/status")
                ]
    if found:
        raise StateError(file, f"is not a valid agent-tracker file: {'; '.join(list_first(found, 5))}")
    entries: list[Entry] = value
    return entries


def filter_usable(value: Any) -> list[Entry]:
    """Return the valid agents in `value`, without the malformed ones."""
    entries: list[Entry] = []
    for entry in value if isinstance(value, list) else []:
        try:
            entries += check([entry], "")
        except StateError:
            continue
    return entries


def is_name(text: str) -> bool:
    """Return whether the tracker accepts the name of an agent: the pattern of agent_name in agent-tracker.schema.json.

    Checked by hand, because a regular expression costs a hook a millisecond.
    """
    return bool(text) and text[0] in _LETTERS and _CHARACTERS.issuperset(text)


def spawn(harness_id: str, agent_name: str, agent_id: str, now: str) -> Entry:
    """Return the entry of an agent that begins now. `agent_name` may be "": then the entry has no name."""
    return {
        "harness_id": harness_id,
        "started_at": now,
        **({"agent_name": agent_name} if agent_name else {}),
        "agent_id": agent_id,
        "resume_count": 0,
        "status": RUNNING,
    }


def resume(entry: Entry, now: str) -> Entry:
    """Return the entry of this agent, running again and with one more resume."""
    seen: Any = entry.get("resume_count")
    count = int(seen) if schemas.is_integer(seen) and seen > 0 else 0
    return {**entry, "last_resumed_at": now, "resume_count": count + 1, "status": RUNNING}


def complete(entry: Entry, now: str, details: dict[str, Any]) -> Entry:
    """Return the entry of this agent after its end, with last_message and files_touched from `details`."""
    return {**entry, "status": COMPLETED, "stopped_at": now, **details}
