"""`nexus-mcp run list`: the runs of the project, newest last."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command
from nexus_mcp.cli.run.options import PROJECT_ONLY, opened_store
from nexus_mcp.cli.workspace_options import JSON, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values


def run(values: Values) -> int:
    """Print a line for each run, with its status and progress; with --json print one object with all runs."""
    from nexus_mcp.quoting import inert
    from nexus_mcp.run.view import NO_RUN, all_views

    _, store = opened_store(values)
    found = []
    with store.state() as state:
        views = [] if state is None else [view.status(None) for view in all_views(state)]
    for status in views:
        found.append(status.model_dump(mode="json"))
        if JSON.name not in values:
            done = f"{status.progress.passed} of {status.progress.total}"
            print(f"{status.run.id}  {status.run.status:10}  {done:>9}  {inert(status.run.feature)[:60]}")
    if JSON.name in values:
        print_json({"runs": found})
    elif not found:
        print(NO_RUN)
    return exits.OK


COMMAND = Command(
    "list",
    "list the runs of the project",
    "Lists the runs of the project, the newest last, with status and progress.",
    (JSON, *PROJECT_ONLY),
    run,
    examples=(("nexus-mcp run list", "list the runs of this project"),),
)
