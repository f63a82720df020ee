"""`nexus-mcp hook EVENT`: answer one event of a session; the hooks of a harness call this.

With --native it reads the harness's own payload, and answers in the harness's form (native_hook.py, hook_server.py).
Without --serve, a thread answers at a deadline if the event takes too long (nexus_mcp/lifecycle/deadline.py).
"""

from __future__ import annotations

import gc
import os
import sys
import time

from nexus_mcp.cli import exits
from nexus_mcp.cli.hook_event import (
    DRAINED,
    GATE,
    LIMIT,
    NATIVE,
    PLUGIN,
    SKILLS,
    Event,
    Unusable,
    host_of,
    last_resort,
    read_payload,
)
from nexus_mcp.cli.options import Argument, Command, Option
from nexus_mcp.cli.remote_options import OPTIONS as REMOTE
from nexus_mcp.cli.remote_options import is_remote
from nexus_mcp.cli.workspace_options import HARNESS_ID, MOUNT, PROJECT, workspace_from
from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.lifecycle import EVENTS
from nexus_mcp.lifecycle.definition import DECIDING
from nexus_mcp.workspace import DEFAULT_HARNESS_ID, check_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.workspace import Workspace

EVENT = Argument("EVENT", "what happened", {name: row.summary for name, row in EVENTS.items()}, least=0)
_RESIDENT = "opencode"
"""The harness whose hooks start no command: its plugin keeps one process."""
SERVE = Option("--serve", "", "answer events until stdin ends (opencode)")


def run(values: Values) -> int:
    """Print the answer to one event, if it has any, as a line of JSON; with --serve, print the answers to all events.
    Return 0.

    Raise UsageError for a wrong command line, OSError when the answer cannot be written.
    """
    if SERVE.name not in values:
        gc.disable()  # a process for one event ends before there is garbage to collect
    event: Event
    if NATIVE.name in values:
        if EVENT.name in values:
            raise UsageError("hook takes an EVENT or --native, not both: the payload names the event.")
        if SERVE.name in values and PLUGIN.name in values:
            raise UsageError(
                f"{SERVE.name} and {PLUGIN.name} do not go together.", next_step=f"Leave {PLUGIN.name} out."
            )
        if SERVE.name in values:
            from nexus_mcp.cli.hook_server import serve

            return serve(values)
        if values[NATIVE.name] == _RESIDENT:
            raise UsageError(f"{NATIVE.name} {_RESIDENT} needs {SERVE.name}: its plugin keeps one process.")
        from nexus_mcp.cli.native_hook import NativeEvent

        event = NativeEvent(values)
    else:
        event = Event(_name(values), host_of(values))
    if sys.stdin is not None and os.isatty(0):
        problem = "The params come on stdin as JSON, but stdin is a terminal."
        raise UsageError(problem, next_step=f"Example: echo '{{}}' | nexus-mcp hook {event.name}")
    try:
        answer = _answer_in_time(event, values)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - a harness lets a tool run if its hook fails
        answer = last_resort(event.name, error)
    event.print(answer)
    return exits.OK


def _name(values: Values) -> str:
    """Return the event of the command line. Raise UsageError when the event is missing, or an option needs --native."""
    for option in (SKILLS, PLUGIN, SERVE):
        if option.name in values:
            raise UsageError(f"{option.name} needs {NATIVE.name}.", next_step="See nexus-mcp hook --help.")
    if EVENT.name not in values:
        problem = f"nexus-mcp hook needs an argument EVENT, one of {', '.join(EVENTS)}, or {NATIVE.name} HARNESS."
        raise UsageError(problem, next_step="See nexus-mcp hook --help.")
    return values[EVENT.name]


def _answer_in_time(event: Event, values: Values) -> dict[str, Any]:
    """Return the answer. If the deadline answered first, wait until its thread ends the process. Raise UsageError and
    the errors of the event.
    """
    from nexus_mcp.lifecycle.deadline import Deadline

    deadline = Deadline(
        lambda: event.deadline_answer(deadline.ctx), event.fallback_answer, event.print, event.is_to_be_recorded
    )
    deadline.begin()
    try:
        return _answer(event, values)
    finally:
        if not deadline.end():  # also after an error: it must not give a second answer
            while True:  # the deadline's thread ends the process once its answer is written
                time.sleep(1)


def _answer(event: Event, values: Values) -> dict[str, Any]:
    if is_remote(values):
        from nexus_mcp.cli import remote_hook

        return remote_hook.answer(event, remote_hook.Server(values))
    from nexus_mcp.lifecycle.guard import answer_event, answer_failure

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
        answer = event.parse()
        if answer is not None:
            return answer
        if event.workspace is not None:
            return answer_event(event.name, event.params, event.workspace, event.host)
        return answer_failure(event.name, str(no_workspace), None, event.params)
    except Unusable as problem:
        outlined, is_whole = event.outline()
        return answer_failure(event.name, str(problem), event.workspace, outlined, is_whole=is_whole, host=event.host)


def _workspace(values: Values) -> Workspace:
    """Return the workspace. Raise UsageError for a wrong harness id or a --project that is no folder, Unusable for any
    other error.
    """
    native = values.get(NATIVE.name)
    if native is not None:
        values.setdefault(HARNESS_ID.name, native)
    check_harness_id(values.get(HARNESS_ID.name, DEFAULT_HARNESS_ID))
    try:
        return workspace_from(values)
    except NexusError as error:
        folder = values.get(PROJECT.name)
        if folder is not None and not os.path.isdir(folder):
            raise
        raise Unusable(str(error)) from error


COMMAND = Command(
    "hook",
    "answer an event of a session; hooks of a harness call this",
    "Reads the payload of the event from stdin, one JSON object, and prints the\n"
    "answer as one line of JSON. Empty input means {}, except for pre_tool_use,\n"
    "which refuses it because any agent may have sent it. After an error the exit\n"
    "code is still 0, and the answer has the reason. Exit code 1: the answer could\n"
    "not be written. With --url, or the variable NEXUS_URL, a server answers.",
    (PROJECT, HARNESS_ID, MOUNT, NATIVE, GATE, SKILLS, PLUGIN, SERVE, *REMOTE),
    run,
    argument=EVENT,
    examples=(("echo '{}' | nexus-mcp hook session_start", "print the context that a new session gets"),),
)
