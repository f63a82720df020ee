"""`nexus-mcp run diagnose [RUN]`: print what holds a run up, what to do, and the command for it, if there is one."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.run.options import PROJECT_ONLY, RUN, opened_store, run_name
from nexus_mcp.cli.workspace_options import JSON, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

VERBOSE = Option("--verbose", "", "show the events behind each finding")


def run(values: Values) -> int:
    """Print the findings, or that there are none."""
    from nexus_mcp.quoting import inert
    from nexus_mcp.run import log_entries, registry
    from nexus_mcp.run.diagnose import Facts, diagnose
    from nexus_mcp.run.view import open_view

    _, store = opened_store(values)
    with store.state() as state, open_view(store, run_name(values)) as view:
        tasks = (store.tasks() or {"tasks": []})["tasks"]
        orphans = [] if state is None else [int(row["pid"]) for row in registry.alive(state)]
        facts = Facts(view.holder is not None, orphans)
        found = diagnose(view.state, view.events, tasks, facts)
        by_seq = {event.seq: event for event in view.events}
    if JSON.name in values:
        print_json({"run": view.id, "findings": [one.row() for one in found]})
        return exits.OK
    for one in found:
        print(f"{one.code}: {inert(one.message)}")
        print(f"  {one.advice}")
        if one.command:
            print(f"  {one.command}")
        for seq in one.evidence if VERBOSE.name in values else ():
            print(f"    event {seq}: {log_entries.line(by_seq[seq])}")
    if not found:
        print(f"{view.id}: nothing holds the run up.")
    return exits.OK


COMMAND = Command(
    "diagnose",
    "find out what holds a run up",
    "Reads the log of a run and names what holds it up, what to do, and the command.\nIt calls no model.",
    (VERBOSE, JSON, *PROJECT_ONLY),
    run,
    argument=RUN,
    examples=(("nexus-mcp run diagnose", "name what holds the run up, and what to do"),),
)
