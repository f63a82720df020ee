"""`nexus-mcp run show [RUN]`: print the report of a run as it is now, with a timeline of each attempted task."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command
from nexus_mcp.cli.run.options import PROJECT_ONLY, RUN, opened_store, run_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values


def run(values: Values) -> int:
    """Print the report as Markdown."""
    from nexus_mcp.run import report
    from nexus_mcp.run.view import open_view

    _, store = opened_store(values)
    with open_view(store, run_name(values)) as view:
        document = store.tasks() or view.header.get("tasks") or {"goal": "", "tasks": []}
        print(report.markdown(view.state, document, view.events), end="")
    return exits.OK


COMMAND = Command(
    "show",
    "show the attempts of each task in a run",
    "Shows each task of a run with its attempts, checks, verdicts and merges, and\nwhat remains to do, as Markdown.",
    PROJECT_ONLY,
    run,
    argument=RUN,
    examples=(("nexus-mcp run show", "show the attempts in the newest run"),),
)
