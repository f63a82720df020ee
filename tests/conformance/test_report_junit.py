"""junit.xml and its counts."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from nexus_mcp.conformance.report.junit import to_junit
from nexus_mcp.conformance.result import RunResult
from tests.conformance import runs


@pytest.mark.parametrize("run", [runs.GOOD, runs.MIXED, runs.run()], ids=["good", "mixed", "none"])
def test_counts_match_the_cases(run: RunResult) -> None:
    """The counts of the document and of each suite equal the numbers of their cases."""
    root = ET.fromstring(to_junit(run))
    for suite in (root, *root):
        cases = list(suite.iter("testcase"))
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == len([case for case in cases if case.find("failure") is not None])
        assert int(suite.attrib["skipped"]) == len([case for case in cases if case.find("skipped") is not None])
        assert suite.attrib["errors"] == "0"
    assert int(root.attrib["tests"]) == len(run.results)
    assert (int(root.attrib["failures"]) == 0) is run.good


def test_fixtures_are_grouped_by_tool_or_event() -> None:
    """Fixtures are in the suite of their tool or event; fixtures with several tools, and the robustness group, have
    their own suites.
    """
    root = ET.fromstring(to_junit(runs.MIXED))
    assert {suite.attrib["name"]: [case.attrib["name"] for case in suite] for suite in root} == {
        "plan_start": ["plan_start_basic"],
        "task_add": ["restart_keeps", "task_add_healed", "task_add_ids", "task_add_known"],
        "event agent_spawn": ["spawn_one", "spawn_two"],
        "scenarios": ["whole_cycle"],
        "robustness": ["killed"],
    }


def test_outcomes_are_failure_skip_or_pass() -> None:
    """A failure has its first assertion; fixtures that were not run, and expected failures, are skipped with the
    reason.
    """
    root = ET.fromstring(to_junit(runs.MIXED))
    messages = {
        case.attrib["name"]: (child.tag, child.attrib["message"]) for case in root.iter("testcase") for child in case
    }
    assert messages == {
        "restart_keeps": ("skipped", "not run: needs a process"),
        "task_add_healed": ("failure", "passed, but the expected failures name it: remove the entry"),
        "task_add_ids": ("failure", "answer: $.plan_id must be 1 (and 3 more)"),
        "task_add_known": ("skipped", "expected failure: numbers from 0, issue 12"),
        "spawn_one": ("skipped", "not run: needs --event-command"),
        "spawn_two": ("skipped", "not run: needs --event-command"),
        "killed": ("failure", "process: no answer in 10 s"),
    }


def test_failure_text_has_fact_and_evidence() -> None:
    """The text of a failure has the fact, the assertions, the requests and responses, the files and stderr."""
    failure = ET.fromstring(to_junit(runs.run(runs.failed("one")))).find(".//failure")
    assert failure is not None
    assert failure.text == "\n".join(
        (
            "The fact that one checks.",
            "",
            "- answer: $.plan_id must be 1",
            '- files: .nexus/state/plan.json: $.issues[0].title must be "A"; nearest parent $',
            "- shape: answer: $ unexpected member extra",
            "- unchanged: step 1, .nexus/history.json: was rewritten",
            "",
            'step 1 plan_start {\n  "topic": "T"\n}',
            'answer: {\n  "created": true\n}',
            "",
            ".nexus/.gitignore:",
            "state/\n",
            "",
            ".nexus/state/plan.json:",
            '{\n  "id": 2\n}\n',
            "",
            "stderr:",
            "a warning\nand another\n",
        )
    )


def test_hostile_text_leaves_xml_well_formed() -> None:
    """The XML is well-formed for any text of the target, has only characters of XML 1.0, and shows the replaced ones as
    escapes.
    """
    text = to_junit(runs.hostile())
    root = ET.fromstring(text.encode())
    assert re.search("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text) is None
    assert [char for char in runs.DANGEROUS if char in text] == []
    assert "<script>alert(1)</script>]]> & \"'\\u0000\\u001b[31m\\u009b\\u202edesrever" in root.attrib["name"]
    assert len(text) < 200_000
