"""`nexus-mcp status`: plan, tasks, the newest run, running agents and the last closed cycle at a glance."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import PROJECT, print_json, workspace_from
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

LINE = Option("--line", "", "print one line for a status bar")
WATCH = Option("--watch", "", "show changes as they happen, on a terminal; q quits")
JSON = Option("--json", "", "print the status as JSON")


def run(values: Values) -> int:
    """Print the status. Return 1 if a file cannot be read, except with --line and --watch, else 0. Raise UsageError."""
    chosen = [option.name for option in (LINE, WATCH, JSON) if option.name in values]
    if len(chosen) > 1:
        raise UsageError(f"{chosen[0]} and {chosen[1]} exclude each other.", next_step="Leave one out.")
    from nexus_mcp.store.store import Store

    workspace = workspace_from(values)
    store = Store(workspace)
    if LINE.name in values:
        from nexus_mcp.views.status import line

        print(line(store))
        return exits.OK
    if WATCH.name in values:
        from nexus_mcp.cli.watch import watch

        return watch(store, workspace)
    from nexus_mcp.views.status import status

    view = status(store, workspace)
    if JSON.name in values:
        print_json({**view})
    else:
        import time

        from nexus_mcp.cli.status_lines import status_blocks
        from nexus_mcp.cli.terminal import open_screen

        screen = open_screen()
        screen.show(status_blocks(view, time.time(), screen.width))
    return exits.FAILED if view["faults"] else exits.OK


COMMAND = Command(
    "status",
    "show plan, tasks and running agents at a glance",
    "Shows the plan with its open questions, the progress, the tasks that are ready\n"
    "and those that wait, the running agents of all harnesses, and the last closed\n"
    "cycle. Exit code 0; 1: a file cannot be read; 2: wrong command line.",
    (WATCH, LINE, JSON, PROJECT),
    run,
    examples=(
        ("nexus-mcp status", "show plan, tasks and running agents"),
        ("nexus-mcp status --watch", "show changes as they happen"),
        ("nexus-mcp status --line", "print one line for a status bar or a prompt"),
    ),
)
