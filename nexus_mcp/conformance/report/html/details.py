"""The lists of the page: what failed, what was not run, and every fixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.conformance.report.failure import in_words
from nexus_mcp.conformance.report.html.evidence import assertion_table, exchanges, files
from nexus_mcp.conformance.report.html.head import duration
from nexus_mcp.conformance.report.html.markup import Html, anchor, el, fold, joined
from nexus_mcp.conformance.report.matrix import assertions, by_section
from nexus_mcp.conformance.report.summary import not_run
from nexus_mcp.conformance.report.texts import counted, one_line
from nexus_mcp.conformance.result import FAILED, NOT_RUN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.conformance.result import FixtureResult, RunResult

FEW = 3
"""Up to so many failures are open when the page is."""
LONGEST = 1000
"""Characters of a description or a reason."""


def failures(run: RunResult) -> list[Html]:
    """Up to three sections: failed, passed against expectation, failed as expected."""
    known = tuple(result for result in run.having(FAILED) if result.expected)
    return [
        _failed("failed", "Failed", "", run.unexpected),
        _failed(
            "healed",
            "Expected to fail, but passed",
            "The run fails until these entries are taken out of the expected failures.",
            run.healed,
        ),
        _failed("expected", "Expected failures", "", known),
    ]


def not_run_list(run: RunResult) -> Html:
    """The fixtures that the target could not be asked, by reason."""
    reasons = not_run(run)
    if not reasons:
        return Html("")
    folds = (
        fold(
            joined(el("b", one_line(reason, 400)), el("small", f" {counted(len(results), 'fixture')}")),
            _listing(results),
        )
        for reason, results in reasons.items()
    )
    return el("section", el("h2", "Not run"), *folds, id="not-run")


def fixtures(run: RunResult) -> Html:
    """Every fixture, by tool."""
    folds = (
        fold(joined(el("code", one_line(name)), el("small", f" {_tally(results)}")), _listing(results))
        for name, results in by_section(run.results).items()
    )
    return el("section", el("h2", "All fixtures"), *folds, id="fixtures")


def _failed(name: str, title: str, note: str, results: Sequence[FixtureResult]) -> Html:
    if not results:
        return Html("")
    parts = [el("h2", f"{title} ", el("small", str(len(results))))]
    if note:
        parts.append(el("p", note, class_="note"))
    open_ = name == "failed" and len(results) <= FEW
    for section, members in by_section(results).items():
        parts.append(el("h3", el("code", one_line(section))))
        parts += [_article(result, open_=open_) for result in members]
    return el("section", *parts, id=name)


def _article(result: FixtureResult, *, open_: bool) -> Html:
    failed = [assertion for assertion in assertions(result) if not assertion.passed]
    first = in_words(failed[0], 160) if failed else "passed"
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    mark = "✗" if failed else "✓"
    summary = joined(
        el("span", f"{mark} ", class_="mark", aria_hidden="true"),
        el("b", one_line(result.test_id)),
        el("span", f" {first}", el("i", more), class_="first"),
    )
    facts = [one_line(result.source, 300), one_line(result.group), duration(result.seconds)]
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
    made = counted(len(result.assertions), "assertion") if result.status != NOT_RUN else ""
    cells = (
        el("td", f"{mark} {result.status}", class_=kind),
        el("td", name, el("span", one_line(result.description, LONGEST))),
        el("td", made),
        el("td", duration(result.seconds) if result.status != NOT_RUN else ""),
    )
    return el("tr", *cells)
