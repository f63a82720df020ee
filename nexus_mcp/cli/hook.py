"""`nexus-mcp hook EVENT`: what a harness calls when something happens in a session."""

from __future__ import annotations

import os
import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command
from nexus_mcp.cli.workspace_options import HARNESS_ID, PROJECT, workspace_from
from nexus_mcp.errors import InvalidArguments, StateError, UsageError
from nexus_mcp.lifecycle import EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.lifecycle.definition import Event

LIMIT = 4 << 20
_CHUNK = 1 << 16
_SHOWN = {"agent_name": "engineer", "agent_id": "a1"}

EVENT = Argument("EVENT", "what happened", {name: event.summary for name, event in EVENTS.items()})


def run(values: Values) -> int:
    """Prints the answer to one event as a line of JSON. Raises UsageError for params that are not the event's."""
    event = EVENTS[values[EVENT.name]]
    workspace = workspace_from(values)
    params = _params(_stdin(event), event)
    from nexus_mcp.lifecycle.handle import handle
    from nexus_mcp.store.codec import compact, without_surrogates

    try:
        answer = handle(event, params, workspace)
    except InvalidArguments as error:
        raise UsageError(f"{event.name}: {error}.", next_step=_example(event)) from error
    # Bytes, because the encoding of the terminal is not that of JSON.
    sys.stdout.buffer.write(without_surrogates(compact(answer)).encode() + b"\n")
    sys.stdout.buffer.flush()
    return exits.OK


def _example(event: Event) -> str:
    import json

    params = json.dumps({name: _SHOWN[name] for name in event.required})
    return f"Example: echo '{params}' | nexus-mcp hook {event.name}"


def _stdin(event: Event) -> bytes:
    """All that comes on stdin. Raises UsageError when that is somebody's keyboard, cannot be read, or has no end."""
    if sys.stdin is None:
        raise UsageError("There is no stdin to read the params from.", next_step=_example(event))
    if os.isatty(0):
        raise UsageError("The params come on stdin as JSON, and stdin is a terminal.", next_step=_example(event))
    data = bytearray()
    try:
        while len(data) <= LIMIT and (chunk := os.read(0, _CHUNK)):
            data += chunk
    except OSError as error:
        problem = f"The params could not be read from stdin: {error.strerror}."
        raise UsageError(problem, next_step=_example(event)) from error
    if len(data) > LIMIT:
        raise UsageError(f"The params on stdin are larger than the {LIMIT >> 20} MiB that are read.")
    return bytes(data)


def _params(data: bytes, event: Event) -> Any:
    """The JSON value in `data`; nothing at all stands for no params. Raises UsageError."""
    from nexus_mcp.store.codec import decode

    if not data.strip():
        return {}
    try:
        return decode(data, "stdin")
    except StateError as error:
        where = f" ({error.where})" if error.where else ""
        raise UsageError(f"The JSON on stdin{where} {error.problem}.", next_step=_example(event)) from error


COMMAND = Command(
    "hook",
    "tell of an event in a session; a harness's hooks call this",
    "Reads the params of the event from stdin, one JSON object, and answers with one\n"
    "line of JSON on stdout. Nothing on stdin stands for {}.",
    (PROJECT, HARNESS_ID),
    run,
    argument=EVENT,
)
