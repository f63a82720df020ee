"""What a failed fixture is judged by: its assertions, what was asked and answered, the files it left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.failure import note, place
from nexus_mcp.conformance.report.html.head import duration
from nexus_mcp.conformance.report.html.markup import Html, el, fold, joined
from nexus_mcp.conformance.report.matrix import assertions
from nexus_mcp.conformance.report.texts import block, counted, cut_note, indented, one_line, shortened, shown
from nexus_mcp.conformance.result import MISSING

if TYPE_CHECKING:
    from nexus_mcp.conformance.result import Assertion, Exchange, FixtureResult

LONGEST_VALUE = 600
LONGEST_BLOCK = 20_000


def assertion_table(result: FixtureResult) -> Html:
    """The assertions that fail as a table, those that hold in a fold under it."""
    every = assertions(result)
    failed = [assertion for assertion in every if not assertion.passed]
    held = [assertion for assertion in every if assertion.passed]
    names = ("Check", "Where", "JSONPath", "Expected", "Seen")
    head = el("thead", el("tr", *(el("th", name, scope="col") for name in names)))
    parts = []
    if failed:
        parts.append(el("table", head, el("tbody", *map(_row, failed)), class_="assertions"))
    if held:
        lines = (el("li", el("code", _in_short(assertion))) for assertion in held)
        parts.append(fold(f"{counted(len(held), 'assertion')} that hold", el("ul", *lines), class_="quiet"))
    return joined(*parts)


def exchanges(result: FixtureResult) -> Html:
    """Every request with its answer."""
    if not result.exchanges:
        return Html("")
    return joined(el("h4", "Asked and answered"), *map(_exchange, result.exchanges))


def files(result: FixtureResult) -> Html:
    """The files of the project afterwards, and what the target wrote to stderr."""
    parts = []
    if result.files:
        parts.append(el("h4", "Files afterwards"))
        parts += [_text(el("code", one_line(path, 300)), text) for path, text in sorted(result.files.items())]
    if result.stderr:
        parts += [el("h4", "The target's stderr"), _text(f"{len(result.stderr):,} characters", result.stderr)]
    if result.cut:
        parts.append(el("p", cut_note(result.cut), class_="note"))
    return joined(*parts)


def _row(assertion: Assertion) -> Html:
    cells = [_cell("Check", assertion.kind), _cell("Where", place(assertion))]
    if not assertion.path:
        message = el("td", one_line(assertion.message, LONGEST_VALUE), colspan=3, data_label="What", class_="message")
        return el("tr", *cells, message)
    more = el("p", one_line(note(assertion), LONGEST_VALUE), class_="note") if note(assertion) else ""
    return el(
        "tr",
        *cells,
        _cell("JSONPath", el("code", one_line(assertion.path, 300))),
        _cell("Expected", el("code", shown(assertion.expected, LONGEST_VALUE), class_="expected")),
        _cell("Seen", _seen(assertion), more),
    )


def _cell(label: str, *content: str) -> Html:
    return el("td", *content, data_label=label)


def _seen(assertion: Assertion) -> Html:
    if assertion.seen is not MISSING:
        return el("code", shown(assertion.seen, LONGEST_VALUE), class_="seen")
    nearest = joined("; nearest parent ", el("code", one_line(assertion.parent, 300))) if assertion.parent else ""
    return el("span", el("i", "missing"), nearest, class_="seen")


def _in_short(assertion: Assertion) -> str:
    what = f"{one_line(assertion.path)} is {shown(assertion.expected, 100)}" if assertion.path else ""
    return " · ".join(part for part in (assertion.kind, place(assertion), what) if part)


def _exchange(exchange: Exchange) -> Html:
    head = el(
        "p",
        el("span", f"{exchange.step} ", class_="note") if exchange.step else "",
        el("code", one_line(exchange.asked, 100)),
        el("span", f" {one_line(exchange.description, 300)}") if exchange.description else "",
        el("span", f" {duration(exchange.seconds)}", class_="note"),
        class_="asked",
    )
    answer = block(shortened(exchange.error, LONGEST_BLOCK)) or indented(exchange.answer, LONGEST_BLOCK)
    wrong = exchange.is_error or bool(exchange.error)
    label = "Answer, marked as an error" if exchange.is_error else "No answer" if exchange.error else "Answer"
    return el(
        "div",
        head,
        el("figure", el("figcaption", "Request"), el("pre", indented(exchange.params, LONGEST_BLOCK), tabindex=0)),
        el("figure", el("figcaption", label), el("pre", answer, tabindex=0), class_="error" if wrong else ""),
        class_="exchange",
    )


def _text(summary: str, text: str) -> Html:
    return fold(summary, el("pre", shortened(text, LONGEST_BLOCK), tabindex=0), class_="quiet")
