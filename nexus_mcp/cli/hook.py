"""`nexus-mcp hook EVENT`: what a harness calls when something happens in a session."""

from __future__ import annotations

import gc
import os
import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command
from nexus_mcp.cli.workspace_options import HARNESS_ID, PROJECT, workspace_from
from nexus_mcp.errors import NexusError, StateError, UsageError
from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.workspace import DEFAULT_HARNESS_ID, check_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.workspace import Workspace

LIMIT = 16 << 20
"""Bytes. More than any event needs, because payloads bring along what a tool answered, or an agent said."""
_DRAINED = 64 << 20
"""Bytes. What is more than LIMIT is read all the same: a writer whose pipe breaks may take it for a failure."""
_CHUNK = 1 << 16

EVENT = Argument("EVENT", "what happened", {name: row.summary for name, row in EVENTS.items()})


class _Unusable(Exception):
    """What came on stdin is no payload. The text has nothing of it."""


def run(values: Values) -> int:
    """Prints the answer to one event as a line of JSON. Raises UsageError when the command line itself is wrong."""
    gc.disable()  # the process is over before there is anything to collect
    name = values[EVENT.name]
    if sys.stdin is not None and os.isatty(0):
        problem = "The params come on stdin as JSON, and stdin is a terminal."
        raise UsageError(problem, next_step=f"Example: echo '{{}}' | nexus-mcp hook {name}")
    from nexus_mcp.lifecycle.safely import DECIDING, answered, failed

    workspace: Workspace | None = None
    data = bytearray()
    try:
        workspace = _workspace(values)
        _read(data, _DRAINED if name == DECIDING else LIMIT)
        answer = answered(name, _params(bytes(data)), workspace)
    except _Unusable as problem:
        told, is_whole = _outline(data) if name == DECIDING else ({}, True)
        answer = failed(name, str(problem), workspace, told, is_whole=is_whole)
    _print(answer)
    return exits.OK


def _workspace(values: Values) -> Workspace:
    """Raises UsageError for options that are wrong, _Unusable when it is the surroundings that do not lead anywhere."""
    check_harness_id(values.get(HARNESS_ID.name, DEFAULT_HARNESS_ID))
    try:
        return workspace_from(values)
    except NexusError as error:
        told = values.get(PROJECT.name)
        if told is not None and not os.path.isdir(told):
            raise
        raise _Unusable(str(error)) from error


def _print(answer: dict[str, Any]) -> None:
    from nexus_mcp.store.codec import compact, without_surrogates

    # Bytes, because the encoding of the terminal is not that of JSON.
    sys.stdout.buffer.write(without_surrogates(compact(answer)).encode() + b"\n")
    sys.stdout.buffer.flush()


def _read(data: bytearray, most: int) -> None:
    """Put `most` bytes of what comes on stdin into `data`. Raises _Unusable when it cannot be read, or is too much."""
    if sys.stdin is None:
        raise _Unusable("There is no stdin to read the params from.")
    seen = 0
    try:
        while seen <= _DRAINED and (chunk := os.read(0, _CHUNK)):
            seen += len(chunk)
            if seen <= most:
                data += chunk
    except OSError as error:
        raise _Unusable(f"The params could not be read from stdin: {error.strerror}.") from error
    if seen > LIMIT:
        problem = f"The params on stdin are larger than the {LIMIT >> 20} MiB that are read."
        raise _Unusable(
            f"{problem} Have the hook leave out what the event does not take, such as the answer of a tool."
        )


def _outline(data: bytearray) -> tuple[dict[str, object], bool]:
    from nexus_mcp.lifecycle.outlines import outline
    from nexus_mcp.lifecycle.unsure import NAMES

    return outline(bytes(data), NAMES)


def _params(data: bytes) -> Any:
    """The JSON value in `data`; nothing at all stands for no params. Raises _Unusable."""
    from nexus_mcp.lifecycle.safely import MEND
    from nexus_mcp.store.codec import decode

    if not data.strip():
        return {}
    try:
        return decode(data, "stdin")
    except StateError as error:
        where = f" ({error.where})" if error.where else ""
        raise _Unusable(f"What came on stdin{where} {error.problem}. {MEND}") from error


COMMAND = Command(
    "hook",
    "tell of an event in a session; a harness's hooks call this",
    "Reads the params of the event from stdin, one JSON object, and answers with one\n"
    "line of JSON on stdout. Nothing on stdin stands for {}. Whatever goes wrong,\n"
    "the exit code is 0 and the answer says what it was; only an answer that cannot\n"
    "be written ends with 1.",
    (PROJECT, HARNESS_ID),
    run,
    argument=EVENT,
)
