"""Make a table of changes of the operation log for `log` and `undo`: time, tool (only in a pipe), change with title,
client, mark.
"""

from __future__ import annotations

from functools import partial

from nexus_mcp.cli import blocks
from nexus_mcp.cli.blocks import DETAIL, MAIN, Table
from nexus_mcp.cli.status_lines import when
from nexus_mcp.state.oplog import is_permanent
from nexus_mcp.views.timeline import change_row, titles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from nexus_mcp.cli.blocks import Content
    from nexus_mcp.state.oplog import Line
    from nexus_mcp.store.store import Store
    from nexus_mcp.views import FaultRow

TAKEN_BACK = "taken back"
STAYS = "stays"


def change_table(
    lines: Sequence[Line], undone: Collection[str], names: Mapping[str, str], now: float, *, width: int, indent: int = 0
) -> Table:
    """Return a table with a row for each of the `lines`, in the same order, for a terminal of `width` columns; 0 means
    a pipe.

    `undone` has the ids of changes that were taken back, `names` the title of a change by its id. `now` is in seconds
    since 1970.
    """
    rows = [_row(line, undone, names, partial(when, now=now, width=width), width) for line in lines]
    return Table((DETAIL, DETAIL, MAIN, DETAIL, DETAIL), rows, indent=indent)


def find_titles(store: Store, lines: Sequence[Line], undone: Collection[str], faults: list[FaultRow]) -> dict[str, str]:
    """Return id -> title of the changes whose title is known. Files that cannot be read are added to `faults`.

    A change that was taken back gets no title: its task id may belong to another task now.
    """
    known = {number: entry for number, entry in lines if entry is not None and entry["id"] not in undone}
    shown = [change_row(number, entry, is_undone=False) for number, entry in sorted(known.items(), reverse=True)]
    return {known[number]["id"]: title for number, title in titles(store, shown, faults).items()}


def missing_titles(faults: Sequence[FaultRow]) -> list[blocks.Line]:
    """Return a line for each file that cannot be read; the table lacks the titles that are in it."""
    return [
        blocks.Line(f"Titles are missing: {fault['problem'].removesuffix('.')}. {fault['next_step']}".rstrip())
        for fault in faults
    ]


def _row(
    line: Line, undone: Collection[str], names: Mapping[str, str], at: Callable[[str], str], width: int
) -> list[Content]:
    number, entry = line
    if entry is None:
        return [f"line {number}  unreadable", "", "", "", ""]
    what = entry.get("what") or ", ".join(map(_file_change, entry["files"]))
    title = names.get(entry["id"], "")
    is_undone = entry["id"] in undone
    note = TAKEN_BACK if is_undone else STAYS if is_permanent(entry) else ""
    return [
        (at(entry["at"]), blocks.DIM),
        "" if width else entry["tool"],
        (f"{what}: {title}" if title else what, blocks.DIM if is_undone else ""),
        (_caller(entry), blocks.DIM),
        (note, blocks.DIM),
    ]


def _caller(entry: dict[str, Any]) -> str:
    """Return the client of a change; if it came over HTTP, the name of its token comes first."""
    client: str = entry["client"] or entry["harness_id"]
    return f"{entry['actor']}: {client}" if "actor" in entry else client


def _file_change(file: dict[str, Any]) -> str:
    """Return the change of a file in words, for an entry to which its tool added no description."""
    if file["after"] is None:
        verb = "removes"
    elif "before" in file:
        verb = "creates" if file["before"] is None else "overwrites"
    else:  # the entry does not say whether the file existed
        verb = "writes"
    return f"{verb} {file['name']}"
