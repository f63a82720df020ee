"""The entries of agent-tracker.json: check them, and apply the start, resume and end of an agent."""

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
_NAMED = 5
"""The maximum number of faults that a message lists."""
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_CHARACTERS = _LETTERS | frozenset("0123456789-")


def check(value: Any, file: str) -> list[Entry]:
    """Return `value`, read from `file`. Raise StateError if `value` is no list of entries.

    An entry is an object with texts as harness_id and started_at, and a known status if it has one. Its other fields
    are not checked.
    """
    found = _faults(value, _NAMED + 1)
    if found:
        more = ["and more"] if len(found) > _NAMED else []
        raise StateError(file, f"is not a valid agent-tracker file: {'; '.join([*found[:_NAMED], *more])}")
    entries: list[Entry] = value
    return entries


def filter_usable(value: Any) -> list[Entry]:
    """Return those entries of `value` that `check` accepts; [] if `value` is no list."""
    entries = value if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and not _faults([entry], 1)]


def _faults(value: Any, most: int) -> list[str]:
    """Return the faults of a tracker; stop soon after the first `most`: a file with many must not hold up a hook."""
    found = schemas.readable_faults(SCHEMA, value, most)
    statuses = schemas.load(SCHEMA)["items"]["properties"]["status"]
    for index, entry in enumerate([] if found else value):
        if "status" in entry and len(found) < most:
            found += schemas.faults(statuses, entry["status"], f"/{index}/status")
    return [f"{fault.pointer or '/'} {fault.message}" for fault in found]


def is_name(text: str) -> bool:
    """Return whether `text` can be the name of an agent: it has the pattern of agent_name in agent-tracker.schema.json.

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
    """Return the entry of this agent, running again and with one more resume; an invalid resume_count counts as 0."""
    seen: Any = entry.get("resume_count")
    count = int(seen) if schemas.is_integer(seen) and seen > 0 else 0
    return {**entry, "last_resumed_at": now, "resume_count": count + 1, "status": RUNNING}


def complete(entry: Entry, now: str, details: dict[str, Any]) -> Entry:
    """Return the entry of this agent after its end; `details` may have last_message and files_touched."""
    return {**entry, "status": COMPLETED, "stopped_at": now, **details}
