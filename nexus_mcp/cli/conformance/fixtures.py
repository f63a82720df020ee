"""`nexus-mcp conformance lint` and `coverage`: check the fixtures themselves, without a server."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.conformance.options import FIXTURES, suite
from nexus_mcp.cli.options import Command, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values


def _lint(values: Values) -> int:
    """Print a line for each fault and the number of faults, or the number of fixtures. Return 1 if there is a fault."""
    from nexus_mcp.conformance.lint import lint
    from nexus_mcp.conformance.loading import read
    from nexus_mcp.log import printable

    paths = values.lists[FIXTURES.name]
    faults = lint(paths)
    for fault in faults:
        print(printable(fault))
    if faults:
        print(count_noun(len(faults), "fault"))
        return exits.FAILED
    print(f"{len(read(paths).fixtures)} fixtures, no faults")
    return exits.OK


LINT = Command(
    "lint",
    "check fixtures for faults, without running any",
    "Checks fixtures against their schema. Reports unknown keys with the nearest\n"
    "known one, duplicate ids, wrong tokens and JSONPaths, matchers without effect.",
    (FIXTURES,),
    _lint,
    examples=(("nexus-mcp conformance lint --fixtures my-fixtures", "check your own fixtures"),),
)


def _coverage(values: Values) -> int:
    """Print the gaps by kind, and how many fields, entries of `covers`, parameters, fixtures and gaps there are. Return
    1 when there is a gap. Raise HarnessFault.
    """
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
        f"{claimed} of {len(found.claims)} fields of state schemas in covers",
        f"{found.claimed} entries of covers",
        f"{found.parameters} parameters",
        f"{len(fixtures)} fixtures",
        count_noun(len(found.gaps), "gap"),
    )
    print(", ".join(counts))
    return exits.FAILED if found.gaps else exits.OK


COVERAGE = Command(
    "coverage",
    "list fields and parameters that no fixture checks",
    "Checks that each field of each state schema is in `covers` of a fixture, that\n"
    "an assertion touches each entry of `covers`, and that each parameter is\n"
    "asserted or listed in `uncovered_params`.",
    (FIXTURES,),
    _coverage,
    examples=(("nexus-mcp conformance coverage", "report what the shipped fixtures leave out"),),
)
