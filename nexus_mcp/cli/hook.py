"""`nexus-mcp hook EVENT`: answer one event of a session; the hooks of a harness call this.

A thread answers at a deadline if the event takes too long (nexus_mcp/lifecycle/deadline.py).
"""

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
from nexus_mcp.lifecycle.definition import CONTINUE, DENY, UNREADABLE, failure_text, own_fault
from nexus_mcp.workspace import DEFAULT_HARNESS_ID, check_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.workspace import Workspace

LIMIT = 16 << 20
"""Bytes of a payload, at most. Generous, because payloads may hold the output of a tool or an agent."""
DRAINED = 64 << 20
"""Bytes that are read, at most. Larger than LIMIT, because a writer may take a broken pipe for a failure."""
_CHUNK = 1 << 16
_MARKS = 500_000
"""Structural characters (`[{,:`) in a payload, at most: many small values take long to parse."""
_STILL_S = 0.3
"""Seconds of silence after which a complete JSON value counts as the whole payload."""
_OUTLINED = 24 << 20
"""Bytes of a malformed payload that are searched for the fields of a decision."""

RECORDED = frozenset({"agent_spawn", "subagent_spawn", "agent_resume", "agent_complete", "subagent_complete"})
"""Events that are recorded even after their deadline: restrictions of an agent depend on the record."""

EVENT = Argument("EVENT", "what happened", {name: row.summary for name, row in EVENTS.items()})


def run(values: Values) -> int:
    """Print the answer to one event as a line of JSON and return 0.

    Raise UsageError for a wrong command line, OSError when the answer cannot be written.
    """
    gc.disable()  # the process ends before there is garbage to collect
    name = values[EVENT.name]
    if sys.stdin is not None and os.isatty(0):
        problem = "The params come on stdin as JSON, and stdin is a terminal."
        raise UsageError(problem, next_step=f"Example: echo '{{}}' | nexus-mcp hook {name}")
    try:
        answer = _answer_in_time(_Event(name), values)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - a hook that fails would block the session
        answer = _last_resort(name, error)
    _print(answer)
    return exits.OK


def _answer_in_time(event: _Event, values: Values) -> dict[str, Any]:
    """Return the answer, unless the deadline answered first. Raise UsageError and the errors of the event."""
    from nexus_mcp.lifecycle.deadline import Deadline

    deadline = Deadline(
        lambda: event.deadline_answer(deadline.ctx), event.fallback_answer, _print, event.is_to_be_recorded
    )
    deadline.begin()
    try:
        answer = _answer(event, values)
    finally:
        is_in_time = deadline.end()
    if not is_in_time:
        while True:  # the deadline's thread ends the process once its answer is written
            time.sleep(1)
    return answer


def _last_resort(name: str, error: Exception) -> dict[str, Any]:
    """Return the answer to an error in the error handling itself: pre_tool_use is denied. Import nothing."""
    answer = {"event": name, "harness_id": DEFAULT_HARNESS_ID, "decision": CONTINUE}
    if name == "pre_tool_use":
        answer |= {"decision": DENY, "reason": UNREADABLE}
    return {**answer, "warnings": [failure_text(name, own_fault(error))]}


class _Event:
    """One event while it is handled: the payload `data` so far, `params` once parsed, and the workspace."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.data = bytearray()
        self.params: Any = None
        self.workspace: Workspace | None = None
        self.is_reading = False

    def is_to_be_recorded(self) -> bool:
        """Return whether the event is an agent's and its payload was read."""
        return self.name in RECORDED and not self.is_reading

    def deadline_answer(self, ctx: EventContext | None) -> dict[str, Any]:
        """Return the answer at the deadline, from the data read so far."""
        from nexus_mcp.lifecycle.deadline import NOT_IN_TIME
        from nexus_mcp.lifecycle.guard import DECIDING, answer_failure

        if self.name == DECIDING and self.workspace is None:
            return self.fallback_answer()
        params, is_whole = self.outline() if self.params is None else (self.params, True)
        answer = answer_failure(self.name, NOT_IN_TIME, self.workspace, params, is_whole=is_whole)
        if ctx is None or self.name == DECIDING:
            return answer
        return {**ctx.answer(self.name, {}), "warnings": [*answer["warnings"], *ctx.warnings]}

    def fallback_answer(self) -> dict[str, Any]:
        """Return an answer at the deadline that needs no file."""
        from nexus_mcp.lifecycle.deadline import last_answer
        from nexus_mcp.lifecycle.guard import DECIDING

        harness = DEFAULT_HARNESS_ID if self.workspace is None else self.workspace.harness_id
        params = self.params if isinstance(self.params, dict) else None
        return last_answer(self.name, harness, params, is_deciding=self.name == DECIDING)

    def outline(self) -> tuple[dict[str, object], bool]:
        """Return the decision's fields that an incomplete payload holds, and whether it is complete."""
        from nexus_mcp.lifecycle.guard import DECIDING
        from nexus_mcp.lifecycle.malformed_payload import NAMES, outline

        return outline(bytes(self.data[:_OUTLINED]), NAMES) if self.name == DECIDING else ({}, True)


def _answer(event: _Event, values: Values) -> dict[str, Any]:
    from nexus_mcp.lifecycle.guard import DECIDING, MEND, answer_event, answer_failure

    is_deciding = event.name == DECIDING
    no_workspace: Unusable | None = None
    try:
        try:
            event.workspace = _workspace(values)
        except Unusable as problem:
            if not is_deciding:
                raise
            no_workspace = problem  # go on: the payload may name an agent with restrictions
        event.is_reading = True
        read_payload(event.data, DRAINED if is_deciding else LIMIT)
        event.is_reading = False
        if is_deciding and not event.data.strip():
            raise Unusable(f"Nothing came on stdin. {MEND}")
        event.params = parse_params(bytes(event.data))
        if event.workspace is not None:
            return answer_event(event.name, event.params, event.workspace)
        return answer_failure(event.name, str(no_workspace), None, event.params)
    except Unusable as problem:
        outlined, is_whole = event.outline()
        return answer_failure(event.name, str(problem), event.workspace, outlined, is_whole=is_whole)


def _workspace(values: Values) -> Workspace:
    """Return the workspace. Raise UsageError for wrong options, Unusable when the environment leads to no project."""
    check_harness_id(values.get(HARNESS_ID.name, DEFAULT_HARNESS_ID))
    try:
        return workspace_from(values)
    except NexusError as error:
        folder = values.get(PROJECT.name)
        if folder is not None and not os.path.isdir(folder):
            raise
        raise Unusable(str(error)) from error


def _print(answer: dict[str, Any]) -> None:
    try:
        from nexus_mcp.store.codec import compact, without_surrogates

        line = without_surrogates(compact(answer)).encode()
    except Exception as error:  # noqa: BLE001 - as above
        import json  # already imported

        line = json.dumps(_last_resort(str(answer["event"]), error)).encode()
    # Bytes, because the encoding of the terminal is not that of JSON.
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
        raise Unusable(f"{problem} Have the hook leave out what the event does not take, such as the answer of a tool.")


def _is_all(data: bytearray) -> bool:
    """Return whether `data` is a complete payload and stdin stays silent: some writers keep the pipe open."""
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
    from nexus_mcp.lifecycle.guard import MEND
    from nexus_mcp.store.codec import decode

    if not data.strip():
        return {}
    if sum(map(data.count, b"[{,:")) > _MARKS:
        raise Unusable(f"What came on stdin has more values than are read. {MEND}")
    try:
        return decode(data, "stdin")
    except StateError as error:
        where = f" ({error.where})" if error.where else ""
        raise Unusable(f"What came on stdin{where} {error.problem}. {MEND}") from error


COMMAND = Command(
    "hook",
    "answer an event of a session; hooks of a harness call this",
    "Reads the params of the event from stdin, one JSON object, and prints the\n"
    "answer as one line of JSON. Empty input stands for {}, except for pre_tool_use,\n"
    "which refuses it because any agent may have sent it. On errors the exit code\n"
    "is 0, too, and the answer has the reason; only an answer that cannot be written\n"
    "ends with 1.",
    (PROJECT, HARNESS_ID),
    run,
    argument=EVENT,
)
