"""Divide the tasks of a graph into steps: the tasks that can begin now, those that can begin after them, and so on."""

from __future__ import annotations

from nexus_mcp.views.graph import MISSING
from nexus_mcp.views.task_rows import DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypedDict

    Id = int | float

    class Steps(TypedDict):
        """`done` has the finished nodes, but is empty if all nodes are finished. `stuck` has the nodes that wait for
        a cycle or for a missing dependency. `steps` has the other nodes: each dependency of a node is in `done` or in
        an earlier step. If all nodes are finished, missing dependencies do not count.

        `after` maps an id to the ids of its dependencies, and `before` maps it to the ids of the nodes that depend on
        it. For an unfinished node both leave out finished ids.
        """

        done: list[dict[str, Any]]
        steps: list[list[dict[str, Any]]]
        stuck: list[dict[str, Any]]
        after: dict[Id, list[Id]]
        before: dict[Id, list[Id]]


def steps(graph: Mapping[str, Any]) -> Steps:
    """Return the nodes of the view `graph` in steps. Missing dependencies are in `after`, but in no step."""
    nodes = {node["id"]: node for node in graph["nodes"] if node["state"] != MISSING}
    unfinished = {id_ for id_, node in nodes.items() if node["state"] != DONE}
    open_ids = unfinished or set(nodes)
    after: dict[Id, list[Id]] = {id_: [] for id_ in nodes}
    before: dict[Id, list[Id]] = {id_: [] for id_ in nodes}
    finished = nodes.keys() - open_ids
    for edge in graph["edges"]:
        if edge["from"] not in finished or edge["to"] in finished:
            after[edge["to"]].append(edge["from"])
        if edge["from"] in before and (edge["to"] not in finished or edge["from"] in finished):
            before[edge["from"]].append(edge["to"])
    hindering = {node["id"] for node in graph["nodes"] if node["state"] == MISSING} if unfinished else set()
    placed = _place(open_ids, hindering, after, before)
    by_step: list[list[dict[str, Any]]] = [[] for _ in range(max(placed.values(), default=0))]
    for id_, node in nodes.items():
        if id_ in placed:
            by_step[placed[id_] - 1].append(node)
    return {
        "done": [node for id_, node in nodes.items() if id_ in finished],
        "steps": by_step,
        "stuck": [node for id_, node in nodes.items() if id_ in open_ids and id_ not in placed],
        "after": after,
        "before": before,
    }


def _place(
    ids: set[Id], hindering: set[Id], after: Mapping[Id, Sequence[Id]], before: Mapping[Id, Sequence[Id]]
) -> dict[Id, int]:
    """Return the step of each of the `ids`, from 1, without the ids that wait for a cycle or for a `hindering` id."""
    waiting = {id_: sum(dep in ids or dep in hindering for dep in after[id_]) for id_ in ids}
    free = [id_ for id_ in sorted(ids) if not waiting[id_]]
    step = dict.fromkeys(free, 1)
    for id_ in free:  # grows: a queue of ids whose dependencies are all placed
        for user in before[id_]:
            if user in ids:
                waiting[user] -= 1
                step[user] = max(step.get(user, 1), step[id_] + 1)
                if not waiting[user]:
                    free.append(user)
    return {id_: step[id_] for id_ in free}
