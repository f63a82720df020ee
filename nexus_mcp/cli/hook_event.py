"""Read the payload of one `nexus-mcp hook` event from stdin within bounds, and answer if that fails."""

from __future__ import annotations

import os
import sys

from nexus_mcp.cli.options import Option
from nexus_mcp.errors import StateError
from nexus_mcp.harness import HARNESSES
from nexus_mcp.lifecycle.definition import CONTINUE, DECIDING, DENY, MEND, UNREADABLE, failure_text, own_fault
from nexus_mcp.lifecycle.host import BLOCK, GATES, Host
from nexus_mcp.workspace import DEFAULT_HARNESS_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.workspace import Workspace

LIMIT = 16 << 20
"""The maximum size of a payload. It is large because payloads may hold the output of a tool or an agent."""
DRAINED = 64 << 20
"""The maximum number of bytes that are read. It is larger than LIMIT because a writer may report a broken pipe as a
failure.
"""
_CHUNK = 1 << 16
_MARKS = 500_000
"""The maximum number of structural characters (`[{,:`) in a payload: many small values take long to parse."""
_STILL_S = 0.3
"""Seconds of silence after which a complete JSON value counts as the whole payload."""
_OUTLINED = 24 << 20
"""The number of bytes of a malformed payload that are searched for the fields on which the decision depends."""

RECORDED = frozenset({"agent_spawn", "subagent_spawn", "agent_resume", "agent_complete", "subagent_complete"})
"""Events that are recorded even after their deadline, because the restrictions of an agent depend on the record."""

NATIVE = Option("--native", "HARNESS", "read the harness's own payload, without EVENT", tuple(HARNESSES))
GATE = Option("--gate", "GATE", "edits without a task: block, auto, warn, off", GATES)
SKILLS = Option("--skills", "", "name our skills: the harness has them")
PLUGIN = Option("--plugin", "", "stay silent if an installed hook answers")


def host_of(values: Values, **more: Any) -> Host:
    """Return the Host for the options; `more` sets further fields of it."""
    return Host(values.get(GATE.name, BLOCK), has_skills=SKILLS.name in values, **more)


def last_resort(name: str, error: Exception) -> dict[str, Any]:
    """Return the answer if the error handling itself failed: pre_tool_use is denied. Import nothing."""
    answer = {"event": name, "harness_id": DEFAULT_HARNESS_ID, "decision": CONTINUE}
    if name == "pre_tool_use":
        answer |= {"decision": DENY, "reason": UNREADABLE}
    return {**answer, "warnings": [failure_text(name, own_fault(error))]}


class Event:
    """One event while it is handled: the payload `data` so far, `params` once parsed, and the workspace."""

    def __init__(self, name: str, host: Host) -> None:
        self.name = name
        self.host = host
        self.data = bytearray()
        self.params: Any = None
        self.workspace: Workspace | None = None
        self.root = ""  # the project on this machine, for an event that a server handles
        self.is_reading = False

    def parse(self) -> dict[str, Any] | None:
        """Read the params from the complete payload. Return an answer if no handling is needed. Raise Unusable."""
        if self.name == DECIDING and not self.data.strip():
            raise Unusable(f"Nothing came on stdin. {MEND}")
        self.params = parse_params(bytes(self.data))
        return None

    def print(self, answer: dict[str, Any]) -> None:
        """Write the answer to stdout."""
        write_line(answer, lambda error: last_resort(str(answer["event"]), error))

    def is_to_be_recorded(self) -> bool:
        """Return whether the event is one of RECORDED and its payload was read to the end."""
        return self.name in RECORDED and not self.is_reading

    def deadline_answer(self, ctx: EventContext | None) -> dict[str, Any]:
        """Return the answer for a missed deadline, from the data read so far."""
        from nexus_mcp.lifecycle.deadline import NOT_IN_TIME
        from nexus_mcp.lifecycle.guard import answer_failure

        if self.name == DECIDING and self.workspace is None:
            return self.fallback_answer()
        params, is_whole = self.outline() if self.params is None else (self.params, True)
        is_valid = ctx is not None
        answer = answer_failure(
            self.name, NOT_IN_TIME, self.workspace, params, is_whole=is_whole, is_valid=is_valid, host=self.host
        )
        if ctx is None or self.name == DECIDING:
            return answer
        return {**ctx.answer(self.name, {}), "warnings": [*answer["warnings"], *ctx.warnings]}

    def fallback_answer(self) -> dict[str, Any]:
        """Return an answer for a missed deadline without reading a file."""
        from nexus_mcp.lifecycle.deadline import last_answer

        harness = DEFAULT_HARNESS_ID if self.workspace is None else self.workspace.harness_id
        params = self.params if isinstance(self.params, dict) else None
        return last_answer(self.name, harness, params, is_deciding=self.name == DECIDING)

    def outline(self) -> tuple[dict[str, object], bool]:
        """Return the fields for a decision in the data read so far, and whether these data are a whole object.

        For any other event than pre_tool_use, return ({}, True).
        """
        from nexus_mcp.lifecycle.malformed_payload import NAMES, outline

        return outline(bytes(self.data[:_OUTLINED]), NAMES) if self.name == DECIDING else ({}, True)


def write_line(value: dict[str, Any], on_error: Callable[[Exception], dict[str, Any]]) -> None:
    """Write a value to stdout as a line of JSON; if it cannot be encoded, write the value that `on_error` returns."""
    try:
        from nexus_mcp.store.codec import compact, without_surrogates

        line = without_surrogates(compact(value)).encode()
    except Exception as error:  # noqa: BLE001 - the hook needs an answer in any case
        import json  # the module is imported already

        line = json.dumps(on_error(error)).encode()
    # Write bytes: JSON is UTF-8, whatever the encoding of the terminal is.
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


class Unusable(Exception):
    """The payload is malformed, or there is no project. The message quotes nothing of stdin."""


def read_payload(data: bytearray, most: int) -> None:
    """Append up to `most` bytes of stdin to `data`. Raise Unusable when stdin cannot be read or is too large."""
    if sys.stdin is None:
        raise Unusable("There is no stdin to read the params from.")
    seen = 0
    try:
        while seen <= DRAINED and (chunk := os.read(0, _CHUNK)):
            seen += len(chunk)
            if seen <= most:
                data += chunk
            if len(chunk) < _CHUNK and _is_all(data):
                break
    except OSError as error:
        raise Unusable(f"The params could not be read from stdin: {error.strerror}.") from error
    if seen > LIMIT:
        problem = f"The params on stdin are larger than the {LIMIT >> 20} MiB that are read."
        raise Unusable(f"{problem} Have the hook leave out what the event does not use, such as the output of a tool.")


def _is_all(data: bytearray) -> bool:
    """Return whether `data` is a complete payload and stdin stays silent, because some writers keep the pipe open."""
    import select

    try:
        if select.select([0], [], [], _STILL_S)[0]:
            return False
    except (OSError, ValueError):  # on Windows select takes sockets only
        return False
    if not data.rstrip().endswith(b"}"):
        return False
    try:
        parse_params(bytes(data))
    except Unusable:
        return False
    return True


def parse_params(data: bytes) -> Any:
    """Return the JSON value in `data`, {} for no data. Raise Unusable."""
    from nexus_mcp.store.codec import decode

    if not data.strip():
        return {}
    if sum(map(data.count, b"[{,:")) > _MARKS:
        raise Unusable(f"The JSON on stdin has too many values. {MEND}")
    try:
        return decode(data, "stdin")
    except StateError as error:
        where = f" ({error.where})" if error.where else ""
        raise Unusable(f"The input on stdin{where} {error.problem}. {MEND}") from error
