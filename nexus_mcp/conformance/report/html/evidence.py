"""Render the lists of the page and the evidence of each failure: assertions, requests and responses, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.conformance.fixture import CORE
from nexus_mcp.conformance.report.causes import causes
from nexus_mcp.conformance.report.html.markup import Html, anchor, duration, el, fold, join
from nexus_mcp.conformance.report.matrix import assertions, by_section, not_run
from nexus_mcp.conformance.report.texts import (
    block,
    count_noun,
    cut_note,
    format_indented,
    format_rules,
    format_value,
    in_words,
    note,
    one_line,
    place,
    shorten,
)
from nexus_mcp.conformance.result import FAILED, MISSING, NOT_RUN
from nexus_mcp.wording import and_more, list_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.conformance.result import Assertion, Exchange, FixtureResult, RunResult

LONGEST_VALUE = 600
LONGEST_BLOCK = 20_000

FEW = 3
"""With at most this many causes, the examples are open when the page opens. `_brief` shows at most as many failed
assertions.
"""
EVIDENCE = 100_000
"""Characters of all the examples that are shown in full."""
BRIEF = 160
EXPLAINED = (
    "Failures that look alike except for numbers, ids, times and paths have one cause. As far as there is room, "
    "each has one example in full; --report result.json has the requests and files of all of them."
)
LONGEST = 1000
"""Characters of a description or a reason."""


def assertion_table(result: FixtureResult) -> Html:
    """Return the failed assertions as a table, and below it the passed ones, folded."""
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
        parts.append(fold(f"{count_noun(len(held), 'assertion')} that hold", el("ul", *lines), class_="quiet"))
    return join(*parts)


def exchanges(result: FixtureResult) -> Html:
    """Return every request with its response."""
    if not result.exchanges:
        return Html("")
    return join(el("h4", "Requests and responses"), *map(_exchange, result.exchanges))


def files(result: FixtureResult) -> Html:
    """Return the files of the project after the run, and the target's stderr."""
    parts = []
    if result.files:
        parts.append(el("h4", "Files afterwards"))
        parts += [_text(el("code", one_line(path, 300)), text) for path, text in sorted(result.files.items())]
    if result.stderr:
        parts += [el("h4", "The target's stderr"), _text(f"{len(result.stderr):,} characters", result.stderr)]
    if result.cut:
        parts.append(el("p", cut_note(result.cut), class_="note"))
    return join(*parts)


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
        _cell("Expected", el("code", format_value(assertion.expected, LONGEST_VALUE), class_="expected")),
        _cell("Seen", _seen_cell(assertion), more),
    )


def _cell(label: str, *content: str) -> Html:
    return el("td", *content, data_label=label)


def _seen_cell(assertion: Assertion) -> Html:
    if assertion.seen is not MISSING:
        return el("code", format_value(assertion.seen, LONGEST_VALUE), class_="seen")
    nearest = join("; nearest parent ", el("code", one_line(assertion.parent, 300))) if assertion.parent else ""
    return el("span", el("i", "missing"), nearest, class_="seen")


def _in_short(assertion: Assertion) -> str:
    what = f"{one_line(assertion.path)} is {format_value(assertion.expected, 100)}" if assertion.path else ""
    return " · ".join(part for part in (assertion.kind, place(assertion), what) if part)


def _exchange(exchange: Exchange) -> Html:
    head = el(
        "p",
        el("span", f"{exchange.step} ", class_="note") if exchange.step else "",
        el("code", one_line(exchange.request, 100)),
        el("span", f" {one_line(exchange.description, 300)}") if exchange.description else "",
        el("span", f" {duration(exchange.seconds)}", class_="note"),
        class_="request",
    )
    answer = block(shorten(exchange.error, LONGEST_BLOCK)) or format_indented(exchange.answer, LONGEST_BLOCK)
    wrong = exchange.is_error or bool(exchange.error)
    label = "Answer, marked as an error" if exchange.is_error else "No answer" if exchange.error else "Answer"
    return el(
        "div",
        head,
        el(
            "figure",
            el("figcaption", "Request"),
            el("pre", format_indented(exchange.params, LONGEST_BLOCK), tabindex=0),
        ),
        el("figure", el("figcaption", label), el("pre", answer, tabindex=0), class_="error" if wrong else ""),
        class_="exchange",
    )


def _text(summary: str, text: str) -> Html:
    return fold(summary, el("pre", shorten(text, LONGEST_BLOCK), tabindex=0), class_="quiet")


def failures(run: RunResult) -> list[Html]:
    """Return up to three sections: failed, passed against expectation, failed as expected."""
    known = tuple(result for result in run.having(FAILED) if result.expected)
    return [
        _by_cause(run),
        _failures_section(
            "healed",
            "Expected to fail, but passed",
            "The run fails until you remove these entries from the expected failures.",
            run.healed_fixtures,
        ),
        _failures_section("expected", "Expected failures", "", known),
    ]


def not_run_list(run: RunResult) -> Html:
    """Return the fixtures that were not run against the target, by reason."""
    reasons = not_run(run)
    if not reasons:
        return Html("")
    folds = (
        fold(
            join(el("b", one_line(reason, 400)), el("small", f" {count_noun(len(results), 'fixture')}")),
            el("p", *(join(el("code", one_line(result.test_id)), " ") for result in results)),
        )
        for reason, results in reasons.items()
    )
    return el("section", el("h2", "Not run"), *folds, id="not-run")


def fixtures(run: RunResult) -> Html:
    """Return the fixtures that were run, by tool, with the counts of all fixtures."""
    folds = (
        fold(
            join(el("code", one_line(name)), el("small", f" {_tally(results)}")),
            _listing([result for result in results if result.status != NOT_RUN]),
        )
        for name, results in by_section(run.results).items()
    )
    return el("section", el("h2", "All fixtures"), *folds, id="fixtures")


def _by_cause(run: RunResult) -> Html:
    """Return the failures by cause: an example in full for each while EVIDENCE lasts, a few lines for the others."""
    found = causes(run.unexpected_failures)
    if not found:
        return Html("")
    heading = f"{count_noun(len(run.unexpected_failures), 'fixture')}, {count_noun(len(found), 'cause')}"
    parts = [el("h2", "Failed ", el("small", heading)), el("p", EXPLAINED, class_="note")]
    room = EVIDENCE
    for cause in found:
        where = ", ".join(f"{one_line(tool, 60)} {number}" for tool, number in cause.tools.items())
        group = "" if cause.group == CORE else f"{one_line(cause.group)}: "
        head = f"{count_noun(len(cause.results), 'fixture')}: {group}"
        example = _article(cause.example, open_=len(found) <= FEW)
        others = cause.results[1:]
        if len(example) > room:
            example, others = Html(""), cause.results
        room -= len(example)
        parts += [el("h3", head, el("code", cause.title)), el("p", f"at {where}", class_="note"), example]
        parts += map(_brief, others)
    return el("section", *parts, id="failed")


def _brief(result: FixtureResult) -> Html:
    """Return a failure in a few lines, without its requests and files."""
    failed = [in_words(assertion, BRIEF) for assertion in assertions(result) if not assertion.passed]
    return el(
        "article",
        el("b", one_line(result.test_id)),
        el("span", f" {one_line(result.description, BRIEF * 2)}", class_="first"),
        el("ul", *(el("li", el("code", text)) for text in list_first(failed, FEW))),
        id=anchor(result.test_id),
        class_="brief known" if result.expected else "brief failed",
    )


def _failures_section(name: str, title: str, note: str, results: Sequence[FixtureResult]) -> Html:
    if not results:
        return Html("")
    parts = [el("h2", f"{title} ", el("small", str(len(results))))]
    if note:
        parts.append(el("p", note, class_="note"))
    for section, members in by_section(results).items():
        parts.append(el("h3", el("code", one_line(section))))
        parts += [_brief(one) if one.expected and one.status == FAILED else _article(one) for one in members]
    return el("section", *parts, id=name)


def _article(result: FixtureResult, *, open_: bool = False) -> Html:
    failed = [assertion for assertion in assertions(result) if not assertion.passed]
    first = in_words(failed[0], 160) if failed else "passed"
    more = and_more(len(failed) - 1)
    mark = "✗" if failed else "✓"
    summary = join(
        el("span", f"{mark} ", class_="mark", aria_hidden="true"),
        el("b", one_line(result.test_id)),
        el("span", f" {first}", el("i", more), class_="first"),
    )
    facts = [
        one_line(result.source, 300),
        one_line(result.group),
        duration(result.seconds),
        format_rules(result.test_id),
    ]
    if result.repeats > 1:
        facts.append(f"run {result.repeats} times")
    content = [
        el("p", one_line(result.description, LONGEST), class_="fact"),
        el("p", " · ".join(filter(None, facts)), class_="note"),
        el("p", el("b", "Expected to fail: "), one_line(result.expected, LONGEST)) if result.expected else "",
        assertion_table(result),
        exchanges(result),
        files(result),
    ]
    kind = "known" if failed and result.expected else "failed"
    return el("article", fold(summary, *content, open_=open_), id=anchor(result.test_id), class_=kind)


def _tally(results: Sequence[FixtureResult]) -> str:
    counts = {status: sum(result.status == status for result in results) for status in ("passed", FAILED, NOT_RUN)}
    return ", ".join(f"{number} {status}" for status, number in counts.items() if number)


def _listing(results: Sequence[FixtureResult]) -> Html:
    return el("table", el("tbody", *map(_line, results)), class_="list")


def _line(result: FixtureResult) -> Html:
    mark, kind = {"passed": ("✓", "pass"), FAILED: ("✗", "fail"), NOT_RUN: ("–", "none")}[result.status]
    name: str = el("code", one_line(result.test_id))
    if result.status == FAILED or result.expected:
        name = el("a", name, href=f"#{anchor(result.test_id)}")
    made = count_noun(len(result.assertions), "assertion") if result.status != NOT_RUN else ""
    cells = (
        el("td", f"{mark} {result.status}", class_=kind),
        el("td", name, el("span", one_line(result.description, LONGEST))),
        el("td", made),
        el("td", duration(result.seconds) if result.status != NOT_RUN else ""),
    )
    return el("tr", *cells)
