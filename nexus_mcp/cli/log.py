"""`nexus-mcp log`: the last changes of the project's files, with tool, time and client."""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option, parse_count
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.state.oplog import Line

SHOWN = 20
NUMBER = Option("--number", "N", f"show the last N changes, also -n N (default: {SHOWN})", short="-n")
JSON = Option("--json", "", "print the entries as JSON, with the old files")


def run(values: Values) -> int:
    """Print the newest changes, newest last. Raise StateError, PathRefused, StorageError."""
    from nexus_mcp.store import oplog
    from nexus_mcp.store.store import Store

    most = parse_count(values.get(NUMBER.name, str(SHOWN)), NUMBER.name)
    with Store(workspace_from(values)).state() as state:
        lines = oplog.read(state)
    if JSON.name in values:
        _print_json(lines, most)
    else:
        _print(lines, most)
    return exits.OK


def _print(lines: list[Line], most: int) -> None:
    from nexus_mcp.cli.changes import table
    from nexus_mcp.state.oplog import undone_ids

    unreadable = sum(entry is None for _, entry in lines)
    shown = lines[-most:]
    rows = iter(table([entry for _, entry in shown if entry is not None], undone_ids(lines)))
    for number, entry in shown:
        print(f"line {number}  unreadable" if entry is None else next(rows))
    if not lines:
        print("No change is recorded yet.")
    if len(lines) > most:
        print(f"{len(lines) - most} more came before these: nexus-mcp log -n {len(lines)}.")
    if unreadable:
        print(f"Not readable: {unreadable}, cut short by a crash or written by a newer nexus-mcp.")


def _print_json(lines: list[Line], most: int) -> None:
    from nexus_mcp.store.codec import compact, without_surrogates

    entries = [entry for _, entry in lines if entry is not None]
    text = compact({"entries": entries[-most:], "unreadable": len(lines) - len(entries)})
    # Bytes, because the encoding of the terminal is not that of JSON.
    sys.stdout.buffer.write(without_surrogates(text).encode() + b"\n")
    sys.stdout.buffer.flush()


COMMAND = Command(
    "log",
    "show the last changes of plan, tasks and artifacts",
    "Shows which tool changed what, when, and for whom; the newest change comes\n"
    "last. nexus-mcp undo takes the last of them back.",
    (NUMBER, JSON, PROJECT),
    run,
)
