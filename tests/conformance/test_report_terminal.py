"""The output of a run, on a terminal and elsewhere."""

from __future__ import annotations

import io
import re

import pytest
from rich.table import Table
from rich.text import Text

from nexus_mcp.conformance.report.html import to_html
from nexus_mcp.conformance.report.junit import to_junit
from nexus_mcp.conformance.report.matrix import last_line
from nexus_mcp.conformance.report.terminal import Screen, make_console
from nexus_mcp.conformance.result import Assertion, RunResult
from tests.conformance import runs


def printed(run: RunResult, *, terminal: bool = False, width: int | None = 120) -> str:
    """Return the output of a run, without blanks at the ends of lines."""
    file = io.StringIO()
    screen = Screen(len(run.results), file, terminal=terminal, width=width)
    with screen:
        for result in run.results:
            screen.show_start(result.test_id)
            screen.show_result(result)
    screen.failures(run)
    screen.last_line(run)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def test_plain_output_lists_causes_then_counts() -> None:
    """Without a terminal there is a line for each new cause, then an example of each, and the counts."""
    assert (
        printed(runs.MIXED)
        == """\
FAILED   task_add_ids (0.12 s): answer: $.plan_id must be 1
PASSED   task_add_healed (0.12 s), expected to fail
FAILED   killed (0.12 s): process: no answer in 10 s

1 fixture: answer: $.plan_id must be 1
    at task_add 1
  ✗ task_add_ids tools/task_add.json
    The fact that task_add_ids checks.
    assertion                      JSONPath           expected                         seen
    answer                         $.plan_id          1                                2
    files: .nexus/state/plan.json  $.issues[0].title  "A"                              missing; nearest parent $
    shape: answer                  $                  {"keys": ["created",             {"created": true, "plan_id": 2,
                                                      "plan_id"]}                      "extra": null}
                                                                                       unexpected member extra
    unchanged: step 1, .nexus/history.json: was rewritten
    sent: task_add {"topic": "T"}
    answer: {"created": true}

1 fixture: robustness: process: no answer in 10 s
    at task_close 1
  ✗ killed tools/task_close.json
    The fact that killed checks.
    process: no answer in 10 s
    the end of its stderr:
      a warning
      and another
    sent: task_close {"topic": "T"}
    answer: {"created": true}

task_add_healed passed, but is expected to fail (was slow once): remove the entry

To see what a fixture sends and expects: nexus-mcp conformance explain FIXTURE
2 passed, 2 failed, 3 not run (2 need --event-command, 1 needs a process), 1 expected failure, \
1 expected to fail but passed"""
    )


def test_expected_failures_that_pass_are_listed_once_by_reason() -> None:
    """Entries to remove are listed by id below their reason, and the run has one line for each reason."""
    healed = [runs.passed(f"task_add_{name}", "task_add", expected=reason) for name, reason in ("ax", "bx", "cy")]
    assert (
        printed(runs.run(*healed))
        == """\
PASSED   task_add_a (0.12 s), expected to fail
PASSED   task_add_c (0.12 s), expected to fail

2 fixtures passed, but are expected to fail (x): remove the entries
  task_add_a
  task_add_b
task_add_c passed, but is expected to fail (y): remove the entry

0 passed, 0 failed, 3 expected to fail but passed"""
    )


def test_cause_of_an_expected_failure_is_new_for_another_fixture() -> None:
    """The report shows a new failure at once, even if an expected failure has the same cause."""
    known, found = (runs.failed(f"task_add_{name}", "task_add", expected=reason) for name, reason in ("ax", ("b", "")))
    assert printed(runs.run(known, found)).startswith("FAILED   task_add_b (0.12 s): ")


def test_terminal_shows_a_bar_and_failures() -> None:
    """On a terminal there is a progress bar; only fixtures that fail the run have a line."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed(runs.MIXED, terminal=True))
    assert "━" in text
    assert "FAILED   task_add_ids (0.12 s): answer: $.plan_id must be 1" in text
    assert "passed   plan_start_basic" not in text
    assert text.endswith("1 expected failure, 1 expected to fail but passed")


@pytest.mark.parametrize("terminal", [False, True])
def test_hostile_text_is_no_markup(terminal: bool) -> None:
    """Text of a target is neither a control sequence nor markup, and long values are truncated."""
    text = printed(runs.hostile(), terminal=terminal)
    # rich itself sends colours, and moves of the cursor for the bar.
    own = re.sub(r"\x1b\[[0-9;?]*[mAKhl]", "", text).replace("\r", "") if terminal else text
    assert [char for char in runs.DANGEROUS if char in own] == []
    assert "[bold]x[/] {y}\\r\\n\\tz" in own
    assert len(own) < 50_000


def test_failure_names_the_rules_of_the_contract() -> None:
    """A failed fixture of the suite has the ids of its rules, in each report; one of another suite has none."""
    failed = (Assertion("answer", passed=False, path="$.task.id", expected=1, seen=0),)
    known = runs.run(runs.failed("task_add_starts_numbering_at_1", assertions=failed))
    other = runs.run(runs.failed("of_another_suite", assertions=failed))
    for report in (printed, to_junit, to_html):
        assert "rules: files.6, task_add.1" in report(known)
        assert "rules: " not in report(other)


def test_first_failures_of_many_are_shown() -> None:
    """Of a fixture with very many failures the first are shown and the others counted."""
    many = tuple(Assertion("answer", passed=False, path=f"$.a{n}", expected=n, seen=0) for n in range(1, 21))
    text = printed(runs.run(runs.failed("one", assertions=many)))
    assert "$.a8 " in text
    assert "$.a9 " not in text
    assert "… and 12 more" in text


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (runs.GOOD, "2 passed, 0 failed"),
        (runs.run(), "0 passed, 0 failed"),
        (runs.run(runs.not_run("a")), "0 passed, 0 failed, 1 not run (1 needs --event-command)"),
        (
            runs.run(runs.not_run("a", "other"), runs.not_run("b", "x"), runs.not_run("c", "x")),
            "0 passed, 0 failed, 3 not run (2: x, 1: other)",
        ),
        (
            runs.run(runs.failed("a", expected="x"), runs.failed("b", expected="y")),
            "0 passed, 0 failed, 2 expected failures",
        ),
    ],
)
def test_last_line_has_all_counts(run: RunResult, line: str) -> None:
    """The last line has all counts; counts of zero are omitted, except passes and failures."""
    assert last_line(run) == line


@pytest.mark.parametrize("columns", ["0", "000", ""])
def test_width_zero_shows_no_bar(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    """A width of zero counts as unknown: the run is shown as without a terminal."""
    monkeypatch.setenv("COLUMNS", columns)
    file = io.StringIO()
    make_console(file).print("x" * 150)
    assert file.getvalue() == f"{'x' * 120}\n{'x' * 30}\n"


def test_no_line_ends_with_blanks_in_a_pipe() -> None:
    """A table is padded only on a terminal."""
    table = Table("name", "count")
    table.add_row("a longer one", "1")
    piped, shown = io.StringIO(), io.StringIO()
    make_console(piped, width=60).print(table, Text("text   "), "")
    make_console(shown, terminal=True, width=60).print(table)
    assert [line for line in piped.getvalue().split("\n") if line != line.rstrip()] == []
    assert "a longer one" in piped.getvalue()
    assert "a longer one" in shown.getvalue()
