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
"""Characters of a cell, at most: a longer one would pad every other line."""


def table(entries: Sequence[Entry], undone: Collection[str] = ()) -> list[str]:
    """Return a line for each entry: time, tool, change, client, and whether it was or cannot be taken back."""
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
    """Return the change of a file, for entries without a description by their tool."""
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
    note = TAKEN_BACK if entry["id"] in undone else STAYS if oplog.is_permanent(entry) else ""
    return [_clip(text) for text in (entry["at"], entry["tool"], what, author, note)]
