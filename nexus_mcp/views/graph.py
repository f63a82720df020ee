"""The view `graph`: tasks as nodes and dependencies as edges, with the critical path and the cycles of dependencies
marked.
"""

from __future__ import annotations

from itertools import pairwise

from nexus_mcp.views import VERSION, task_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

MISSING = "missing"
"""The state of a node for a dependency that is no task of the list."""


def graph(tasks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `version`, `nodes`, `edges`, `cycles` and `critical_path` of the tasks.

    A node has `id`, `title`, `state` (one of STATES, or MISSING), `owner`, `is_critical` and `in_cycle`. An edge leads
    `from` a dependency `to` the task that waits for it; it `is_critical` if it is a step of the critical path, and
    `in_cycle` if both ends are in the same cycle.
    """
    rows = task_rows.rows(tasks)
    after = {row["id"]: row["deps"] for row in rows}
    unfinished = dict.fromkeys(row["id"] for row in rows if row["state"] != task_rows.DONE)
    groups = task_rows.cycles(after, unfinished)
    path = task_rows.critical_path(after, unfinished)
    steps = set(pairwise(path))
    cycle_of = {id_: number for number, group in enumerate(groups) for id_ in group}
    missing = dict.fromkeys(dep for row in rows for dep in row["deps"] if dep not in after)
    nodes: list[dict[str, Any]] = [
        {name: row[name] for name in ("id", "title", "state", "owner", "is_critical", "in_cycle")} for row in rows
    ]
    nodes += [
        {"id": id_, "title": "", "state": MISSING, "owner": None, "is_critical": False, "in_cycle": False}
        for id_ in missing
    ]
    edges = [
        {
            "from": dep,
            "to": row["id"],
            "is_critical": (dep, row["id"]) in steps,
            "in_cycle": dep in cycle_of and cycle_of[dep] == cycle_of.get(row["id"]),
        }
        for row in rows
        for dep in dict.fromkeys(row["deps"])
    ]
    return {"version": VERSION, "nodes": nodes, "edges": edges, "cycles": groups, "critical_path": path}
