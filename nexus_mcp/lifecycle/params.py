"""The params of lifecycle events: the fields that harnesses speak of, whatever they call them themselves."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.errors import InvalidArguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import Event

HARNESS_ID = "harness_id"
TEXT = {"type": "string"}
WORD = {"type": "string", "minLength": 1}
FIELDS: dict[str, dict[str, Any]] = {
    HARNESS_ID: TEXT,
    "session_id": TEXT,
    # Not an enum: of a kind of start that comes later nothing is known but that it is none of those that reset.
    "source": TEXT,
    "prompt": TEXT,
    "agent_id": WORD,
    "agent_name": TEXT,
    "tool": WORD,
    # Of any type: whoever the agent is and which tool it uses is enough to refuse it.
    "tool_input": {},
    "file": TEXT,
    "status": TEXT,
    "last_message": TEXT,
    "files_touched": {"type": "array", "items": TEXT},
}
LONGEST = 256
"""Characters of what names an agent or a session. All of them end up in files that are read at every event."""
_NAMING = ("agent_id", "agent_name", "session_id")
_UNSTORED = ("prompt", "tool_input")


def checked(event: Event, params: object) -> dict[str, Any]:
    """The params that `event` takes, those that are null left out. Raises InvalidArguments, which has no value of them.

    Others are ignored, whatever they are: a harness may tell more than an event needs. A name that is too long is
    refused by an event that is about who it names, and cut by any other, which has something to do without it.
    """
    if not isinstance(params, dict):
        raise InvalidArguments(["the params must be an object"])
    taken = (HARNESS_ID, *event.required, *event.optional)
    given = {name: params[name] for name in taken if params.get(name) is not None}
    missing = [f"{name} is required" for name in event.required if name not in given]
    if missing:
        raise InvalidArguments(missing)
    faults = []
    for name, value in given.items():
        type_ = event.types.get(name, FIELDS[name])
        faults += [f"{name}{fault.pointer} {fault.message}" for fault in schemas.faults(type_, value)]
        texts = value if isinstance(value, list) else [value]
        if name not in _UNSTORED and any(isinstance(text, str) and not _is_storable(text) for text in texts):
            faults.append(f"{name} must not have NUL or lone surrogates")
        elif type_.get("minLength") and isinstance(value, str) and value.isspace():
            faults.append(f"{name} must not be blank")
    for name in _NAMING:
        if isinstance(told := given.get(name), str) and len(told) > LONGEST:
            # An agent is known by the end of its name: a plug-in may stand before it.
            given[name] = told[-LONGEST:] if name == "agent_name" else told[:LONGEST]
            if name in event.required:
                faults.append(f"{name} must not be longer than {LONGEST} characters")
    if faults:
        raise InvalidArguments(faults)
    return given


def _is_storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
