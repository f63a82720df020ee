"""report.html, parsed as a browser parses it."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from nexus_mcp.conformance.report.html import to_html
from nexus_mcp.conformance.result import CHECKS, Assertion, Exchange, RunResult
from tests.conformance import runs

VOID = {"meta", "br"}
KNOWN = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "nav", "section", "article", "div", "span", "p",
    "a", "b", "i", "small", "code", "pre", "h1", "h2", "h3", "h4", "ul", "li", "dl", "dt", "dd", "time", "svg", "rect",
    "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "figure", "figcaption",
}  # fmt: skip
RUNS = pytest.mark.parametrize(
    "run", [runs.GOOD, runs.MIXED, runs.hostile(), runs.run()], ids=["good", "mixed", "hostile", "none"]
)


class Page(HTMLParser):
    """The page's elements in order, its text, and whether every element is closed by its own end."""

    def __init__(self, run: RunResult) -> None:
        super().__init__(convert_charrefs=True)
        self.source = to_html(run)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(self.source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def every(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def rows(self) -> list[list[str]]:
        """Return the cells of the matrix as text."""
        table = self.source.partition('class="matrix">')[2].partition("</table>")[0]
        return [
            [re.sub("<[^>]*>", "", cell).strip() for cell in re.findall("<t[hd].*?</t[hd]>", row)]
            for row in table.split("</tr>")[:-1]
        ]


@RUNS
def test_target_cannot_add_elements_or_attributes(run: RunResult) -> None:
    """Text of a target never becomes an element or an attribute: no script, handler, style or address."""
    page = Page(run)
    assert {tag for tag, _ in page.elements} - KNOWN == set()
    names = {name for _, attributes in page.elements for name in attributes}
    assert {name for name in names if name.startswith("on")} | (names & {"style", "src", "srcset", "action"}) == set()
    assert {link["href"][0] for link in page.every("a")} <= {"#"}


@RUNS
def test_page_loads_no_other_resource(run: RunResult) -> None:
    """The page refers to no other resource, and its policy allows only its own style."""
    page = Page(run)
    assert re.findall(r"url\(|@import|https?://|<link", page.source) == []
    style = page.source.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policies = [meta["content"] for meta in page.every("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policies == [f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"]


@RUNS
def test_every_link_has_its_element(run: RunResult) -> None:
    """Every link has its target on the page, and no id is repeated."""
    page = Page(run)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert sorted(ids) == sorted(set(ids))
    assert {link["href"].removeprefix("#") for link in page.every("a")} - set(ids) == set()


def test_matrix_cell_counts_assertions() -> None:
    """A cell has the number of passed assertions, with a mark; a failed one links to the fixture."""
    page = Page(runs.MIXED)
    assert page.rows() == [
        ["Tool", "fixtures", *CHECKS],
        ["plan_start", "✓ 2/2", "✓ 2/2", "–", "–", "✓ 2/2", "–", "–", "–"],
        ["task_add", "✗ 1/3 +1 not run", "✗ 3/5", "✗ 0/2", "–", "✗ 3/5", "✗ 0/2", "–", "–"],
        ["task_close", "✗ 1/2", "–", "–", "–", "–", "–", "–", "✗ 0/1"],
        ["event agent_spawn", "2 not run", "–", "–", "–", "–", "–", "–", "–"],
    ]
    assert page.source.count('<td class="fail"><a href="#f-task_add_ids" title="task_add_ids, task_add_known">') == 5


def test_matrix_names_the_faulty_tool() -> None:
    """A fixture of several tools fails in the row of the tool at which it fails; the other rows mention it."""
    both: dict[str, Any] = {
        "tools": ("task_add", "plan_decide"),
        "exchanges": (Exchange("step 1", "task_add", {}, {}), Exchange("step 2", "plan_decide", {}, {})),
    }
    wrong = (
        Assertion("answer", passed=False, step="step 1", path="$.task.id", expected=1, seen=0),
        Assertion("answer", passed=True, step="step 2", path="$.decided", expected=True, seen=True),
    )
    alone = runs.failed("one", assertions=wrong, **both)
    rows = {name: cells for name, *cells in Page(runs.run(alone)).rows()}
    assert rows["task_add"][:2] == ["✗ 0/1", "✗ 0/1"]
    assert rows["plan_decide"][:2] == ["1 failing at another tool", "✓ 1/1"]
    beside = runs.passed("two", "plan_decide")
    rows = {name: cells for name, *cells in Page(runs.run(alone, beside)).rows()}
    assert rows["plan_decide"][0] == "✓ 1/1 +1 failing at another tool"


def test_failure_shows_every_assertion_with_evidence() -> None:
    """A failure shows every assertion, with the nearest parent, the requests and responses, the files and stderr."""
    text = "|".join(Page(runs.run(runs.failed("one"))).text)
    for part in (
        "The fact that one checks.",
        "answer|answer|$.plan_id|1|2|",
        'files|.nexus/state/plan.json|$.issues[0].title|"A"|missing|; nearest parent |$|',
        "|unexpected member extra|",
        "unchanged|step 1, .nexus/history.json|was rewritten|",
        'Request|{\n  "topic": "T"\n}|Answer|{\n  "created": true\n}|',
        '.nexus/state/plan.json|{\n  "id": 2\n}\n|',
        "a warning\nand another\n",
        "|2 assertions that hold|",
    ):
        assert part in text


def test_sections_separate_the_outcomes() -> None:
    """Failures, unexpected passes, expected failures and fixtures that were not run have separate sections."""
    page = Page(runs.MIXED)
    assert [section["id"] for section in page.every("section")] == [
        "matrix", "failed", "healed", "expected", "not-run", "fixtures",
    ]  # fmt: skip
    assert [article["id"] for article in page.every("article")] == [
        "f-task_add_ids", "f-killed", "f-task_add_healed", "f-task_add_known",
    ]  # fmt: skip
    text = "".join(page.text)
    assert "needs --event-command 2 fixtures" in text
    assert "needs a process 1 fixture" in text


def test_good_page_has_no_failures() -> None:
    """The page of a run without failures lists none, and its title says that all passed."""
    page = Page(runs.GOOD)
    assert page.every("article") == []
    assert "".join(page.text).startswith("\n" + "Passed: conformance of example 1.2.3")


def test_hostile_text_is_escaped_and_truncated() -> None:
    """Control, bidirectional and zero-width characters are shown as escapes, and megabytes are cut."""
    page = Page(runs.hostile())
    assert [char for char in runs.DANGEROUS if char in page.source] == []
    assert "<script>alert(1)</script>]]> & \"'\\u0000\\u001b[31m\\u009b\\u202edesrever" in "".join(page.text)
    assert len(page.source) < 300_000
