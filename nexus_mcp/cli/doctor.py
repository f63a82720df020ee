"""`nexus-mcp doctor`: report the faults of a project's files, and change nothing."""

from __future__ import annotations

import os
import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from
from nexus_mcp.errors import PathRefused, StorageError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

JSON = Option("--json", "", "print the report as JSON")


def run(values: Values) -> int:
    """Print the report; return 1 for errors and warnings. Raise UsageError when the project cannot be opened."""
    from nexus_mcp.doctor.examine import examine

    root = workspace_from(values).root
    try:
        report = examine(root)
    except (PathRefused, StorageError) as error:
        raise UsageError(f"{error.fault}; nothing was checked.", next_step=_advice(error)) from error
    if JSON.name in values:
        from nexus_mcp.doctor.reports import to_json

        print(to_json(report))
    else:
        from nexus_mcp.cli.text_output import width
        from nexus_mcp.doctor.reports import to_text

        print(to_text(report, width(), colour=_has_colour()))
    return exits.OK if report.healthy else exits.FAILED


def _advice(error: PathRefused | StorageError) -> str:
    if isinstance(error, PathRefused):
        return "Look at what was put there and why; move it away yourself if it is not needed."
    return "Give yourself the permission to read it, or name another project with --project."


def _has_colour() -> bool:
    """Return whether stdout is a terminal with colours: the system is POSIX, TERM is set and not dumb, and NO_COLOR
    (https://no-color.org) is unset or empty.
    """
    is_wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
    return is_wanted and os.name == "posix" and sys.stdout.isatty()


COMMAND = Command(
    "doctor",
    "report the faults in .nexus/, and change nothing",
    "Checks every file of .nexus/, the lock, the remains of interrupted calls, and\n"
    "the state of all this in git. Lists every finding with its place and one safe\n"
    "next step. Exit code 0: healthy; 1: an error or a warning; 2: the check could\n"
    "not run.",
    (PROJECT, JSON),
    run,
    examples=(
        ("nexus-mcp doctor", "check the project around you"),
        ("nexus-mcp doctor --json --project ~/shop", "print the report of another project as JSON"),
    ),
)
