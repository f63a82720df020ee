"""result.json and its schema, badge.json."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from nexus_mcp import schemas
from nexus_mcp.conformance.authoring.contract import rules
from nexus_mcp.conformance.report.json_report import to_badge, to_json
from nexus_mcp.conformance.result import CHECKS, FAILED, NOT_RUN, PASSED, RunResult
from tests.conformance import runs

SCHEMA = schemas.load("conformance/result")
VALIDATOR = Draft202012Validator(SCHEMA)
RESULT = SCHEMA["properties"]["results"]["items"]["properties"]


def value(run: RunResult) -> Any:
    return json.loads(to_json(run))


@pytest.mark.parametrize(
    "run", [runs.GOOD, runs.MIXED, runs.hostile(), runs.run()], ids=["good", "mixed", "bad", "none"]
)
def test_report_keeps_its_schema(run: RunResult) -> None:
    """Every report is valid against its schema, by the reference validator and by our own evaluator."""
    assert [error.message for error in VALIDATOR.iter_errors(value(run))] == []
    assert schemas.faults(SCHEMA, value(run)) == []


def test_schema_knows_the_words() -> None:
    """The schema has exactly the kinds of checks and the statuses of results."""
    assert RESULT["assertions"]["items"]["properties"]["kind"]["enum"] == list(CHECKS)
    assert RESULT["status"]["enum"] == [PASSED, FAILED, NOT_RUN]


@pytest.mark.parametrize(
    ("pointer", "put"),
    [
        ("/format", 2),
        ("/good", "yes"),
        ("/totals/passed", -1),
        ("/totals/other", 0),
        ("/results/1/status", "skipped"),
        ("/results/1/test_id", "Upper"),
        ("/results/1/assertions/0/kind", "taste"),
        ("/results/1/assertions/0/other", 1),
        ("/results/1/exchanges/0/params", []),
        ("/results/1/files", {"a": 1}),
        ("/extra", None),
    ],
)
def test_schema_refuses_a_wrong_result(pointer: str, put: Any) -> None:
    """A result that is wrong in one place does not keep the schema."""
    broken = copy.deepcopy(value(runs.MIXED))
    *parents, name = pointer.split("/")[1:]
    at: Any = broken
    for step in parents:
        at = at[int(step)] if isinstance(at, list) else at[step]
    at[name] = put
    assert not VALIDATOR.is_valid(broken)
    assert schemas.faults(SCHEMA, broken)


@pytest.mark.parametrize("name", SCHEMA["required"])
def test_schema_requires_every_field(name: str) -> None:
    """No field may be left out."""
    assert not VALIDATOR.is_valid({key: member for key, member in value(runs.MIXED).items() if key != name})


def test_order_of_completion_does_not_matter() -> None:
    """The report does not depend on the order in which fixtures ended."""
    assert to_json(runs.run(*reversed(runs.MIXED.results))) == to_json(runs.MIXED)


def test_totals_count_each_fixture_once() -> None:
    """Each fixture is in one of the totals."""
    whole = value(runs.MIXED)
    assert whole["totals"] == {"passed": 2, "failed": 2, "not_run": 3, "expected_failures": 1, "healed": 1}
    assert sum(whole["totals"].values()) == len(whole["results"])
    assert whole["good"] is False


def test_result_names_the_rules_of_its_fixture() -> None:
    """Each result has the ids of the rules that its fixture judges, so that failures can be counted by rule."""
    known, unknown = value(runs.run(runs.failed("task_add_starts_numbering_at_1"), runs.failed("z_own")))["results"]
    assert known["rules"] == [rule.id for rule in rules() if rule.is_judged_by("task_add_starts_numbering_at_1")]
    assert "task_add.1" in known["rules"]
    assert unknown["rules"] == []


def test_missing_value_differs_from_null() -> None:
    """A missing value differs from null, and an assertion that read no value has none."""
    (result,) = value(runs.run(runs.failed("one")))["results"]
    assert result["assertions"][2:] == [
        {
            "kind": "answer", "passed": False, "message": "", "step": "", "file": "", "path": "$.plan_id",
            "expected": 1, "missing": False, "seen": 2,
        },
        {
            "kind": "files", "passed": False, "message": "", "step": "", "file": ".nexus/state/plan.json",
            "path": "$.issues[0].title", "expected": "A", "missing": True, "parent": "$",
        },
        {
            "kind": "shape", "passed": False, "message": "unexpected member extra", "step": "", "file": "", "path": "$",
            "expected": {"keys": ["created", "plan_id"]}, "missing": False,
            "seen": {"created": True, "plan_id": 2, "extra": None},
        },
        {
            "kind": "unchanged", "passed": False, "message": "was rewritten", "step": "step 1",
            "file": ".nexus/history.json", "path": "",
        },
    ]  # fmt: skip


def test_hostile_text_is_escaped_without_loss() -> None:
    """No character of the text acts on a terminal, and none is lost."""
    text = to_json(runs.hostile())
    assert [char for char in runs.DANGEROUS if char in text] == []
    assert json.loads(text.encode())["server"] == runs.HOSTILE
    assert len(value(runs.hostile())["results"][3]["stderr"]) > 1_000_000


@pytest.mark.parametrize(
    ("run", "message", "color"),
    [
        (runs.GOOD, "2/2 passed", "brightgreen"),
        (runs.MIXED, "3/6 passed, 3 not run", "red"),
        (runs.run(runs.passed("a"), runs.not_run("b")), "1/1 passed, 1 not run", "green"),
        (runs.run(runs.passed("a"), runs.failed("b", expected="known")), "1/2 passed", "yellow"),
        (runs.run(runs.passed("a", expected="known")), "1/1 passed", "red"),
        (runs.run(runs.not_run("b")), "0/0 passed, 1 not run", "lightgrey"),
    ],
    ids=["all", "mixed", "not all run", "known failures", "healed", "none run"],
)
def test_badge_is_green_only_without_failures(run: RunResult, message: str, color: str) -> None:
    """A badge shows how many of the run fixtures passed; it is bright green only if none failed."""
    badge = {"schemaVersion": 1, "label": "nexus conformance", "message": message, "color": color}
    assert json.loads(to_badge(run)) == badge
