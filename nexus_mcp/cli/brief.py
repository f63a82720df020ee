"""`nexus-mcp brief TASK-ID`: what the agent that does a task is given."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.one_task import TASK_ID, task_of, tell_unmapped
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import HARNESS_ID, PROJECT, workspace_from
from nexus_mcp.errors import NexusError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values

AGENT = Option("--agent", "ID", "the agent that it is for (default: the task's owner)")
JSON = Option("--json", "", "print the parts as JSON")


def run(values: Values) -> int:
    """Prints the text. Raises NexusError for an unknown task or owner, UnknownEntry, StateError."""
    from nexus_mcp.briefing.binding import binding_text
    from nexus_mcp.briefing.compose import joined, parts
    from nexus_mcp.catalog import harness_notes
    from nexus_mcp.cli.usable_catalog import catalog_of
    from nexus_mcp.knowledge.index import index
    from nexus_mcp.log import printable
    from nexus_mcp.store.store import Store

    workspace = workspace_from(values)
    store, harness = Store(workspace), workspace.harness_id
    both = store.both()
    task, tasks = task_of(both, values[TASK_ID.name])
    catalog = catalog_of(workspace.root)
    agent = values[AGENT.name] if AGENT.name in values else _owner(task, catalog)
    with store.nexus() as nexus:
        notes = index(nexus)
    binding = binding_text(task, tasks, None if task.get("plan_issue") is None else both.plan())
    own = harness_notes.read(harness)
    found = parts(catalog, task, agent, harness, binding=binding, notes=notes, harness_notes=own)
    tell_unmapped(catalog, harness, values)
    if JSON.name in values:
        import json

        # In ASCII: what tasks and notes hold may mislead a terminal.
        print(json.dumps({"task_id": task["id"], "agent": agent, "harness_id": harness, "parts": found}))
        return exits.OK
    for line in joined(found).split("\n"):
        print(printable(line))
    return exits.OK


def _owner(task: dict[str, Any], catalog: Catalog) -> str | None:
    """The agent that owns the task; None when nobody does. Raises NexusError for an owner that is no agent."""
    owner = task.get("owner")
    if not isinstance(owner, str) or not owner.strip():
        return None
    if owner not in catalog.agents:
        from nexus_mcp.catalog.placeholders import suggestion
        from nexus_mcp.quoting import quoted

        raise NexusError(
            f"The owner of task {task['id']} is {quoted(owner, 60)}, and no agent has that id"
            f"{suggestion(owner, catalog.agents) or '.'}",
            next_step="Name the agent that does it with --agent; nexus-mcp catalog list has them.",
        )
    return owner


COMMAND = Command(
    "brief",
    "print what the agent that does a task is given",
    "The task with context, approach, acceptance and risk, the goal and decisions\n"
    "that bind it, the notes of the project, what the tools are called in the\n"
    "harness, and what the agent may not do. What is stored is quoted as data.\n"
    "Changes nothing.",
    (AGENT, JSON, PROJECT, HARNESS_ID),
    run,
    argument=TASK_ID,
)
