"""Faults of a view: a file that cannot be read, why, and the next step. The rest of the view stays usable."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from nexus_mcp.errors import NexusError

    class FaultRow(TypedDict):
        """`file` is a path from the project root, or "" if the fault is not of one file."""

        file: str
        problem: str
        next_step: str


def fault_row(error: NexusError) -> FaultRow:
    """Return the row of an error that reading raised. The texts hold no content of the file."""
    file = getattr(error, "file", "") or getattr(error, "path", "")
    return {"file": file, "problem": error.fault, "next_step": error.next_step}
