"""Failures are grouped by cause, on the screen and in every report."""

from __future__ import annotations

import io
import json
import re
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.evidence import NOT_SHOWN
from nexus_mcp.conformance.matchers import mismatch
from nexus_mcp.conformance.report.causes import Cause, causes, general, key_of, title
from nexus_mcp.conformance.report.html import to_html
from nexus_mcp.conformance.report.json_report import to_json
from nexus_mcp.conformance.report.junit import to_junit
from nexus_mcp.conformance.report.terminal import NORMAL, SUMMARY, VERBOSE, Screen, progress_line
from nexus_mcp.conformance.report.texts import note
from nexus_mcp.conformance.result import MISSING, Assertion, Exchange, FixtureResult, RunResult
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.target import stdio
from tests.conformance import runs
from tests.conformance.support import NASTY, act, nasty_fixture


def wrong_id(expected: int, **more: Any) -> Assertion:
    """Return the failed assertion of a server that numbers from 0."""
    message = f"must be {expected}, is {expected - 1}"
    return Assertion("answer", False, message, path="$.task.id", expected=expected, seen=expected - 1, **more)


GONE = Assertion("files", False, "is missing", file=".nexus/.gitignore", seen=MISSING)


def result(test_id: str, *assertions: Assertion, **more: Any) -> FixtureResult:
    return runs.failed(test_id, "task_add", assertions=assertions, **more)


def grouped(*results: FixtureResult) -> list[tuple[str, list[str]]]:
    return [(cause.title, [one.test_id for one in cause.results]) for cause in causes(results)]


NUMBERED = [result(f"id_{n}", wrong_id(n, step=f"step {n}")) for n in range(1, 4)]


def test_numbers_and_steps_make_no_new_cause() -> None:
    """Assertions that differ by numbers and by their step have one cause, with the first fixture as its title."""
    assert grouped(*NUMBERED) == [("answer: $.task.id must be 1, is 0", ["id_1", "id_2", "id_3"])]


def test_largest_cause_comes_first() -> None:
    """Causes come by the number of their fixtures."""
    assert grouped(result("a", GONE), *NUMBERED) == [
        ("answer: $.task.id must be 1, is 0", ["id_1", "id_2", "id_3"]),
        ("files: .nexus/.gitignore: is missing", ["a"]),
    ]


def test_core_comes_before_robustness() -> None:
    """A cause of the core comes before a larger one of robustness; a cause of both is one of the core."""
    robust = [result(f"r{n}", GONE, group="robustness") for n in range(3)]
    assert [cause.group for cause in causes([*robust, NUMBERED[0]])] == ["core", "robustness"]
    (both,) = causes([*robust, result("c", GONE)])
    assert both.group == "core"


def test_fixture_belongs_to_the_cause_that_explains_most() -> None:
    """A fixture that fails in several ways is counted once, where most other fixtures are."""
    assert grouped(result("a", GONE, wrong_id(1)), *NUMBERED) == [
        ("answer: $.task.id must be 1, is 0", ["id_1", "id_2", "id_3", "a"])
    ]


def test_simplest_fixture_is_the_example() -> None:
    """The example is of the lowest level, with the fewest failed assertions and requests."""
    basic = result("z", wrong_id(5), level="basic")
    (cause,) = causes([*NUMBERED, basic])
    assert cause.example is basic


def test_order_of_the_results_does_not_matter() -> None:
    """Causes do not depend on the order in which fixtures ended."""
    every = [*NUMBERED, result("a", GONE), result("b", wrong_id(9), GONE)]
    assert grouped(*every) == grouped(*reversed(every))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"path": "$.a[0].id", "expected": 1, "seen": 0}, {"path": "$.a[7].id", "expected": 8, "seen": 7}, True),
        ({"path": "$.a", "expected": "x y", "seen": "z z"}, {"path": "$.a", "expected": "A b", "seen": "C d"}, True),
        ({"path": "$.a", "expected": "open", "seen": "x y"}, {"path": "$.a", "expected": "done", "seen": "x y"}, False),
        ({"path": "$.a", "expected": 1, "seen": MISSING}, {"path": "$.a", "expected": "b", "seen": MISSING}, True),
        ({"path": "$.a", "expected": 1, "seen": "1"}, {"path": "$.a", "expected": 1, "seen": 2}, False),
        ({"path": "$.a", "expected": True, "seen": False}, {"path": "$.a", "expected": False, "seen": True}, False),
        (
            {"path": "$.a", "expected": [1, 2], "seen": [0, 1]},
            {"path": "$.a", "expected": [3, 4], "seen": [8, 9]},
            True,
        ),
        ({"message": "did not answer in 10 s"}, {"message": "did not answer in 2.5 s"}, False),
        ({"message": "Issue 9 not found"}, {"message": "Issue 12 not found"}, True),
        ({"message": "/tmp/a/b/c/project is no folder"}, {"message": "/tmp/x/y/z/other is no folder"}, True),
        ({"message": "x", "file": "a.json"}, {"message": "x", "file": "b.json"}, False),
        ({"message": "x", "kind": "error"}, {"message": "x"}, False),
        ({"message": 'the call must fail with "a" in its error, but'}, {"message": "the call must fail, but"}, True),
        ({"message": "the target has no tool a"}, {"message": "the target has no tool b"}, True),
        (
            {"path": "$", "expected": {"keys": ["a"]}, "message": "lacks b, has x too; must have exactly the keys a"},
            {"path": "$", "expected": {"keys": ["c"]}, "message": "lacks b, has x too; must have exactly the keys c"},
            True,
        ),
        (
            {"path": "$", "expected": {"keys": ["a"]}, "seen": {"x": 1}, "message": "lacks a, has x too; must …"},
            {"path": "$", "expected": {"keys": ["a"]}, "seen": NOT_SHOWN, "message": "lacks a, has x too; must …"},
            True,
        ),
        (
            {"path": "$", "expected": {"keys": ["a"]}, "message": "has x too; must have exactly the keys a"},
            {"path": "$", "expected": {"keys": ["a"]}, "message": "has y too; must have exactly the keys a"},
            False,
        ),
        (
            {"path": "$", "expected": {"type": "iso8601"}, "seen": "2026-01-02T03:04:05+00:00"},
            {"path": "$", "expected": {"type": "iso8601"}, "seen": "2027-11-12T13:14:15.678+00:00"},
            True,
        ),
    ],
)
def test_numbers_texts_and_times_make_no_new_cause(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    """Numbers, sentences, times and paths of this machine make no new cause; words, types and fields do."""
    keys = [key_of(Assertion(**{"kind": "answer", "passed": False, **more})) for more in (one, other)]
    assert (keys[0] == keys[1]) is same


def test_text_of_a_target_cannot_take_long() -> None:
    """Only the beginning of a text is generalised."""
    assert len(general("a/b" * 1_000_000)) < 10_000


def test_example_shows_where_a_long_text_differs() -> None:
    """The table of an example has the place of the first difference of a long text, which both cut values may lack."""
    expected, seen = "x" * 200 + "\nend\n", "x" * 200 + "\nend"
    one = Assertion("files", False, mismatch(expected, seen), file="a.md", path="text", expected=expected, seen=seen)
    assert note(one) == 'differs from line 2, column 4: must continue with "\\n", continues with nothing'


def test_title_leaves_out_a_long_pattern() -> None:
    """A title shows the value that was seen in place of a long pattern."""
    pattern = {"type": "string", "pattern": "a" * 100}
    assertion = Assertion("answer", False, f'must match "{pattern}", is "b"', path="$.at", expected=pattern, seen="b")
    assert title(assertion) == 'answer: $.at does not match the pattern, is "b"'


def printed(found: RunResult, detail: str) -> str:
    """Return the output about the failures of a run."""
    file = io.StringIO()
    with Screen(len(found.results), file, detail=detail, width=120) as screen:
        for one in found.results:
            screen.show_start(one.test_id)
            screen.show_result(one)
    screen.failures(found)
    screen.last_line(found)
    return file.getvalue()


SENT = (Exchange("step 1", "task_add", {"title": "T"}, {"task": {"id": 0}}),)
CAUSED = runs.run(*(result(f"id_{n}", wrong_id(n, step="step 1"), exchanges=SENT) for n in range(1, 13)), level="full")


def test_screen_shows_one_example_of_each_cause() -> None:
    """A cause has one line at once and one example, with request and answer; the other fixtures are named."""
    assert (
        printed(CAUSED, NORMAL)
        == """\
FAILED   id_1 (0.12 s): answer: step 1, answer: $.task.id must be 1, is 0

12 fixtures: answer: $.task.id must be 1, is 0
    at task_add 12
  ✗ id_1 tools/task_add.json
    The fact that id_1 checks.
    assertion               JSONPath   expected  seen
    answer: step 1, answer  $.task.id  1         0
    sent: task_add {"title": "T"}
    answer: {"task": {"id": 0}}
    also: id_10, id_11, id_12, id_2, id_3, id_4 and 5 more

To see what a fixture sends and expects: nexus-mcp conformance explain FIXTURE
0 passed, 12 failed; level full
"""
    )


def test_summary_has_a_line_for_each_cause() -> None:
    """--summary prints each cause, with the tools, and no example."""
    assert printed(CAUSED, SUMMARY).splitlines() == [
        "",
        "12 fixtures: answer: $.task.id must be 1, is 0",
        "    at task_add 12",
        "",
        "0 passed, 12 failed; level full",
    ]


def test_verbose_shows_every_failure() -> None:
    """--verbose prints every failure at once and in full, below its cause, and every expected failure."""
    more = runs.run(*CAUSED.results, runs.failed("known", expected="issue 12"))
    lines = printed(more, VERBOSE).splitlines()
    assert len([line for line in lines if line.startswith("FAILED   id_")]) == 12
    assert len([line for line in lines if line.startswith("  ✗ id_")]) == 12
    assert "expected failure: known: issue 12" in lines


def test_later_causes_have_a_line_each() -> None:
    """Beyond ten causes only the first ten have an example."""
    every = [result(f"f{n:02}", Assertion("answer", False, "must be", path=f"$.{chr(97 + n)}")) for n in range(14)]
    text = printed(runs.run(*every), NORMAL)
    assert text.count("\n  ✗ ") == 10
    assert text.count("1 fixture: answer: $.") == 14


def test_fixtures_that_are_not_run_take_no_time() -> None:
    """The time left is that of the fixtures that ran: others end at once, before them."""
    counts = {"passed": 10, "failed": 0, "not run": 80}
    assert progress_line(counts, 100, 100.0) == "90 of 100 fixtures, 0 failed, about 2 min left"


@pytest.mark.parametrize(
    ("passed", "failed", "seconds", "line"),
    [
        (0, 0, 60.0, "0 of 100 fixtures, 0 failed"),
        (20, 5, 60.0, "25 of 100 fixtures, 5 failed, about 3 min left"),
        (90, 0, 90.0, "90 of 100 fixtures, 0 failed, about 10 s left"),
        (100, 0, 90.0, "100 of 100 fixtures, 0 failed"),
    ],
)
def test_progress_in_words(passed: int, failed: int, seconds: float, line: str) -> None:
    """The progress is told as fixtures that ended, failures, and the time left at the same speed."""
    assert progress_line({"passed": passed, "failed": failed, "not run": 0}, 100, seconds) == line


def test_pipe_gets_lines_about_the_progress() -> None:
    """Where the output is no terminal a line comes at each interval, and none after the run."""
    file = io.StringIO()
    with Screen(2, file, terminal=False, interval_s=0.01):
        deadline = time.monotonic() + 20
        while file.getvalue().count("0 of 2 fixtures") < 2 and time.monotonic() < deadline:
            pass
    text = file.getvalue()
    assert text.count("0 of 2 fixtures, 0 failed\n") >= 2
    assert file.getvalue() == text


def test_terminal_has_a_bar_and_no_lines() -> None:
    """A terminal shows the time left in its bar."""
    file = io.StringIO()
    with Screen(2, file, terminal=True, interval_s=0.001) as screen:
        screen.show_result(runs.passed("a"))
    assert "of 2 fixtures" not in file.getvalue()
    assert re.search(r"-:--:--|0:00:0", file.getvalue())


def test_result_json_has_the_causes() -> None:
    """result.json has each cause with its assertion, tools and fixtures."""
    (cause,) = json.loads(to_json(CAUSED))["causes"]
    assert (cause["title"], cause["group"], cause["path"], cause["tools"]) == (
        "answer: $.task.id must be 1, is 0",
        "core",
        "$.task.id",
        {"task_add": 12},
    )
    assert cause["fixtures"][:2] == ["id_1", "id_10"]


def test_junit_has_one_story_for_a_cause() -> None:
    """In JUnit the cause is the type of a failure; only the example has the requests, and the others name it."""
    failures = list(ET.fromstring(to_junit(CAUSED)).iter("failure"))
    assert {failure.get("type") for failure in failures} == {"answer: $.task.id must be 1, is 0"}
    assert len([failure for failure in failures if "The same cause as id_1," in (failure.text or "")]) == 11


def evidence(number: int) -> FixtureResult:
    """Return a failure with the evidence of a long scenario."""
    exchanges = tuple(Exchange(f"step {n}", "task_add", {"title": "T" * 80}, {"task": "x" * 300}) for n in range(20))
    every = [
        Assertion("answer", True, step=f"step {n}", path=f"$.task.field_{n}", expected="x" * 40) for n in range(40)
    ]
    failed = [wrong_id(n, step=f"step {n}") for n in range(1, 9)]
    files = {f".nexus/state/{name}.json": "{}\n" * 500 for name in ("plan", "tasks")}
    return result(f"a_fixture_with_a_long_name_{number}", *every, *failed, exchanges=exchanges, files=files)


def test_page_of_many_failures_is_small() -> None:
    """The page of 120 failures among 740 fixtures has under 300 KB, and an anchor for each of them."""
    others = [runs.passed(f"a_fixture_that_passes_{n}", description="A fact in words. " * 6) for n in range(620)]
    page = to_html(runs.run(*map(evidence, range(120)), *others))
    assert len(page.encode()) < 300_000
    assert page.count('id="f-a_fixture_with_a_long_name_') == 120


def test_page_of_many_causes_is_small() -> None:
    """The examples in full have a bound: 120 failures with a cause each make no larger page."""
    every = [
        FixtureResult(
            **{**vars(evidence(n)), "assertions": (Assertion("answer", False, "x", path=f"$.{'a' * (n + 1)}"),)}
        )
        for n in range(120)
    ]
    assert len(to_html(runs.run(*every)).encode()) < 300_000


def test_run_stops_after_the_failures_that_are_allowed(tmp_path: Path) -> None:
    """With max_failures the fixtures after that number of failures are not run; expected failures do not count."""
    fixtures = [nasty_fixture(act("refuse"), test_id=f"f{n}") for n in range(5)]
    found = run(fixtures, stdio(NASTY), jobs=1, max_failures=2, is_expected=lambda test_id: test_id == "f0")
    assert [one.status for one in found.results] == ["failed", "failed", "failed", "not run", "not run"]
    assert {one.reason for one in found.results[3:]} == {"stopped after 2 failures"}


def test_failures_beyond_the_limit_do_not_count() -> None:
    """Fixtures that ran at the same time as the last failure that counts are reported as not run."""
    fixtures = [nasty_fixture(act("refuse"), test_id=f"f{n}") for n in range(6)]
    found = run(fixtures, stdio(NASTY), jobs=4, max_failures=1)
    assert len(found.having("failed")) == 1
    assert len(found.having("not run")) == 5


def test_cause_without_an_assertion() -> None:
    """A failure without a failed assertion is grouped by its reason."""
    (cause,) = causes([runs.failed("a", assertions=(), reason="no answer in 10 s")])
    assert isinstance(cause, Cause)
    assert cause.title == "process: no answer in 10 s"


def test_tools_listed_wrongly_in_one_way_have_one_cause() -> None:
    """The same fault in the list of several tools is one cause."""
    every = [
        runs.failed(
            f"listed_{tool}",
            tool,
            exchanges=(Exchange("step 1", "list_tools", {}, {}),),
            assertions=(Assertion("answer", False, path=f"$.{tool}.annotations.openWorldHint", step="step 1"),),
        )
        for tool in ("task_add", "task_list")
    ]
    (cause,) = causes(every)
    assert (cause.title, cause.tools) == (
        "answer: $.task_add.annotations.openWorldHint must be null",
        {"task_add": 1, "task_list": 1},
    )


def test_each_fixture_counts_for_the_tool_of_its_own_assertion() -> None:
    """The step of the failed assertion differs from fixture to fixture, and so does its tool."""
    tools = ("task_add", "task_list")
    exchanges = tuple(Exchange(f"step {number}", tool) for number, tool in enumerate(tools, 1))
    every = [
        result(f"id_{number}", wrong_id(1, step=f"step {number}"), tools=tools, exchanges=exchanges)
        for number in (1, 2)
    ]
    (cause,) = causes(every)
    assert cause.tools == {"task_add": 1, "task_list": 1}
