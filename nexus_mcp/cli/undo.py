"""`nexus-mcp undo`: take back the last changes of session files and artifacts."""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.exits import defer_interrupt
from nexus_mcp.cli.options import Argument, Command, Option, parse_count
from nexus_mcp.cli.workspace_options import HARNESS_ID, JSON, PROJECT, print_json, workspace_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.blocks import Table
    from nexus_mcp.cli.options import Values
    from nexus_mcp.store.store import Store
    from nexus_mcp.views import FaultRow

COUNT = Argument("[N]", "how many changes, the last one first (default: 1)", least=0, is_number=True)
DRY_RUN = Option("--dry-run", "", "show what would be taken back, and change nothing")
CLIENT = "command line"
_MOST_TITLES = 500
"""The maximum number of changes for which a title is looked up."""
NOT_PRINTED = "nexus-mcp: The changes were taken back, but the result could not be printed; nexus-mcp log shows it."


def run(values: Values) -> int:
    """Take back the last changes and print them.

    Raise UsageError, and the errors of store.undo, most of them with nothing changed. Raise OSError if the result
    cannot be printed; then, without --dry-run, the changes were taken back.
    """
    from nexus_mcp.state.oplog import UNDO, By
    from nexus_mcp.store.store import Store, undo

    count = parse_count(values.get(COUNT.name, "1"), "N")
    workspace = workspace_from(values)
    dry = DRY_RUN.name in values
    store = Store(workspace)
    faults: list[FaultRow] = []
    names = {} if JSON.name in values else _titles(store, faults)
    # Ctrl-C ends the wait for the lock, but not an undo that has begun: an undo that restored a file and did not reach
    # the operation log would leave a file that does not match the log, and the next undo would be refused.
    with defer_interrupt(store.stop):
        done = undo(store, By(UNDO, workspace.harness_id, CLIENT), count, dry_run=dry)
    try:
        if JSON.name in values:
            print_json(_view(done, dry=dry))
        else:
            _print_result(done, names, faults, dry=dry)
    except OSError:
        if not dry:
            print(NOT_PRINTED, file=sys.stderr)
        raise
    return exits.OK


def _titles(store: Store, faults: list[FaultRow]) -> dict[str, str]:
    """Return id of a change -> its title, for the last changes whose title is known; {} if the log cannot be read.

    Other files that cannot be read are added to `faults`.
    """
    from nexus_mcp.cli.change_lines import find_titles
    from nexus_mcp.errors import NexusError
    from nexus_mcp.state.oplog import is_permanent, undone_ids
    from nexus_mcp.store import oplog

    try:
        with store.state() as state:
            lines = oplog.read(state)
    except NexusError:  # undo reports the fault
        return {}
    # Undo never goes past a change that it cannot take back, so older changes need no title, and no file is read for
    # them.
    ends = [at + 1 for at, (_, entry) in enumerate(lines) if entry is not None and is_permanent(entry)]
    return find_titles(store, lines[max(ends, default=0) :][-_MOST_TITLES:], undone_ids(lines), faults)


def _view(done: dict[str, Any], *, dry: bool) -> dict[str, Any]:
    """Return the result for --json (schemas/views/undo.schema.json)."""
    from nexus_mcp.views import VERSION

    files = [{"name": name, "is_there": is_there} for name, is_there in done["files"].items()]
    return {"version": VERSION, "dry_run": dry, "undone": done["undone"][::-1], "files": files}


def _print_result(done: dict[str, Any], names: dict[str, str], faults: list[FaultRow], *, dry: bool) -> None:
    import time

    from nexus_mcp.cli.blocks import Line
    from nexus_mcp.cli.change_lines import change_table, missing_titles
    from nexus_mcp.cli.terminal import open_screen

    screen = open_screen()
    lines = [(0, entry) for entry in reversed(done["undone"])]
    found: list[Line | Table] = [Line("These would be taken back:" if dry else "Taken back:")]
    found.append(change_table(lines, (), names, time.time(), width=screen.width, indent=2))
    verb = "would be" if dry else "is"
    for name, is_there in done["files"].items():
        state = "as it was before" if is_there else "gone: it was not there before"
        found.append(Line(f".nexus/state/{name} {verb} {state}."))
    screen.show([*found, *missing_titles(faults)])
    sys.stdout.flush()


COMMAND = Command(
    "undo",
    "take back the last changes of plan, tasks and artifacts",
    "Takes back the last changes that nexus-mcp log shows: all of them, or none if\n"
    "one of them cannot be taken back. A closed cycle stays in the history. Undo is\n"
    "refused if another program has changed one of the files since.",
    (DRY_RUN, JSON, PROJECT, HARNESS_ID),
    run,
    argument=COUNT,
    examples=(
        ("nexus-mcp undo --dry-run", "show what undo would take back"),
        ("nexus-mcp undo 2", "take back the last two changes"),
    ),
)
