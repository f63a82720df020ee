"""Label the nodes of a graph: each state has a mark and a word, so that no meaning depends on a colour."""

from __future__ import annotations

from nexus_mcp.views import tasks
from nexus_mcp.views.graph import MISSING
from nexus_mcp.views.task_rows import DONE, READY, RUNNING, WAITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MARKS = {DONE: "✓", RUNNING: "▸", READY: "○", WAITING: "·", MISSING: "✗"}
WORDS = {**{state: tasks.WORDS[state] for state in (DONE, RUNNING, READY, WAITING)}, MISSING: "missing"}
CRITICAL, CYCLE = "critical path", "cycle"


def node_name(number: int) -> str:
    """Return the name of the node with this place in the graph. The task ids are not used as names: they may be any
    numbers.
    """
    return f"n{number}"


def flags(node: Mapping[str, Any]) -> list[str]:
    """Return the words for a node on the critical path or in a cycle."""
    return [CRITICAL] * bool(node["is_critical"]) + [CYCLE] * bool(node["in_cycle"])


def counts_line(graph: Mapping[str, Any]) -> str:
    """Return how many tasks have each state: `5 tasks: 1 done · 2 ready · 2 waiting`."""
    states = [node["state"] for node in graph["nodes"]]
    total = len(states) - states.count(MISSING)
    if not total:
        return "No tasks"
    parts = [f"{states.count(state)} {word}" for state, word in WORDS.items() if state in states and state != MISSING]
    missing = states.count(MISSING)
    if missing:
        parts.append(f"{missing} missing {'dependency' if missing == 1 else 'dependencies'}")
    return f"{total} task{'s' * (total != 1)}: {' · '.join(parts)}"


def critical_line(graph: Mapping[str, Any]) -> str:
    """Return the critical path: `Critical path, 3 tasks: 1 → 2 → 3`; "" without one."""
    path = graph["critical_path"]
    return f"Critical path, {len(path)} tasks: {' → '.join(map(str, path))}" if path else ""


def cycle_lines(graph: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each group of tasks that depend on each other."""
    return tasks.problems([], graph["cycles"])
