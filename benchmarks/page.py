"""Write docs/performance.md and docs/performance-details.md from benchmarks/results: `python -m benchmarks --page`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import report, results, unmet
from benchmarks.candidates.tables import build_lines, search_lines
from benchmarks.client import ROOT
from benchmarks.figures import NODE, OURS
from benchmarks.goals import CROWDS
from benchmarks.plots.draw import draw

PAGE = ROOT / "docs" / "performance.md"
DETAILS = PAGE.with_name("performance-details.md")
ON_PAGE = ("wrong", "goals")
"""The names of the blocks of PAGE; all other blocks are on DETAILS."""


def _rows(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    shown = [head, tuple("---" if not place else "--:" for place in range(len(head))), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in shown)


def _table(lines: list[tuple[str, ...]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    return lines[0], lines[1:]


def _wrong(result: dict[str, Any]) -> str:
    told = results.told(result, "wrong")
    if not told:
        return "In these runs, every response of ours was correct."
    texts = [f"- {one['text']} (in: {', '.join(results.parts_of(one['rows']))})" for one in told]
    return "\n".join(["**WRONG ANSWERS of ours: what these rows show as fast is not right.**", "", *texts])


def _runs(result: dict[str, Any]) -> str:
    """Return the text about the times of the runs, and their code."""

    def named(run: tuple[str, str]) -> str:
        return f"begun {run[0]}, code {run[1]}" if run[1] else f"{run[0]} or before; runs and code were not noted"

    found = results.runs(result)
    if len(found) == 1 and all(digest for _, digest in found):
        return f"All rows are of one run, {named(*found)}."
    listed = [f"- {', '.join(parts)}: {named(run)}" for run, parts in found.items()]
    return "\n".join(["Rows are of different runs; ours and theirs in a row are of the same one:", "", *listed])


def _in_memory(result: dict[str, Any] | None) -> str:
    """Return the text about eight processes without a disk; "" if that was not measured."""
    if result is None:
        return ""
    medians = results.medians_of(result)
    both = [(medians[f"crowd-{size}"][OURS], medians[f"crowd-{size}"][NODE]) for size in CROWDS]
    ours, times = _and(f"{one:.0f}" for one, _ in both), _and(f"{one / other:.1f}" for one, other in both)
    sizes = _and(str(size) for size in CROWDS)
    return (
        "- **Eight processes without a disk** (`python -m benchmarks --rows crowd --folder /dev/shm`) add "
        f"{ours} tasks\n  in a second to lists of {sizes}, {times} times as many as Node's: "
        "more a group commit could not give."
    )


def _and(texts: Iterable[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}"


def blocks(
    result: dict[str, Any], candidates: dict[str, Any], in_memory: dict[str, Any] | None = None
) -> dict[str, str]:
    """Return the name of each generated block → its text."""
    medians = results.medians_of(result)
    machine = result["machine"]
    rest = [f"- {text}" for text in unmet.spent(medians)]
    wrong = {row for one in results.told(result, "wrong") for row in one["rows"]}
    lines = list(report.goal_lines(medians, wrong))
    judged = [line for line in lines if line[report.GOAL]]
    made_on = (
        f"Python {machine['python']}, Node {machine['node']}, Bun {machine['packages']['bun']}, "
        f"{machine['system']}, {machine['cores']} cores; medians of interleaved rounds."
    )
    return {
        "wrong": _wrong(result),
        "goals": _rows(report.HEAD, judged) + f"\n\n{made_on}\n{_runs(result)}",
        "without-goal": _rows(report.HEAD[:4], report.without_goal(lines)),
        "unmet": "\n".join([_rows(unmet.HEAD, unmet.lines(medians)), "", *rest]),
        "limits": _rows(("what", "ours", "limit", "its figure", "times"), report.limit_lines(medians)),
        "candidates": _rows(*_table(search_lines(candidates))),
        "parsers": _rows(*_table(build_lines(candidates))),
        "in-memory": _in_memory(in_memory),
        "noted": "\n".join(f"- {one['text']}" for one in results.told(result, "notes")),
        "context": _rows(("server", "tools/list (ms)", "resident (MB)"), report.context_lines(medians)),
    }


def filled(page: str, texts: dict[str, str]) -> str:
    """Return the page with each block between its markers. Raise ValueError for a block without markers."""
    for name, text in texts.items():
        parts = re.split(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", page, flags=re.DOTALL)
        if len(parts) != 2:
            raise ValueError(f"The page has {len(parts) - 1} places for the block {name}; it needs one")
        page = f"{parts[0]}{text}\n{parts[1]}"
    return page


def kept() -> dict[str, str]:
    """Return the blocks for the stored results."""
    in_memory = results.read(results.IN_MEMORY) if results.IN_MEMORY.exists() else None
    return blocks(results.read(results.TABLE), results.read(results.CANDIDATES), in_memory)


def split(texts: dict[str, str]) -> dict[Path, dict[str, str]]:
    """Return page → the blocks that belong on it."""
    first = {name: texts[name] for name in ON_PAGE}
    return {PAGE: first, DETAILS: {name: text for name, text in texts.items() if name not in first}}


def write() -> None:
    """Fill the blocks of both pages and draw the charts."""
    for page, texts in split(kept()).items():
        page.write_text(filled(page.read_text(encoding="utf-8"), texts), encoding="utf-8")
    draw(results.read(results.TABLE))
