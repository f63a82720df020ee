"""Options of the subcommands of `run`, and functions that read their values."""

from __future__ import annotations

import os

from nexus_mcp.cli.options import Argument, Option, parse_count
from nexus_mcp.cli.workspace_options import PROJECT, workspace_from
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace

RUN = Argument("[RUN]", "the id of a run; without it, the newest one", least=0)
TASK = Argument("TASK", "the id of a task", is_number=True)
FOLLOW = Option("--follow", "", "show what happens until no executor works on the run")
PROJECT_ONLY = (PROJECT,)
POLL_S = 0.5
_NESTED = "NEXUS_RUN"


def refuse_in_session() -> None:
    """Raise UsageError in a session of a run: an agent may neither answer its own questions nor change the run."""
    if os.environ.get(_NESTED):
        raise UsageError(
            "This is a session of a run, which may not change runs.",
            next_step="Write what you need into your last message.",
        )


def opened_store(values: Values) -> tuple[Workspace, Store]:
    """Return the workspace that the command line names, and its store. Raise UsageError, StorageError."""
    from nexus_mcp.store.store import Store

    workspace = workspace_from(values)
    return workspace, Store(workspace)


def run_name(values: Values) -> str:
    """Return the id of the run that the command line names, "" without one."""
    return values.get(RUN.name, "")


def task_of(values: Values) -> int:
    """Return the id of the task that the command line names. Raise UsageError if it is no number."""
    return parse_count(values[TASK.name], TASK.name)
