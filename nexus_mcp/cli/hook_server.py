"""`nexus-mcp hook --native opencode --serve`: answer the plugin's reports, a line of JSON each, until stdin ends.

OpenCode's plugin keeps one such process, so that no event has to start a program. Each event gets the same answer
as from a separate process: the files are read anew, and an error concerns only its own event. A report that cannot be
read is answered with a denial, because it may be about a tool that the agent may not use.
"""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.hook_event import NATIVE, RECORDED, Unusable, host_of, parse_params, write_line
from nexus_mcp.cli.remote_options import is_remote
from nexus_mcp.cli.workspace_options import HARNESS_ID, workspace_from
from nexus_mcp.errors import UsageError
from nexus_mcp.harness.dialect import LIMIT
from nexus_mcp.harness.opencode_dialect import Sessions
from nexus_mcp.lifecycle.definition import DENY, UNREADABLE, own_fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.harness.opencode_dialect import Ask
    from nexus_mcp.lifecycle.host import Host

_OPENCODE = "opencode"
_MALFORMED = "The report of the OpenCode plugin about this event is malformed."
_LONGEST = 24 << 20
"""The maximum size of a report in bytes."""


def serve(values: Values) -> int:
    """Answer reports until stdin ends, then end the sessions. Raise UsageError for another harness."""
    if values[NATIVE.name] != _OPENCODE:
        raise UsageError("--serve is for opencode: other harnesses start a process for each event.")
    values.setdefault(HARNESS_ID.name, _OPENCODE)
    host = host_of(values, limit=LIMIT)
    sessions = Sessions(_remote(values, host) if is_remote(values) else _local(values, host))
    stdin = sys.stdin.buffer
    while line := stdin.readline(_LONGEST + 1):
        if len(line) > _LONGEST and not line.endswith(b"\n"):
            _skip_line(stdin)
            line = b""
        if line.strip() or not line:
            write_line(_answer(sessions, line), lambda error: {"deny": own_fault(error)})
    sessions.end()
    return exits.OK


def _local(values: Values, host: Host) -> Ask:
    """Return a function that answers events from the files of the project. Raise UsageError."""
    from nexus_mcp.lifecycle.guard import answer_event

    workspace = workspace_from(values)
    return lambda event, params: answer_event(event, params, workspace, host)


def _remote(values: Values, host: Host) -> Ask:
    """Return a function that gets the answers to events from a server over HTTP. Raise UsageError."""
    from nexus_mcp.cli.remote_hook import Server

    server = Server(values)
    return lambda event, params: server.ask(event, params, host, records=event in RECORDED)


def _answer(sessions: Sessions, line: bytes) -> dict[str, Any]:
    """Return the answer to one report, with its id. If the report is malformed or fails, the answer is a denial."""
    number: object = None
    try:
        report = parse_params(line)
        if not isinstance(report, dict) or not line:
            raise Unusable("A report is an object.")
        number = report.get("id")
        if not isinstance(report.get("event"), str):
            raise Unusable("The event of a report is a text.")
        return {**sessions.handle(report), "id": number}
    except Unusable:
        return {DENY: f"{_MALFORMED} {UNREADABLE}", "id": number}
    except Exception as error:  # noqa: BLE001 - one report must not end the process
        return {DENY: f"{UNREADABLE} {own_fault(error)}", "id": number}


def _skip_line(stdin: Any) -> None:
    while chunk := stdin.readline(_LONGEST):
        if chunk.endswith(b"\n"):
            return
