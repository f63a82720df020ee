"""`nexus-mcp hook EVENT`: what a harness calls when something happens in a session."""

from __future__ import annotations

import gc
import os
import sys
import time

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command
from nexus_mcp.cli.payload import DRAINED, LIMIT, Unusable, params, read
from nexus_mcp.cli.workspace_options import HARNESS_ID, PROJECT, workspace_from
from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.workspace import DEFAULT_HARNESS_ID, check_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.lifecycle.definition import EventContext
    from nexus_mcp.workspace import Workspace

_OUTLINED = 24 << 20
"""Bytes. What is looked through of a payload that cannot be read."""

RECORDED = frozenset({"agent_spawn", "subagent_spawn", "agent_resume", "agent_complete", "subagent_complete"})
"""Events that are recorded also when they are answered before that: an agent that is not recorded is unknown."""

EVENT = Argument("EVENT", "what happened", {name: row.summary for name, row in EVENTS.items()})


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
    from nexus_mcp.lifecycle.safely import DECIDING, MEND, answered, failed

    is_deciding = told.name == DECIDING
    nowhere: Unusable | None = None
    try:
        try:
            told.workspace = _workspace(values)
        except Unusable as problem:
            if not is_deciding:
                raise
            nowhere = problem  # the payload decides: it may be an agent's
        told.is_reading = True
        read(told.data, DRAINED if is_deciding else LIMIT)
        told.is_reading = False
        if is_deciding and not told.data.strip():
            raise Unusable(f"Nothing came on stdin. {MEND}")
        told.params = params(bytes(told.data))
        if told.workspace is not None:
            return answered(told.name, told.params, told.workspace)
        return failed(told.name, str(nowhere), None, told.params)
    except Unusable as problem:
        outlined, is_whole = told.outline()
        return failed(told.name, str(problem), told.workspace, outlined, is_whole=is_whole)


def _workspace(values: Values) -> Workspace:
    """Raises UsageError for options that are wrong, Unusable when it is the surroundings that do not lead anywhere."""
    check_harness_id(values.get(HARNESS_ID.name, DEFAULT_HARNESS_ID))
    try:
        return workspace_from(values)
    except NexusError as error:
        told = values.get(PROJECT.name)
        if told is not None and not os.path.isdir(told):
            raise
        raise Unusable(str(error)) from error


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


COMMAND = Command(
    "hook",
    "tell of an event in a session; a harness's hooks call this",
    "Reads the params of the event from stdin, one JSON object, and answers with one\n"
    "line of JSON on stdout. Nothing on stdin stands for {}, but not for\n"
    "pre_tool_use, where any agent may have sent it. Whatever goes wrong,\n"
    "the exit code is 0 and the answer says what it was; only an answer that cannot\n"
    "be written ends with 1.",
    (PROJECT, HARNESS_ID),
    run,
    argument=EVENT,
)
