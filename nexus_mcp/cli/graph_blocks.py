"""Make blocks of the graph of tasks: the done tasks, the steps that can begin one after the other, the stuck tasks."""

from __future__ import annotations

from nexus_mcp.cli.blocks import BLANK, DETAIL, DIM, LEAD, MAIN, PROBLEM, STRONG, Line, Table, heading
from nexus_mcp.cli.task_lines import MARKS, owner
from nexus_mcp.rendering.graph_labels import CRITICAL, WORDS, counts_line, critical_line, cycle_lines
from nexus_mcp.rendering.steps import steps
from nexus_mcp.views.graph import MISSING
from nexus_mcp.views.task_rows import DONE, RUNNING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from nexus_mcp.cli.blocks import Content
    from nexus_mcp.rendering.steps import Steps


def graph_blocks(graph: Mapping[str, Any]) -> list[Line | Table]:
    """Return the view `graph` as blocks."""
    found = steps(graph)
    missing = {node["id"] for node in graph["nodes"] if node["state"] == MISSING}
    blocks: list[Line | Table] = [heading(counts_line(graph))]
    blocks += [Line((sentence, PROBLEM)) for sentence in cycle_lines(graph)]
    blocks += [Line(line) for line in (critical_line(graph),) if line]
    if found["done"]:
        blocks += [BLANK, heading("Done"), _table(found["done"], found, missing)]
    all_done = all(node["state"] == DONE for step in found["steps"] for node in step)
    for number, step in enumerate(found["steps"], 1):
        note = "" if all_done else "in progress, or ready to begin" if number == 1 else f"after step {number - 1}"
        blocks += [BLANK, heading(f"Step {number}", note), _table(step, found, missing)]
    if found["stuck"]:
        blocks += [
            BLANK,
            heading("Stuck", "these wait for a cycle or for a missing task"),
            _table(found["stuck"], found, missing),
        ]
    return blocks


def _table(nodes: Sequence[Mapping[str, Any]], found: Steps, missing: set[Any]) -> Table:
    return Table((LEAD, MAIN, DETAIL, DETAIL, MAIN), [_row(node, found, missing) for node in nodes])


def _row(node: Mapping[str, Any], found: Steps, missing: set[Any]) -> list[Content]:
    mark, style = MARKS[node["state"]]
    after = [f"{id_}{' (missing)' if id_ in missing else ''}" for id_ in found["after"][node["id"]]]
    note: Content = ""
    if node["in_cycle"]:
        note = ("in a cycle", PROBLEM)
    elif node["is_critical"]:
        note = (CRITICAL, STRONG)
    elif node["state"] == RUNNING:
        note = (WORDS[RUNNING], style)
    return [
        [(f"{mark} ", style), f"{node['id']:>3}"],
        " ".join(node["title"].split()) or "(no title)",
        note,
        owner(node["owner"]),
        (f"after {', '.join(after)}" if after else "", DIM),
    ]
