"""The comparison of several runs, on the screen and as JSON."""

from __future__ import annotations

import io

import pytest

from nexus_mcp.conformance.report.compare import Share, compare, document, show
from nexus_mcp.conformance.result import RunResult
from nexus_mcp.conformance.settings import find_prefix
from tests.conformance import runs

A = runs.run(
    runs.passed("add_one", "task_add"),
    runs.passed("add_two", "task_add"),
    runs.not_run("spawn"),
    runs.passed("start"),
    server="one 1",
    target="one --stdio",
)
B = runs.run(
    runs.failed("add_one", "task_add"),
    runs.passed("add_two", "task_add"),
    runs.passed("spawn", "event agent_spawn"),
    runs.passed("start"),
    server="two 2",
    target="two",
)


def printed(*compared_runs: RunResult) -> str:
    file = io.StringIO()
    show(compare(compared_runs), file, width=120)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def test_shares_count_the_fixtures_that_ran() -> None:
    """For each run, every tool, event and group has the number of passed fixtures of those that ran."""
    found = compare([A, B])
    assert found.sections == {
        "plan_start": (Share(1, 1, 0), Share(1, 1, 0)),
        "task_add": (Share(2, 2, 0), Share(1, 2, 0)),
        "event agent_spawn": (Share(0, 0, 1), Share(1, 1, 0)),
    }
    assert found.total == (Share(3, 3, 1), Share(3, 4, 0))
    assert {test_id: [one.status for one in results] for test_id, results in found.different.items()} == {
        "add_one": ["passed", "failed"],
        "spawn": ["not run", "passed"],
    }


def test_screen_shows_table_and_differences() -> None:
    """The screen shows the servers, the table, each difference with its first failed assertion, and the counts."""
    assert (
        printed(A, B)
        == """\
A  one 1  one --stdio
B  two 2  two

fixtures passed     A                  B
plan_start          ✓ 1/1              ✓ 1/1
task_add            ✓ 2/2              ✗ 1/2
event agent_spawn   1 not run          ✓ 1/1
total               ✓ 3/3 +1 not run   ✗ 3/4

2 fixtures on which the targets differ
add_one
  A  passed
  B  failed: answer: $.plan_id must be 1
spawn
  A  not run: needs --event-command
  B  passed

A  3 passed, 0 failed, 1 not run (1 needs --event-command)
B  3 passed, 1 failed"""
    )


def test_json_document_has_the_comparison() -> None:
    """The JSON document has the same content as the screen."""
    assert document(compare([A, B])) == {
        "format": 1,
        "targets": [
            {
                "target": "one --stdio", "server": "one 1", "protocol": "2025-06-18",
                "summary": "3 passed, 0 failed, 1 not run (1 needs --event-command)",
            },
            {"target": "two", "server": "two 2", "protocol": "2025-06-18", "summary": "3 passed, 1 failed"},
        ],
        "sections": {
            "plan_start": [{"passed": 1, "run": 1, "not_run": 0}, {"passed": 1, "run": 1, "not_run": 0}],
            "task_add": [{"passed": 2, "run": 2, "not_run": 0}, {"passed": 1, "run": 2, "not_run": 0}],
            "event agent_spawn": [{"passed": 0, "run": 0, "not_run": 1}, {"passed": 1, "run": 1, "not_run": 0}],
            "total": [{"passed": 3, "run": 3, "not_run": 1}, {"passed": 3, "run": 4, "not_run": 0}],
        },
        "different": {
            "add_one": [
                {"status": "passed", "what": "passed"},
                {"status": "failed", "what": "failed: answer: $.plan_id must be 1"},
            ],
            "spawn": [
                {"status": "not run", "what": "not run: needs --event-command"},
                {"status": "passed", "what": "passed"},
            ],
        },
    }  # fmt: skip


def test_hostile_text_does_not_reach_the_terminal() -> None:
    """No control character of a target reaches the terminal."""
    text = printed(runs.hostile(), runs.run(*(runs.passed(one.test_id) for one in runs.hostile().results)))
    assert [char for char in runs.DANGEROUS if char in text] == []
    assert "[bold]x[/] {y}\\r\\n\\tz" in text


TOOLS = ("plan_start", "plan_status", "task_add", "context")


@pytest.mark.parametrize(
    ("listed", "prefix"),
    [
        (["plan_start", "plan_status", "task_add", "context"], ""),
        (["nx_plan_start", "nx_plan_status", "nx_task_add", "nx_context", "nx_more"], "nx_"),
        (["nx_plan_start", "nx_task_add", "get_context", "context"], "nx_"),
        (["add", "list"], ""),
        ([], ""),
        (["a_context", "context"], ""),
    ],
)
def test_most_frequent_prefix_is_detected(listed: list[str], prefix: str) -> None:
    """The prefix is the one of the most tools; among equals the shortest."""
    assert find_prefix(listed, TOOLS) == prefix
