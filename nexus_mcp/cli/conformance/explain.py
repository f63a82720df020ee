"""`nexus-mcp conformance explain`: show what a fixture sends and expects, in words."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.conformance.options import FIXTURES, suite
from nexus_mcp.cli.options import Argument, Command
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

FIXTURE = Argument("FIXTURE", "the id of a fixture, as reports and --list show it")


def run(values: Values) -> int:
    """Print the explanation of the fixture. Raise UsageError for an unknown id."""
    from nexus_mcp.conformance.authoring.explain import explain
    from nexus_mcp.log import printable
    from nexus_mcp.wording import suggestion

    fixtures = {fixture.test_id: fixture for fixture in suite(values)}
    name = values[FIXTURE.name]
    if name not in fixtures:
        raise UsageError(
            f"No fixture has the id {name}{suggestion(name, fixtures) or '.'}",
            next_step="List all of them: nexus-mcp conformance run --list",
        )
    for line in explain(fixtures[name]).splitlines():
        print(printable(line))
    return exits.OK


COMMAND = Command(
    "explain",
    "show what a fixture sends, and what it expects",
    "Prints the fact that a fixture checks, the rules of the contract that it\n"
    "judges, the files before it, its calls and events, and what has to hold\n"
    "afterwards. It runs nothing.",
    (FIXTURES,),
    run,
    argument=FIXTURE,
    examples=(("nexus-mcp conformance explain task_add_starts_numbering_at_1", "show one fixture"),),
)
