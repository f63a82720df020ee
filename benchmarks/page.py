"""docs/performance.md from what is kept in benchmarks/results: `python -m benchmarks --page`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from benchmarks import report, results
from benchmarks.candidates.tables import build_lines, search_lines
from benchmarks.client import ROOT
from benchmarks.plots.draw import draw

PAGE = ROOT / "docs" / "performance.md"


def _rows(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    shown = [head, tuple("---" if not place else "--:" for place in range(len(head))), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in shown)


def _table(lines: list[tuple[str, ...]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    return lines[0], lines[1:]


def blocks(result: dict[str, Any], candidates: dict[str, Any]) -> dict[str, str]:
    """Name of each generated block → its text."""
    medians = results.medians_of(result)
    machine = result["machine"]
    made_on = (
        f"{machine['day']}, Python {machine['python']}, Node {machine['node']}, Bun {machine['packages']['bun']}, "
        f"{machine['system']}, {machine['cores']} cores; medians of interleaved rounds."
    )
    return {
        "goals": _rows(report.HEAD, report.goal_lines(medians)) + f"\n\n{made_on}",
        "limits": _rows(("what", "ours", "limit", "its figure", "times"), report.limit_lines(medians)),
        "candidates": _rows(*_table(search_lines(candidates))),
        "parsers": _rows(*_table(build_lines(candidates))),
        "noted": "\n".join(f"- {note}" for note in result["notes"]),
        "context": _rows(("server", "tools/list (ms)", "resident (MB)"), report.context_lines(medians)),
    }


def filled(page: str, texts: dict[str, str]) -> str:
    """The page with each block between its markers. Raises ValueError for a block that the page has no place for."""
    for name, text in texts.items():
        parts = re.split(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", page, flags=re.DOTALL)
        if len(parts) != 2:
            raise ValueError(f"docs/performance.md has {len(parts) - 1} places for the block {name}; it needs one")
        page = f"{parts[0]}{text}\n{parts[1]}"
    return page


def kept() -> dict[str, str]:
    """The blocks of what was measured last."""
    return blocks(results.read(results.TABLE), results.read(results.CANDIDATES))


def write() -> None:
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), kept()), encoding="utf-8")
    draw(results.read(results.TABLE))
