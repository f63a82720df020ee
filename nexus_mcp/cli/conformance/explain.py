"""`nexus-mcp conformance explain`: show what a fixture sends and expects, or which fixtures judge a rule."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.conformance.options import FIXTURES, suite
from nexus_mcp.cli.options import Argument, Command
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

FIXTURE = Argument("FIXTURE", "the id of a fixture or a rule, as reports show it")


def run(values: Values) -> int:
    """Print the explanation of the fixture, or of the rule. Raise UsageError for an unknown id, HarnessFault."""
    from nexus_mcp.conformance.authoring.contract import rules
    from nexus_mcp.conformance.authoring.explain import explain, explain_rule
    from nexus_mcp.log import printable
    from nexus_mcp.wording import suggestion

    fixtures = {fixture.test_id: fixture for fixture in suite(values)}
    name = values[FIXTURE.name]
    if name in fixtures:
        text = explain(fixtures[name], values.lists[FIXTURES.name])
    elif (rule := next((rule for rule in rules() if rule.id == name), None)) is not None:
        text = explain_rule(rule, fixtures.values())
    else:
        known = [rule.id for rule in rules()] if "." in name else fixtures
        raise UsageError(
            f"No fixture and no rule has the id {name}{suggestion(name, known) or '.'}",
            next_step="List all fixtures: nexus-mcp conformance run --list",
        )
    for line in text.splitlines():
        print(printable(line))
    return exits.OK


COMMAND = Command(
    "explain",
    "show what a fixture sends, and what it expects",
    "Prints the fact that a fixture checks, the rules of the contract that it\n"
    "judges, the files before it, its calls and events, and what has to be true\n"
    "afterwards. For a rule of the contract, such as task_add.1: its text, and\n"
    "the fixtures that judge it. It runs nothing.",
    (FIXTURES,),
    run,
    argument=FIXTURE,
    examples=(
        ("nexus-mcp conformance explain task_add_starts_numbering_at_1", "show one fixture"),
        ("nexus-mcp conformance explain task_add.1", "show a rule, and the fixtures that judge it"),
    ),
)
