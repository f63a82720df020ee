"""`nexus-mcp hook EVENT`: what a harness calls when something happens in a session."""

from __future__ import annotations

import gc
import os
import sys
import time

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
    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.workspace import Workspace

LIMIT = 16 << 20
"""Bytes. More than any event needs, because payloads bring along what a tool answered, or an agent said."""
_DRAINED = 64 << 20
"""Bytes. What is more than LIMIT is read all the same: a writer whose pipe breaks may take it for a failure."""
_CHUNK = 1 << 16
_OUTLINED = 24 << 20
"""Bytes. What is looked through of a payload that cannot be read."""
_MARKS = 500_000
"""Marks of JSON's structure in a payload, at most: reading a value costs time whatever its size is."""
_STILL_S = 0.3
"""Seconds without anything more after which a payload that is whole is taken for all there is."""

RECORDED = frozenset({"agent_spawn", "subagent_spawn", "agent_resume", "agent_complete", "subagent_complete"})
"""Events that are recorded also when they are answered before that: an agent that is not recorded is unknown."""

EVENT = Argument("EVENT", "what happened", {name: row.summary for name, row in EVENTS.items()})


class _Unusable(Exception):
    """What came on stdin is no payload. The text has nothing of it."""


def run(values: Values) -> int:
    """Prints the answer to one event as a line of JSON. Raises UsageError when the command line itself is wrong.

    Raises OSError when the answer cannot be written.
    """
    gc.disable()  # the process is over before there is anything to collect
    name = values[EVENT.name]
    if sys.stdin is not None and os.isatty(0):
        problem = "The params come on stdin as JSON, and stdin is a terminal."
        raise UsageError(problem, next_step=f"Example: echo '{{}}' | nexus-mcp hook {name}")
    try:
        answer = _answer_in_time(_Told(name), values)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - a hook that fails would stand in the way of the session
        answer = _last_resort(name, error)
    _print(answer)
    return exits.OK


def _answer_in_time(told: _Told, values: Values) -> dict[str, Any]:
    """The answer, once it is certain that the one of the deadline is not given. Raises UsageError, and what fails."""
    from nexus_mcp.lifecycle.deadline import Deadline

    deadline = Deadline(lambda: told.early(deadline.ctx), told.last, _print, told.is_to_be_recorded)
    deadline.begin()
    try:
        answer = _answer(told, values)
    finally:
        is_in_time = deadline.end()
    if not is_in_time:
        while True:  # the process ends as soon as the answer is out that was made at the deadline
            time.sleep(1)
    return answer


def _last_resort(name: str, error: Exception) -> dict[str, Any]:
    """The answer when even what answers failures fails: the stricter one where it decides. Loads nothing."""
    told = f"The event {name} could not be dealt with: nexus-mcp has a fault of its own: {type(error).__name__}."
    answer: dict[str, Any] = {"event": name, "harness_id": DEFAULT_HARNESS_ID, "decision": "continue"}
    if name == "pre_tool_use":
        answer["decision"] = "deny"
        answer["reason"] = f"{told} Nothing is known of who asks. Call again; if it stays so, have the user look at it."
    return {**answer, "warnings": [f"{told} Please report it."]}


class _Told:
    """What is known of an event so far: `data` of its payload, `params` once that is read, the workspace."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.data = bytearray()
        self.params: Any = None
        self.workspace: Workspace | None = None
        self.is_reading = False

    def is_to_be_recorded(self) -> bool:
        """Whether the event is one of an agent, and its payload is not still waited for."""
        return self.name in RECORDED and not self.is_reading

    def early(self, ctx: EventContext | None) -> dict[str, Any]:
        """The answer at the deadline, from what is known."""
        from nexus_mcp.lifecycle.deadline import NOT_IN_TIME
        from nexus_mcp.lifecycle.safely import DECIDING, failed

        if self.name == DECIDING and self.workspace is None:
            return self.last()
        params, is_whole = self.outline() if self.params is None else (self.params, True)
        answer = failed(self.name, NOT_IN_TIME, self.workspace, params, is_whole=is_whole)
        if ctx is None or self.name == DECIDING:
            return answer
        return {**ctx.answer(self.name, {}), "warnings": [*answer["warnings"], *ctx.warnings]}

    def last(self) -> dict[str, Any]:
        """The answer at the deadline that needs no file."""
        from nexus_mcp.lifecycle.deadline import last_answer
        from nexus_mcp.lifecycle.safely import DECIDING

        harness = DEFAULT_HARNESS_ID if self.workspace is None else self.workspace.harness_id
        params = self.params if isinstance(self.params, dict) else None
        return last_answer(self.name, harness, params, is_deciding=self.name == DECIDING)

    def outline(self) -> tuple[dict[str, object], bool]:
        """What can be made of the data for a decision, and whether that is all of it."""
        from nexus_mcp.lifecycle.outlines import outline
        from nexus_mcp.lifecycle.safely import DECIDING
        from nexus_mcp.lifecycle.unsure import NAMES

        return outline(bytes(self.data[:_OUTLINED]), NAMES) if self.name == DECIDING else ({}, True)


def _answer(told: _Told, values: Values) -> dict[str, Any]:
    from nexus_mcp.lifecycle.safely import DECIDING, answered, failed

    try:
        told.workspace = _workspace(values)
        told.is_reading = True
        _read(told.data, _DRAINED if told.name == DECIDING else LIMIT)
        told.is_reading = False
        told.params = _params(bytes(told.data))
        return answered(told.name, told.params, told.workspace)
    except _Unusable as problem:
        params, is_whole = told.outline()
        return failed(told.name, str(problem), told.workspace, params, is_whole=is_whole)


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
    try:
        from nexus_mcp.store.codec import compact, without_surrogates

        line = without_surrogates(compact(answer)).encode()
    except Exception as error:  # noqa: BLE001 - as above
        import json  # loaded long since

        line = json.dumps(_last_resort(str(answer["event"]), error)).encode()
    # Bytes, because the encoding of the terminal is not that of JSON.
    sys.stdout.buffer.write(line + b"\n")
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
            if len(chunk) < _CHUNK and _is_all(data):
                break
    except OSError as error:
        raise _Unusable(f"The params could not be read from stdin: {error.strerror}.") from error
    if seen > LIMIT:
        problem = f"The params on stdin are larger than the {LIMIT >> 20} MiB that are read."
        raise _Unusable(
            f"{problem} Have the hook leave out what the event does not take, such as the answer of a tool."
        )


def _is_all(data: bytearray) -> bool:
    """Whether nothing more is to be expected: what came is a whole payload, and its writer keeps the pipe open."""
    import select

    try:
        if select.select([0], [], [], _STILL_S)[0]:
            return False
    except (OSError, ValueError):  # Windows knows that for sockets alone
        return False
    if not data.rstrip().endswith(b"}"):
        return False
    try:
        _params(bytes(data))
    except _Unusable:
        return False
    return True


def _params(data: bytes) -> Any:
    """The JSON value in `data`; nothing at all stands for no params. Raises _Unusable."""
    from nexus_mcp.lifecycle.safely import MEND
    from nexus_mcp.store.codec import decode

    if not data.strip():
        return {}
    if sum(map(data.count, b"[{,:")) > _MARKS:
        raise _Unusable(f"What came on stdin has more values than are read. {MEND}")
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
