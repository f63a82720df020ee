"""Render report.html: one page without network, scripts or fonts.

`el` escapes every text, and a content security policy in the page forbids everything but its own style.
"""

from __future__ import annotations

import base64
import hashlib
import os
from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.html.evidence import failures, fixtures, not_run_list
from nexus_mcp.conformance.report.html.markup import Html, anchor, duration, el, join
from nexus_mcp.conformance.report.matrix import (
    Cell,
    Row,
    level_note,
    matrix,
    missing_tools_note,
    reasons,
    totals,
    verdict,
)
from nexus_mcp.conformance.report.texts import count_noun, cut_note, format_leftovers, one_line
from nexus_mcp.conformance.result import CHECKS, NOT_RUN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nexus_mcp.conformance.result import RunResult

_STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.css")


def to_html(run: RunResult) -> str:
    """Return the text of the page."""
    with open(_STYLE, encoding="utf-8") as file:
        style = file.read()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", f"{verdict(run)}: conformance of {run.server or run.target}"),
        el("style", Html(style)),
    )
    sections = (matrix_section(run), *failures(run), not_run_list(run), fixtures(run))
    body = el("body", heading(run), navigation(run), el("main", *sections))
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"


def heading(run: RunResult) -> Html:
    """Return verdict, server, the facts of the run, a bar, a tile for each count, and notes."""
    facts = (
        ("Target", el("code", one_line(run.target, 400))),
        ("Protocol", one_line(run.protocol) or "–"),
        *([("Level", level_note(run).removeprefix("level "))] if run.level else []),
        ("Started", el("time", one_line(run.started_at))),
        ("Took", duration(run.seconds)),
    )
    return el(
        "header",
        el(
            "div",
            el("p", el("span", _mark(run), class_="mark", aria_hidden="true"), f" {verdict(run)}", class_="verdict"),
            el("h1", one_line(run.server) or "(a server without a name)"),
            el("p", "Nexus conformance", class_="kind"),
            class_="title",
        ),
        el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in facts), class_="facts"),
        _bar(run),
        el("ul", *(_tile(*tile) for tile in _tiles(run)), class_="tiles"),
        el("p", f"Not run: {reasons(run)}", class_="note") if run.having(NOT_RUN) else "",
        el("p", missing_tools_note(run), class_="note") if run.missing_tools else "",
        el("p", cut_note(run.cut), class_="note") if run.cut else "",
        *(el("p", line, class_="note") for line in format_leftovers(run.left)),
        class_="good" if run.good else "bad",
    )


def navigation(run: RunResult) -> Html:
    """Return links to the parts of the page that exist."""
    count = totals(run)
    links = [("#matrix", "Tools × checks")]
    if count.failed:
        links.append(("#failed", f"Failed ({count.failed})"))
    if count.healed:
        links.append(("#healed", f"Expected to fail, but passed ({count.healed})"))
    if count.expected_failures:
        links.append(("#expected", f"Expected failures ({count.expected_failures})"))
    if count.not_run:
        links.append(("#not-run", f"Not run ({count.not_run})"))
    links.append(("#fixtures", f"All fixtures ({len(run.results)})"))
    return el("nav", *(el("a", name, href=to) for to, name in links), aria_label="Parts of this page")


def matrix_section(run: RunResult) -> Html:
    """Return the table with its legend. A cell with a failure links to the first fixture that shows it."""
    head = el(
        "tr",
        el("th", "Tool", scope="col"),
        el("th", "fixtures", scope="col", title="fixtures that use it and were run"),
        *(el("th", kind, scope="col", title=meaning) for kind, meaning in CHECKS.items()),
    )
    rows = (_row(row) for row in matrix(run))
    legend = el(
        "dl", *(el("div", el("dt", kind), el("dd", meaning)) for kind, meaning in CHECKS.items()), class_="legend"
    )
    return el(
        "section",
        el("h2", "Tools × checks"),
        el(
            "p",
            "Each cell has the number of assertions that hold, of all: ",
            el("span", "✓ all", class_="pass"),
            ", ",
            el("span", "✗ some fail", class_="fail"),
            ", – none made. An assertion counts for the tool of its step. A fixture counts for every tool it uses, "
            "but if it fails at another tool, the cell only mentions it. Failures that were expected are counted here "
            "like any other.",
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


def _mark(run: RunResult) -> str:
    return "✓" if run.good else "✗"


def _tiles(run: RunResult) -> list[tuple[str, int, str]]:
    count = totals(run)
    tiles = [("pass", count.passed, "passed"), ("fail", count.failed, "failed"), ("skip", count.not_run, "not run")]
    if count.expected_failures:
        tiles.append(("known", count.expected_failures, f"expected failure{'s' * (count.expected_failures != 1)}"))
    if count.healed:
        tiles.append(("fail", count.healed, "expected to fail, but passed"))
    return tiles


def _tile(kind: str, number: int, name: str) -> Html:
    return el("li", el("b", f"{number:,}"), el("span", f" {name}"), class_=kind if number else "none")


def _bar(run: RunResult) -> Html:
    """Return the counts as an SVG bar: the page's own policy forbids style attributes."""
    total, at, parts = len(run.results), 0.0, []
    for kind, number, _ in _tiles(run):
        width = 1000 * number / total if total else 0.0
        if width:
            parts.append(el("rect", x=f"{at:.2f}", y=0, width=f"{width:.2f}", height=10, class_=kind))
        at += width
    label = ", ".join(f"{number} {name}" for _, number, name in _tiles(run)) + f" of {count_noun(total, 'fixture')}"
    drawing = {"viewBox": "0 0 1000 10", "preserveAspectRatio": "none", "role": "img", "class_": "bar"}
    return el("svg", join(*parts), **drawing, aria_label=label)


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
