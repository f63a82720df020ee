"""`nexus-mcp conformance lint`: check the fixtures themselves, without a server."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.conformance.options import FIXTURES
from nexus_mcp.cli.options import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values


def run(values: Values) -> int:
    """Print a line for each fault and their number. Return 1 when there are any."""
    from nexus_mcp.conformance.lint import lint
    from nexus_mcp.conformance.loading import read
    from nexus_mcp.log import printable

    paths = values.lists[FIXTURES.name]
    faults = lint(paths)
    for fault in faults:
        print(printable(fault))
    if faults:
        print(f"{len(faults)} fault{'' if len(faults) == 1 else 's'}")
        return exits.FAILED
    print(f"{len(read(paths).fixtures)} fixtures, no faults")
    return exits.OK


COMMAND = Command(
    "lint",
    "check fixtures for faults, without running any",
    "Checks fixtures against their schema. Reports unknown keys with the nearest\n"
    "known one, duplicate ids, wrong tokens and JSONPaths, matchers without effect.",
    (FIXTURES,),
    run,
)
