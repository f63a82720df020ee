"""`nexus-mcp log`: the last changes of the project's files, with tool, time and client."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option, parse_count
from nexus_mcp.cli.workspace_options import PROJECT, print_json, workspace_from
from nexus_mcp.quoting import inert
from nexus_mcp.state.oplog import is_permanent, undone_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.state.oplog import Entry, Line

TAKEN_BACK = "taken back"
STAYS = "stays"
WIDEST = 100
"""Characters of a cell, at most: a longer one would pad every other line."""
SHOWN = 20
NUMBER = Option("--number", "N", "show the last N changes, also -n N (default: 20)", short="-n")
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
    entries = [entry for _, entry in lines if entry is not None]
    print_json({"entries": entries[-most:], "unreadable": len(lines) - len(entries)})


def table(entries: Sequence[Entry], undone: Collection[str] = ()) -> list[str]:
    """Return a line for each entry: time, tool, change, client, and whether undo reverted it or cannot revert it."""
    rows = [_row(entry, undone) for entry in entries]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _clip(text: str) -> str:
    """Return `text` with escapes, cut to WIDEST characters between escapes."""
    shown = inert(text)
    if len(shown) <= WIDEST:
        return shown
    text = text[: WIDEST - 3]
    while len(shown := inert(text)) > WIDEST - 3:
        text = text[:-1]
    return f"{shown}..."


def _file_change(file: dict[str, Any]) -> str:
    """Return the change of a file in words, for an entry to which its tool added no description."""
    if file["after"] is None:
        verb = "removes"
    elif "before" in file:
        verb = "creates" if file["before"] is None else "overwrites"
    else:  # the entry does not say whether the file existed
        verb = "writes"
    return f"{verb} {file['name']}"


def _row(entry: Entry, undone: Collection[str]) -> list[str]:
    what = entry.get("what") or ", ".join(map(_file_change, entry["files"]))
    author = f"{entry['client']} ({entry['harness_id']})" if entry["client"] else entry["harness_id"]
    note = TAKEN_BACK if entry["id"] in undone else STAYS if is_permanent(entry) else ""
    return [_clip(text) for text in (entry["at"], entry["tool"], what, author, note)]


COMMAND = Command(
    "log",
    "show the last changes of plan, tasks and artifacts",
    "Shows each change with its time, tool and client; the newest change comes last.\n"
    "nexus-mcp undo takes back the last changes.",
    (NUMBER, JSON, PROJECT),
    run,
    examples=(
        ("nexus-mcp log -n 5", "show the last five changes"),
        ("nexus-mcp log --json", "print the last changes for a program"),
    ),
)
