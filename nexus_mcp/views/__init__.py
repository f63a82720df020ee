"""Build views as data, such as status, tasks, history and graph. The terminal, the board and the export render them.

Each view is a JSON value with a `version`. A view that a command can print as JSON has a schema in `schemas/views/`. A
view writes nothing to the project by itself. But reading may complete an interrupted change, and cache the index of a
long history, unless the store is a ReadOnlyStore. Texts in a view are stored text, unescaped: each renderer escapes
them for its own medium. If a view has `faults`, a file that cannot be read becomes an entry there, and the rest of the
view stays usable. The other views raise the error.
"""

from __future__ import annotations

from nexus_mcp.errors import NexusError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict, TypeVar

    Found = TypeVar("Found")

    class FaultRow(TypedDict):
        """`file` is a path from the project root, or "" if the fault has no single file."""

        file: str
        problem: str
        next_step: str


VERSION = 1
"""The version of all views. It grows when a field is removed or changes its meaning; a new field does not change it."""


def fault_row(error: NexusError) -> FaultRow:
    """Return the row for an error that was raised while a file was read. The texts hold no content of the file."""
    file = getattr(error, "file", "") or getattr(error, "path", "")
    return {"file": file, "problem": error.fault, "next_step": error.next_step}


def read_or_fault(read: Callable[[], Found], faults: list[FaultRow]) -> Found | None:
    """Return the result of `read`; if it raises NexusError, return None, and add the row of the error to `faults`,
    once.
    """
    try:
        return read()
    except NexusError as error:
        row = fault_row(error)
        if row not in faults:
            faults.append(row)
        return None
