"""The task that a command line names by its id, and the harness that it names for it."""

from __future__ import annotations

import sys

from nexus_mcp.cli.numbers import from_one
from nexus_mcp.cli.options import Argument
from nexus_mcp.cli.workspace_options import HARNESS_ID
from nexus_mcp.errors import NexusError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.cli.options import Values
    from nexus_mcp.store.session.kept import Both
    from nexus_mcp.store.store import Store

TASK_ID = Argument("TASK-ID", "the id of a task, as task_list has it", is_number=True)
_MOST = 10**15 - 1  # more than any list has, and quick to read
_LISTED = 20


def task_of(store: Store | Both, word: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the task whose id `word` spells, the list that it is of).

    Raises UsageError, NexusError when there is none, StateError, PathRefused.
    """
    wanted = from_one(word, TASK_ID.name, _MOST)
    found = store.tasks()
    if found is None or not found["tasks"]:
        raise NexusError(f"There is no task {wanted}: this project has none now.", next_step="task_add adds them.")
    for task in found["tasks"]:
        if task["id"] == wanted:
            one: dict[str, Any] = task
            return one, found
    ids = [str(task["id"]) for task in found["tasks"]]
    more = f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
    raise NexusError(f"There is no task {wanted}.", next_step=f"The tasks are {', '.join(ids[:_LISTED])}{more}.")


def tell_unmapped(catalog: Catalog, harness: str, values: Values) -> None:
    """Say on stderr what an answer for a harness without a capability map lacks."""
    from nexus_mcp.catalog.capabilities import unmapped

    told = unmapped(catalog, harness)
    if told and HARNESS_ID.name not in values:
        told = (
            f"No {HARNESS_ID.name} was given, so nothing is known of the tools that start and resume agents. "
            f"Give the id of the client: {', '.join(catalog.maps)}."
        )
    if told:
        print(f"nexus-mcp: {told}", file=sys.stderr)
