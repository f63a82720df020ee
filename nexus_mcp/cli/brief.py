"""`nexus-mcp brief TASK-ID`: print the brief for the agent that does a task."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import (
    HARNESS_ID,
    MOUNT,
    PROJECT,
    TASK_ID,
    find_task,
    warn_unmapped,
    workspace_from,
)
from nexus_mcp.errors import NexusError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values

AGENT = Option("--agent", "ID", "the agent that does the task (default: its owner)")
NO_ROLE = Option("--no-role", "", "leave out the role, if the agent has it already")
LEAD = Option("--lead", "", "add how to start and resume agents")
JSON = Option("--json", "", "print the parts as JSON")


def run(values: Values) -> int:
    """Print the brief. Raise NexusError for an unknown task or owner, UsageError, UnknownEntry, CatalogError,
    StateError, PathRefused, StorageError.
    """
    from nexus_mcp.briefing.compose import binding_text, join_parts, parts
    from nexus_mcp.catalog import placeholders
    from nexus_mcp.cli.workspace_options import load_catalog
    from nexus_mcp.knowledge.index import index
    from nexus_mcp.log import printable
    from nexus_mcp.store.store import Store

    workspace = workspace_from(values)
    store, harness = Store(workspace), workspace.harness_id
    both = store.snapshot()
    task, tasks = find_task(both, values[TASK_ID.name])
    catalog = load_catalog(workspace.root).mount(harness, workspace.mount)
    agent = values[AGENT.name] if AGENT.name in values else _owner(task, catalog)
    with store.nexus() as nexus:
        notes = index(nexus)
    binding = binding_text(task, tasks, None if task.get("plan_issue") is None else both.plan())
    own = catalog.notes(harness)
    own = own if LEAD.name in values else placeholders.worker_notes(own)
    role = "" if NO_ROLE.name in values else _role(catalog, agent, harness)
    found = parts(catalog, task, agent, harness, binding=binding, notes=notes, harness_notes=own, role=role)
    warn_unmapped(catalog, harness, values)
    if JSON.name in values:
        import json

        # JSON in ASCII, because tasks and notes may hold characters that act on a terminal.
        print(json.dumps({"task_id": task["id"], "agent": agent, "harness_id": harness, "parts": found}))
        return exits.OK
    for line in join_parts(found).split("\n"):
        print(printable(line))
    return exits.OK


def _role(catalog: Catalog, agent: str | None, harness: str) -> str:
    """Return the text of the agent; "" if there is no agent or no text. Raise UnknownEntry, CatalogError, PathRefused,
    StorageError.
    """
    from nexus_mcp.catalog.load import has_text

    if agent is None or not has_text(catalog.agent(agent)):
        return ""
    return catalog.resolved_body("agents", agent, harness)


def _owner(task: dict[str, Any], catalog: Catalog) -> str | None:
    """Return the agent that owns the task; None if no owner is set. Raise NexusError if the owner is not an agent of
    the catalog.
    """
    owner = task.get("owner")
    if not isinstance(owner, str) or not owner.strip():
        return None
    if owner not in catalog.agents:
        from nexus_mcp.catalog.placeholders import suggestion
        from nexus_mcp.quoting import quote

        raise NexusError(
            f"The owner of task {task['id']} is {quote(owner, 60)}, and no agent has that id"
            f"{suggestion(owner, catalog.agents) or '.'}",
            next_step="Name the agent that does it with --agent; nexus-mcp catalog list lists the agents.",
        )
    return owner


COMMAND = Command(
    "brief",
    "print the brief for the agent that does a task",
    "Prints the role of the agent, the task with context, approach, acceptance and\n"
    "risk, the goal and the decisions that bind it, the notes of the project, the\n"
    "harness's names of the tools, and the agent's restrictions. Stored text is\n"
    "quoted as data. Changes nothing.",
    (AGENT, NO_ROLE, LEAD, JSON, PROJECT, HARNESS_ID, MOUNT),
    run,
    argument=TASK_ID,
    examples=(
        ("nexus-mcp brief 3", "print the brief for the owner of task 3"),
        ("nexus-mcp brief 3 --agent tester --harness-id codex", "print it for the agent tester in Codex"),
    ),
)
