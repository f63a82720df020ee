"""`nexus-mcp log`: print the last changes of the project's files: time, title and client, and in a pipe the tool."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option, parse_count
from nexus_mcp.cli.workspace_options import PROJECT, print_json, workspace_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.blocks import Table
    from nexus_mcp.cli.options import Values
    from nexus_mcp.state import oplog as changes
    from nexus_mcp.store.store import Store
    from nexus_mcp.views import FaultRow

SHOWN = 20
NUMBER = Option("--number", "N", "show the last N changes, also -n N (default: 20)", short="-n")
JSON = Option("--json", "", "print the entries as JSON, with the old contents")


def run(values: Values) -> int:
    """Print the newest changes, newest last. Raise UsageError, StateError, PathRefused, StorageError."""
    from nexus_mcp.store import oplog
    from nexus_mcp.store.store import Store

    most = parse_count(values.get(NUMBER.name, str(SHOWN)), NUMBER.name)
    store = Store(workspace_from(values))
    with store.state() as state:
        lines = oplog.read(state)
    if JSON.name in values:
        _print_json(lines, most)
    else:
        _print(store, lines, most)
    return exits.OK


def _print(store: Store, lines: list[changes.Line], most: int) -> None:
    import time

    from nexus_mcp.cli.blocks import DIM, Line
    from nexus_mcp.cli.change_lines import change_table, find_titles, missing_titles
    from nexus_mcp.cli.terminal import open_screen
    from nexus_mcp.state.oplog import undone_ids

    screen = open_screen()
    shown = lines[-most:]
    undone = undone_ids(lines)
    found: list[Line | Table] = []
    faults: list[FaultRow] = []
    if shown:
        names = find_titles(store, shown, undone, faults)
        found.append(change_table(shown, undone, names, time.time(), width=screen.width))
    else:
        found.append(Line("No change is recorded yet: each change that a tool makes adds a line here."))
    if len(lines) > most:
        more = f"{len(lines) - most} older changes are not shown: nexus-mcp log -n {len(lines)}."
        found.append(Line((more, DIM)))
    unreadable = sum(entry is None for _, entry in lines)
    if unreadable:
        found.append(Line(f"Unreadable lines: {unreadable}, cut short by a crash or written by a newer nexus-mcp."))
    screen.show([*found, *missing_titles(faults)])


def _print_json(lines: list[changes.Line], most: int) -> None:
    from nexus_mcp.views import VERSION

    entries = [entry for _, entry in lines if entry is not None]
    print_json({"version": VERSION, "entries": entries[-most:], "unreadable": len(lines) - len(entries)})


COMMAND = Command(
    "log",
    "show the last changes of plan, tasks and artifacts",
    "Shows each change with its time, tool and client; the newest change comes last.\n"
    "nexus-mcp undo takes back the last changes; it cannot take back one that is\n"
    "marked with `stays`.",
    (NUMBER, JSON, PROJECT),
    run,
    examples=(
        ("nexus-mcp log -n 5", "show the last five changes"),
        ("nexus-mcp log --json", "print the last changes for a program"),
    ),
)
