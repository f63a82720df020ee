"""`nexus-mcp history merge`: the merge driver that git calls (docs/merging.md)."""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command, Option
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

FILES = Argument("%O %A %B", "three files: what both sides come from, our side, their side", count=3)
_DIGITS = 3
_REPAIR = "; nexus-mcp history repair --dry-run tells what can be kept."
MARKER_SIZE = Option("--marker-size", "N", "length of conflict markers (default, and least: 7)")


def run(values: Values) -> int:
    """Write the merged history to %A; return 1 when it has a conflict. Raise UsageError, StorageError."""
    from nexus_mcp.log import printable
    from nexus_mcp.merging.driver import drive

    base, ours, theirs = values.lists[FILES.name]
    reason = drive(base, ours, theirs, _size(values.get(MARKER_SIZE.name, "7")))
    if not reason:
        return exits.OK
    if sys.stderr is not None:
        problem = f"The histories are not merged, because {reason}. It is left to you as a conflict{_REPAIR}"
        print(f"nexus-mcp: {printable(problem)}", file=sys.stderr)
    return exits.FAILED


def _size(text: str) -> int:
    digits = text.lstrip("0")
    if not (digits.isascii() and digits.isdigit()):
        raise UsageError(f"{MARKER_SIZE.name} needs a number from 1, not {text!r}.")
    # The number comes from a git attribute: clamp a long one instead of refusing it.
    return int(digits) if len(digits) <= _DIGITS else 10**_DIGITS - 1


COMMAND = Command(
    "merge",
    "merge two versions of history.json; git calls this",
    "Puts the cycles of both sides into the file %A, each once, ordered by the time\n"
    "they were completed. Where it cannot decide it leaves a conflict there, as git\n"
    "would, and ends with exit code 1. nexus-mcp init --git-merge has git call it.",
    (MARKER_SIZE,),
    run,
    argument=FILES,
)
