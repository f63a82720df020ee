"""The table for the terminal and the page, from a result of results.py. All functions are pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from benchmarks.figures import BUN, NODE, OURS, PYTHON, SDK, met, ratio
from benchmarks.goals import LIMITS, ROWS, Goal, Row

Medians = Mapping[str, Mapping[str, float]]
HEAD = ("what", "ours", "Node", "ratio", "goal", "met")
GOAL = HEAD.index("goal")
SERVERS = {NODE: "Node", BUN: "Bun"}


def judge(row: Row, goal: Goal, medians: Medians) -> dict[str, Any] | None:
    """Return {against, other, ratio, limit, at_least, met}; None if either series was not measured."""
    series = medians.get(row.key, {})
    if OURS not in series or goal.against not in series:
        return None
    value = ratio(series[OURS], series[goal.against])
    return {
        "against": goal.against,
        "other": series[goal.against],
        "ratio": value,
        "limit": goal.limit,
        "at_least": goal.at_least,
        "met": met(value, goal.limit, at_least=goal.at_least),
    }


def goal_lines(medians: Medians, wrong: Collection[str] = ()) -> Iterator[tuple[str, ...]]:
    """Yield (what, ours, Node, ratio, goal, met) for each measured row. `wrong` are keys of rows."""
    for row in ROWS:
        series = medians.get(row.key, {})
        if OURS not in series:
            continue
        for place, goal in enumerate(row.goals):
            judged = judge(row, goal, medians)
            what = f"{row.what} ({row.unit})" if not place else f"… against {SERVERS.get(goal.against, goal.against)}"
            if judged is None:
                yield (what, number(series[OURS]), "–", "–", wish(goal), "not measured")
                continue
            other = number(judged["other"])
            if goal.against not in (NODE, BUN):
                other = f"{goal.against}: {other}"
            yes = "WRONG" if row.key in wrong else "yes" if judged["met"] else "no"
            yield (what, number(series[OURS]), other, f"{judged['ratio']:.3f}", wish(goal), yes)
        if not row.goals:
            shown = number(series[NODE]) if NODE in series else "–"
            share = f"{ratio(series[OURS], series[NODE]):.3f}" if NODE in series else "–"
            yield (
                f"{row.what} ({row.unit})",
                number(series[OURS]),
                shown,
                share,
                "",
                "WRONG" if row.key in wrong else "",
            )


def without_goal(lines: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield (what, ours, Node, ratio) for each line of goal_lines that has no goal; a wrong row has WRONG as ratio."""
    for what, ours, other, share, goal, met_or_wrong in lines:
        if not goal:
            yield (what, ours, other, met_or_wrong or share)


def limit_lines(medians: Medians) -> Iterator[tuple[str, ...]]:
    """Yield (what, our time, the limit, its time, the ratio of both)."""
    for row in ROWS:
        series = medians.get(row.key, {})
        for limit in LIMITS:
            if limit in series and OURS in series:
                times = ratio(series[OURS], series[limit])
                unit = f"{row.what} ({row.unit})"
                yield (unit, number(series[OURS]), limit, number(series[limit]), f"{times:.2f}")


def context_lines(medians: Medians) -> Iterator[tuple[str, ...]]:
    """Yield (server, ms to tools/list, MB resident) for each server that was started."""
    starts, sizes = medians.get("start", {}), medians.get("memory", {})
    for name in starts:
        if name != PYTHON:
            yield (SDK if name == SDK else name, number(starts[name]), number(sizes.get(name, 0.0)))


def number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def wish(goal: Goal) -> str:
    return f"{'≥' if goal.at_least else '≤'} {goal.limit:g}"


def columns(lines: list[tuple[str, ...]]) -> list[str]:
    """Return the lines aligned for a terminal: the first column to the left, the others to the right."""
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return [
        "  ".join(
            text.ljust(width) if not place else text.rjust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
