"""Tasks for graphs, and texts that try to become more than text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from nexus_mcp.views.graph import graph

HOSTILE = (
    "<script>alert(1)</script>",
    '"]; click n0 "javascript:alert(1)" %%{init: {"theme": "dark"}}%%',
    '\x1b[31mred \u202eevil\u202c \\N \\" & &lt; #quot; `code`',
    "end\nsubgraph x\n---\nclassDef done fill:red;",
    "[link](javascript:alert(1)) ![image](http://example.invalid/x.png) <http://example.invalid>",
    "</title></text></svg><img src=x onerror=alert(1)>",
    "한국어 제목, عنوان, \U0001f469\u200d\U0001f4bb",
)


def task(
    id_: int, title: str = "", status: str = "pending", deps: Sequence[float] = (), owner: str = ""
) -> dict[str, Any]:
    """A task; without a title it is named by its id."""
    found = {"id": id_, "title": title or f"Task {id_}", "status": status, "deps": [*deps], "context": "c"}
    found["created_at"] = "2026-11-02T09:00:00.000Z"
    return {**found, **({"owner": owner} if owner else {})}


def hostile_tasks() -> list[dict[str, Any]]:
    """A chain of tasks with the hostile titles, one of them also an owner, and a missing dependency."""
    tasks = [task(number, title, deps=[number - 1], owner=title) for number, title in enumerate(HOSTILE, 2)]
    return [task(1, deps=[-1.5]), *tasks]


def many_tasks(count: int = 200) -> list[dict[str, Any]]:
    """That many tasks, a third of them done, with a cycle of three."""
    choose = random.Random(3)
    tasks = []
    for id_ in range(1, count + 1):
        deps = choose.sample(range(max(1, id_ - 25), id_), min(id_ - 1, choose.choice((0, 1, 1, 2, 3))))
        status = "completed" if id_ < count // 3 else choose.choice(("pending", "pending", "in_progress"))
        tasks.append(task(id_, f"Write part {id_} of the program", status, sorted(deps)))
    first, second, third = (tasks[count - 5], tasks[count - 4], tasks[count - 3])
    for one, other in ((first, third), (second, first), (third, second)):
        one["status"], one["deps"] = "pending", [other["id"]]
    return tasks


def graph_of(tasks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The view graph of these tasks."""
    return graph(tasks)
