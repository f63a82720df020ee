"""The data of the charts, from a stored result. All functions are pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from benchmarks.figures import BUN, NODE, OURS, PYTHON, SDK
from benchmarks.goals import SIZES

NO_INDEX = "ours, no index yet"
LABELS = {OURS: "nexus-mcp", NODE: "upstream, Node", BUN: "upstream, Bun", SDK: "nexus-mcp --sdk"}


@dataclass(frozen=True)
class Panel:
    """One chart: series → (history size, value), on two logarithmic axes."""

    title: str
    unit: str
    lines: dict[str, list[tuple[int, float]]]


GROWTH = (
    ("history_search, rare word", "search", "clone-search"),
    ("history_search without query", "recent", "clone-recent"),
    ("plan_start, no active plan", "plan", "clone-plan"),
    ("plan_start that archives", "archive", None),
    ("task_close", "close", None),
)


def growth(result: dict[str, Any]) -> list[Panel]:
    """Return a panel of time against history size for each kind of work."""
    panels = []
    for title, op, first in GROWTH:
        lines = {name: _line(result, op, name) for name in (OURS, NODE, BUN)}
        if first:
            lines[NO_INDEX] = _line(result, first, OURS)
        panels.append(Panel(title, "ms", {name: points for name, points in lines.items() if points}))
    return panels


def memory(result: dict[str, Any]) -> Panel:
    lines = {name: _line(result, "peak", name) for name in (OURS, NODE, BUN)}
    return Panel(
        "most memory taken by all work on history", "MB", {name: points for name, points in lines.items() if points}
    )


def bars(result: dict[str, Any]) -> dict[str, list[tuple[str, float]]]:
    """Return title → (server, value), the smallest first, for the costs of a mounted server."""
    found = {}
    for key, title in (("start", "spawn → tools/list (ms)"), ("memory", "resident memory (MB)")):
        medians = result["rows"].get(key, {"medians": {}})["medians"]
        named = [(LABELS.get(name, name), value) for name, value in medians.items() if name != PYTHON]
        found[title] = sorted(named, key=lambda pair: pair[1])
    return found


def digest(shown: object) -> str:
    """Return the digest of the data of a chart. The chart contains it, so that a test detects an old chart."""
    return hashlib.sha256(json.dumps(shown, default=vars, ensure_ascii=False).encode()).hexdigest()[:16]


def _line(result: dict[str, Any], op: str, series: str) -> list[tuple[int, float]]:
    rows = result["rows"]
    return [
        (size, rows[key]["medians"][series])
        for size in SIZES
        if (key := f"{op}-{size}") in rows and series in rows[key]["medians"]
    ]
