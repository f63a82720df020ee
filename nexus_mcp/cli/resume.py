"""`nexus-mcp resume TASK-ID`: decide whether to start the owner of a task fresh or to resume it, with the reason."""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option, count_noun
from nexus_mcp.cli.workspace_options import HARNESS_ID, PROJECT, TASK_ID, find_task, warn_unmapped, workspace_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values

JSON = Option("--json", "", "print the decision as JSON")


def run(values: Values) -> int:
    """Print the decision. Raise NexusError for an unknown task, UsageError, StateError, PathRefused,
    StorageError.
    """
    from nexus_mcp.briefing.owner import decision
    from nexus_mcp.cli.workspace_options import load_catalog
    from nexus_mcp.quoting import inert, quoted_name
    from nexus_mcp.store.agents import read
    from nexus_mcp.store.harness_files import TOOL_LOG, tool_log
    from nexus_mcp.store.store import Store

    workspace = workspace_from(values)
    store = Store(workspace)
    task, _ = find_task(store, values[TASK_ID.name])
    harness = workspace.harness_id
    log, bad = tool_log(store) or ([], 0)
    agents = read(store, harness)
    entries, fault = agents.records.entries, agents.fault or agents.extension_fault
    if fault is not None:
        if not entries:
            raise fault
        print(inert(f"nexus-mcp: {fault.fault}; agents that cannot be read are not counted."), file=sys.stderr)
    catalog = load_catalog(workspace.root)
    found = decision(catalog, task, entries, harness, workspace.root, log=log)
    if HARNESS_ID.name not in values and found["reason"] == f"{harness} cannot resume an agent":
        found["reason"] = f"{HARNESS_ID.name} is missing, and resuming an agent needs it"
    warn_unmapped(catalog, harness, values)
    if bad:
        lines = count_noun(bad, "unreadable line")
        print(f"nexus-mcp: .nexus/state/{TOOL_LOG} has {lines}; they are ignored.", file=sys.stderr)
    if JSON.name in values:
        import json

        # JSON in ASCII, because file names and ids may hold characters that act on a terminal.
        print(json.dumps({"task_id": task["id"], **_owner(task), "harness_id": harness, **found}))
        return exits.OK
    print(f"{found['mode']} {quoted_name(found['agent_id'])}" if "agent_id" in found else found["mode"])
    print(inert(f"why: {found['reason']}"))
    for path in found["reread"]:
        print(f"read again first: {quoted_name(path)}")
    return exits.OK


def _owner(task: dict[str, Any]) -> dict[str, Any]:
    return {"owner": task["owner"]} if isinstance(task.get("owner"), str) else {}


COMMAND = Command(
    "resume",
    "print whether to resume a task's owner, and why",
    "Says whether to start the owner of a task fresh or to resume it. It uses the\n"
    "task's owner_reuse_policy, the agent's tier, the agents of this session, the\n"
    "files that they touched and the tool log. An owner without a recorded id, or in\n"
    "a harness that cannot resume, starts fresh. Changes nothing.",
    (JSON, PROJECT, HARNESS_ID),
    run,
    argument=TASK_ID,
    examples=(("nexus-mcp resume 3 --harness-id claude-code", "decide for the owner of task 3 in Claude Code"),),
)
