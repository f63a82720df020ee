"""Judge an entry or a generated file: whether it exists, whether it is ours, and whether a user edited it.

An entry or file is `absent`, `same` (as it would be written now), `outdated` (ours, as an earlier installation wrote
it), `edited` (ours, edited by hand), `foreign` (not ours) or `obsolete` (recorded, but no longer wanted). An entry can
also be `others` (it starts nexus-mcp, but no installation wrote it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nexus_mcp.harness import marks
from nexus_mcp.harness.definition import is_installed_form
from nexus_mcp.harness.documents import open_document
from nexus_mcp.harness.json_document import JsonDocument, Unsuitable
from nexus_mcp.harness.jsonc import Unreadable
from nexus_mcp.harness.record import hashes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nexus_mcp.harness.definition import SplicedEntry
    from nexus_mcp.harness.files import FoundFile

ABSENT, SAME, OUTDATED, EDITED, FOREIGN = "absent", "same", "outdated", "edited", "foreign"
OTHERS = "others"
"""The state of an entry that starts nexus-mcp, but that no installation wrote. `install` replaces it; `uninstall`
restores it.
"""
OBSOLETE = "obsolete"
"""The state of a recorded entry or file that is not part of the new installation, or that uninstall removes."""
OF_ENTRY = (
    "already exists and does not belong to nexus-mcp. Rename it, or leave this part out with --with, or add --force to "
    "replace it; uninstall brings it back."
)
OF_STATUS_LINE = "is another program's. Remove it first, or add --force to replace it; uninstall brings it back."


def entry_state(
    current: Any, row: SplicedEntry, known: dict[str, Any] | None, recognizes: Callable[[Any], bool]
) -> str:
    """Return the state of the `current` value of a row. `known` is its row in the record, or None."""
    if current is None:
        return ABSENT
    if current == row.value:
        return SAME
    if known is not None:
        return OUTDATED if marks.value_digest(current) in hashes(known) else EDITED
    if not recognizes(current):
        return FOREIGN
    return OUTDATED if row.is_item or is_installed_form(current, row.value) else OTHERS


def file_state(found: FoundFile, text: str, known: dict[str, Any] | None) -> str:
    """Return the state of a generated file that is to have `text`. `known` is its row in the record, or None."""
    if found.data is None:
        return ABSENT
    there = found.data.decode("utf-8", "surrogateescape")
    if marks.is_intact(there) and marks.remove_mark(there) == marks.remove_mark(text):
        return SAME
    if known is not None:
        return OUTDATED if marks.digest(found.data) in hashes(known) else EDITED
    if marks.is_marked(there):
        return OUTDATED if marks.is_intact(there) else EDITED
    return FOREIGN


def is_made(
    found: FoundFile, rows: Sequence[SplicedEntry], values: Sequence[Any], recognizes: Callable[[Any], bool]
) -> bool:
    """Return whether an installation made the whole file although no record names it: the file has only our entries.

    `values` are the present values of the rows.
    """
    pairs = [*zip(rows, values, strict=True)]
    if found.data is None or not all(
        entry_state(value, row, None, recognizes) in (SAME, OUTDATED) for row, value in pairs
    ):
        return False
    document = open_document(found.path, None)
    try:
        for row, value in pairs:
            if row.is_item and isinstance(document, JsonDocument):
                document.append(row.pointer, value)
            else:
                document.set(row.pointer, value)
        return document.finish().encode() == found.data
    except (TypeError, Unreadable, Unsuitable):  # a value that we do not write
        return False
