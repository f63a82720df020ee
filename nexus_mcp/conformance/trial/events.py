"""Lifecycle events: a command for each, with the payload on its stdin and its answer on its stdout."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from nexus_mcp.conformance.document import Unparsable, parse
from nexus_mcp.conformance.limits import VALUES
from nexus_mcp.conformance.processes.allowance import Allowance
from nexus_mcp.conformance.processes.process import ServerProcess
from nexus_mcp.conformance.processes.surroundings import environment
from nexus_mcp.conformance.reply import Reply
from nexus_mcp.conformance.trouble import TargetTrouble, last_line
from nexus_mcp.conformance.weight import values

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Event
    from nexus_mcp.conformance.target import Place, TargetOptions

TYPE = "{type}"


async def send_event(event: Event, options: TargetOptions, place: Place) -> Reply:
    """Runs the options' event command for one event, in the project. A non-zero exit is an error.

    Raises TargetTrouble when it does not end by itself or leaves something running; OSError when it cannot be started.
    """
    assert options.event_command is not None
    printed = bytearray()  # not a list of lines: a few bytes each take many in memory
    started = time.perf_counter()
    process = ServerProcess(
        [word.replace(TYPE, event.type) for word in options.event_command],
        place.project,
        environment(options, place.project, place.mark),
        allowance=Allowance(unasked=sys.maxsize),
        on_line=lambda line: printed.extend(line + b"\n"),
        on_end=lambda: None,
    )
    who = f"the event command for {event.type}"
    try:
        process.send(json.dumps(event.params, ensure_ascii=False).encode() + b"\n")
        process.close_input()
        await process.death.wait(options.timeout)
        seconds = time.perf_counter() - started
        if not process.death.told and not process.fault:
            raise TargetTrouble(f"did not end within {options.timeout:g} s", who)
        complaint = await process.end(options.end_timeout)
        if did := process.fault or complaint or (process.death.code < 0 and process.death.description):
            raise TargetTrouble(did, who)
    finally:
        process.kill()
    return _reply(bytes(printed + process.unfinished), process.stderr, process.death.code, seconds)


def _reply(stdout: bytes, stderr: str, code: int, seconds: float) -> Reply:
    text = stdout.decode("utf-8", "replace").strip()
    try:
        payload = parse(text) if values(stdout, VALUES) <= VALUES else None
    except Unparsable:
        payload = None
    if code == 0:
        return Reply(payload, text, seconds=seconds)
    said = last_line(stderr) or f"exit code {code}"
    return Reply(payload, said, is_error=True, seconds=seconds)
