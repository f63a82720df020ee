"""`nexus-mcp run log [RUN]`: print the events of a run, as text or as log entries in JSON lines."""

from __future__ import annotations

import json
import sys
import time

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option, parse_count
from nexus_mcp.cli.run.options import FOLLOW, POLL_S, PROJECT_ONLY, RUN, opened_store, run_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.run.events import AnyEvent

LEVELS = ("debug", "info", "warn", "error")
TASK = Option("--task", "N", "only events of this task")
LEVEL = Option("--level", "L", "debug (all), info (default), warn or error", LEVELS)
JSON = Option("--json", "", "print each event as a line of JSON")


def run(values: Values) -> int:
    """Print the events; with --follow until no executor works on the run."""
    from nexus_mcp.run.view import open_view

    _, store = opened_store(values)
    name, seen, torn = run_name(values), 0, 0
    while True:
        with open_view(store, name) as view:
            name = view.id
            for event in view.events:
                if event.seq > seen:
                    seen = event.seq
                    _show(event, values)
            if view.torn > torn:
                print(f"nexus-mcp: {view.torn} lines of the log are no events of this version.", file=sys.stderr)
            torn = view.torn
            is_over = view.holder is None
        sys.stdout.flush()
        if FOLLOW.name not in values or is_over:
            return exits.OK
        time.sleep(POLL_S)


def _show(event: AnyEvent, values: Values) -> None:
    from nexus_mcp.run import log_entries

    least = LEVELS.index(values.get(LEVEL.name, "info"))
    if LEVELS.index(log_entries.level(event)) < least:
        return
    if TASK.name in values and event.task != parse_count(values[TASK.name], TASK.name):
        return
    print(json.dumps(log_entries.entry(event)) if JSON.name in values else log_entries.line(event))


COMMAND = Command(
    "log",
    "show the events of a run",
    "Shows what happened in a run, the newest event last.",
    (TASK, LEVEL, FOLLOW, JSON, *PROJECT_ONLY),
    run,
    argument=RUN,
    examples=(("nexus-mcp run log --task 3 --follow", "show the events of task 3 as they come"),),
)
