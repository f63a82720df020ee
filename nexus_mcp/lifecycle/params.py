"""The params of lifecycle events: the fields that harnesses speak of, whatever they call them themselves."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.errors import InvalidArguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.lifecycle.definition import Event

HARNESS_ID = "harness_id"
_TEXT = {"type": "string"}
FIELDS: dict[str, dict[str, Any]] = {
    HARNESS_ID: _TEXT,
    "agent_id": {"type": "string", "minLength": 1},
    "agent_name": {"type": "string", "pattern": r"^[a-z][a-z0-9-]*\Z"},
    "last_message": _TEXT,
    "files_touched": {"type": "array", "items": _TEXT},
}


def checked(event: Event, params: object) -> dict[str, Any]:
    """The params that `event` takes, those that are null left out. Raises InvalidArguments.

    Others are ignored, whatever they are: a harness may tell more than an event needs.
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
        faults += [f"{name}{fault.pointer} {fault.message}" for fault in schemas.faults(FIELDS[name], value)]
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and not _is_storable(text) for text in texts):
            faults.append(f"{name} must not have NUL or lone surrogates")
        elif FIELDS[name].get("minLength") and isinstance(value, str) and value.isspace():
            faults.append(f"{name} must not be blank")
    if faults:
        raise InvalidArguments(faults)
    return given


def _is_storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
