"""Entries of the operation log as lines for people."""

from __future__ import annotations

from nexus_mcp.quoting import inert
from nexus_mcp.state import oplog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from nexus_mcp.state.oplog import Entry

TAKEN_BACK = "taken back"
STAYS = "stays"
WIDEST = 100
"""Characters that are shown of a cell; one with more would pad every other line."""


def table(entries: Sequence[Entry], undone: Collection[str] = ()) -> list[str]:
    """One line for each: when, which tool, what it did, who, and whether it was taken back or never will be."""
    rows = [_row(entry, undone) for entry in entries]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _cut(text: str) -> str:
    """The text as it is shown, of WIDEST characters at most; no escape in it is cut in two."""
    shown = inert(text)
    if len(shown) <= WIDEST:
        return shown
    text = text[: WIDEST - 3]
    while len(shown := inert(text)) > WIDEST - 3:
        text = text[:-1]
    return f"{shown}..."


def _done(file: dict[str, Any]) -> str:
    """What became of a file, where no tool says it in its own words."""
    if file["after"] is None:
        verb = "removes"
    elif "before" in file:
        verb = "creates" if file["before"] is None else "overwrites"
    else:  # what there was is not known
        verb = "writes"
    return f"{verb} {file['name']}"


def _row(entry: Entry, undone: Collection[str]) -> list[str]:
    what = entry.get("what") or ", ".join(map(_done, entry["files"]))
    who = f"{entry['client']} ({entry['harness_id']})" if entry["client"] else entry["harness_id"]
    note = TAKEN_BACK if entry["id"] in undone else STAYS if oplog.stays(entry) else ""
    return [_cut(text) for text in (entry["at"], entry["tool"], what, who, note)]
