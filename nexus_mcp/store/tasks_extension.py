"""Read and write `tasks.extension.json`: facts about tasks that tasks.json cannot hold, and the leases of runs.

A lease says that an attempt of a run works on the task: `{run, attempt, fence}`. Hooks warn other sessions that change
the task. A person may write `files`, a list of paths, into the entry of a task: runs read the list, and keep every
field that they do not know.
"""

from __future__ import annotations

import json

from nexus_mcp.errors import StateError
from nexus_mcp.store import atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.store.folder import Folder

HARNESS = "nexus-mcp"
NAME = "tasks.extension.json"
LEASE = "lease"
_LIMIT = 4 << 20


def read(state: Folder | None) -> dict[int, dict[str, Any]]:
    """Return task id -> its entry; {} without a file. Raise StateError, PathRefused, StorageError."""
    own = None if state is None else state.child(HARNESS)
    if own is None:
        return {}
    with own:
        data, shown = own.read(NAME, _LIMIT), own.show(NAME)
    if data is None:
        return {}
    try:
        tasks = json.loads(data)["tasks"]
        found = {int(id_): entry for id_, entry in tasks.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StateError(shown, "has not the form of a tasks.extension.json") from error
    if not all(isinstance(entry, dict) for entry in found.values()):
        raise StateError(shown, "has an entry of a task that is no object")
    return found


def lease_of(state: Folder | None, task: int) -> dict[str, Any] | None:
    """Return the lease of a task, also that of a run that died; None without a valid one. Raise as `read` does."""
    lease = read(state).get(task, {}).get(LEASE)
    return lease if isinstance(lease, dict) else None


def put(state: Folder, changes: dict[int, dict[str, Any]]) -> None:
    """Merge fields into the entries of tasks; the value None removes a field.

    Raise as `read` does, with the file as it was: a malformed file keeps the entries of a person. Raise NotConfirmed
    with the new file in place.
    """
    known = read(state)
    for task, fields in changes.items():
        merged = {**known.get(task, {}), **fields}
        known[task] = {name: value for name, value in merged.items() if value is not None}
    with state.make(HARNESS)[0] as own:
        atomic.put(own, NAME, _text(known).encode("utf-8", "backslashreplace"))


def _text(known: dict[int, dict[str, Any]]) -> str:
    """Return the text of the file, one line for each task: the encoder for indented JSON takes ten times as long."""
    head = json.dumps({"extends": "tasks.json", "harness_id": HARNESS}, ensure_ascii=False)[1:-1]
    rows = (f'    "{id_}": {json.dumps(known[id_], ensure_ascii=False)}' for id_ in sorted(known))
    tasks = ",\n".join(rows)
    return f'{{\n  {head},\n  "tasks": {{\n{tasks}\n  }}\n}}\n'


def free(state: Folder, run: str = "") -> list[int]:
    """Remove the leases of the run `run`, of all runs if it is ""; return the ids of the tasks. Raise as `put` does."""
    found = [
        task
        for task, entry in read(state).items()
        if isinstance(entry.get(LEASE), dict) and run in ("", entry[LEASE].get("run"))
    ]
    if found:
        put(state, {task: {LEASE: None} for task in found})
    return found
