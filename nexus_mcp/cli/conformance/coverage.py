"""`nexus-mcp conformance coverage`: what the fixtures claim to check, and what they do check."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.conformance.options import FIXTURES, suite
from nexus_mcp.cli.options import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values


def run(values: Values) -> int:
    """Print the gaps by kind and the counts of what is covered. Return 1 when there is a gap."""
    from nexus_mcp.conformance.lint import GAPS, coverage
    from nexus_mcp.log import printable

    fixtures = suite(values)
    found = coverage(fixtures)
    for kind, meaning in GAPS.items():
        gaps = found.having(kind)
        if gaps:
            print(f"{meaning}: {len(gaps)}")
        for gap in gaps:
            print(f"  {printable(str(gap))}")
    claimed = sum(bool(claimants) for claimants in found.claims.values())
    counts = (
        f"{claimed} of {len(found.claims)} fields of state schemas claimed",
        f"{found.claimed} entries of covers",
        f"{found.parameters} parameters",
        f"{len(fixtures)} fixtures",
        f"{len(found.gaps)} gap{'' if len(found.gaps) == 1 else 's'}",
    )
    print(", ".join(counts))
    return exits.FAILED if found.gaps else exits.OK


COMMAND = Command(
    "coverage",
    "list what no fixture checks",
    "Checks that a fixture claims each field of each state schema, that an\n"
    "assertion touches each claim, and that each parameter is asserted or\n"
    "listed as uncovered.",
    (FIXTURES,),
    run,
)
