"""The matrix: a row for each tool and event, a column for each kind of check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.html.markup import Html, anchor, el
from nexus_mcp.conformance.report.matrix import Cell, Row, matrix
from nexus_mcp.conformance.report.texts import one_line
from nexus_mcp.conformance.result import CHECKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nexus_mcp.conformance.result import RunResult


def matrix_section(run: RunResult) -> Html:
    """The table with its legend. A cell where something fails leads to the first fixture that tells of it."""
    head = el(
        "tr",
        el("th", "Tool", scope="col"),
        el("th", "fixtures", scope="col", title="fixtures that ask it, those that were run"),
        *(el("th", kind, scope="col", title=meaning) for kind, meaning in CHECKS.items()),
    )
    rows = (_row(row) for row in matrix(run))
    legend = el(
        "dl",
        *(el("div", el("dt", kind), el("dd", meaning)) for kind, meaning in CHECKS.items()),
        class_="legend",
    )
    return el(
        "section",
        el("h2", "Tools × checks"),
        el(
            "p",
            "Assertions that hold, of all: ",
            el("span", "✓ all", class_="pass"),
            ", ",
            el("span", "✗ some fail", class_="fail"),
            ", – none made. An assertion counts for the tool asked in its step; a fixture for every tool it asks, but "
            "one that fails at another tool is only mentioned. Failures that were expected are counted here like any "
            "other.",
            class_="note",
        ),
        el(
            "div",
            el("table", el("thead", head), el("tbody", *rows), class_="matrix"),
            class_="wide",
            tabindex=0,
            role="region",
            aria_label="Tools and checks",
        ),
        legend,
        id="matrix",
    )


def _row(row: Row) -> Html:
    return el(
        "tr",
        el("th", el("code", one_line(row.name, 40)), scope="row"),
        _cell(row.fixtures, {"not run": row.not_run, "failing at another tool": row.elsewhere}),
        *(_cell(row.checks[kind]) for kind in CHECKS),
    )


def _cell(cell: Cell, beside: Mapping[str, int] | None = None) -> Html:
    rest = [f"{number} {what}" for what, number in (beside or {}).items() if number]
    if not cell.total:
        return el("td", ", ".join(rest) or "–", class_="none")
    more = el("small", f" +{', '.join(rest)}") if rest else ""
    if not cell.failed_in:
        return el("td", f"✓ {cell.passed}/{cell.total}", more, class_="pass")
    names = ", ".join(cell.failed_in)
    link = el("a", f"✗ {cell.passed}/{cell.total}", href=f"#{anchor(cell.failed_in[0])}", title=names)
    return el("td", link, more, class_="fail")
