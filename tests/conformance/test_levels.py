"""Levels, servers with some of the tools only, and the list of tools as a step."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.client.connection import HINTS, normalized_tool
from nexus_mcp.conformance.fixture import BASIC, FULL, LEVELS, ROBUST, Fixture
from nexus_mcp.conformance.lint import lint
from nexus_mcp.conformance.report.html import to_html
from nexus_mcp.conformance.report.json_report import to_badge, to_json
from nexus_mcp.conformance.report.junit import to_junit
from nexus_mcp.conformance.report.matrix import last_line, missing_tools_note
from nexus_mcp.conformance.report.terminal import Screen
from nexus_mcp.conformance.result import FixtureResult, RunResult
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions, select
from nexus_mcp.conformance.target import in_memory, stdio
from nexus_mcp.errors import HarnessFault
from tests.conformance import runs
from tests.conformance.servers import partial
from tests.conformance.suite import packaged
from tests.conformance.support import made, nasty_fixture
from tests.contract.parameters import CONTRACT

PARTIAL = (sys.executable, str(Path(partial.__file__)))
SUITE = packaged()
BASIC_FIXTURES = select(SUITE, level=BASIC)
ADD = {"action": {"tool": "task_add", "params": {"title": "T", "context": "C"}}}
LOOK: dict[str, Any] = {
    "list_tools": ["task_add"],
    "assert_return": {
        "$": {"keys": ["task_add"]},
        "$.task_add.inputSchema.required": ["context", "title"],
        "$.task_add.annotations.destructiveHint": False,
        "$.task_add.annotations.openWorldHint": True,
    },
}


def judged(*fixtures: Fixture, **options: Any) -> RunResult:
    """Run fixtures against the server that has two tools, in memory: a start of the SDK takes a second."""
    return run(fixtures, in_memory(partial.server_of, TargetOptions(**options)), jobs=1)


def partial_run() -> RunResult:
    """Return a run at level basic of a server without task_close and plan_start."""
    missing = [
        runs.not_run("a", "needs tools that the server lacks", "task_close"),
        runs.not_run("b", "needs tools that the server lacks", "plan_start"),
    ]
    results = [FixtureResult(**{**vars(one), "missing_tools": one.tools}) for one in missing]
    return runs.run(runs.passed("c"), *results, level=BASIC, other_tools=("closeTask",))


def test_basic_is_small_and_needs_a_server_alone() -> None:
    """Level basic has under 80 fixtures, none of which needs an event command, a process or a fixture of robustness."""
    assert 60 <= len(BASIC_FIXTURES) < 80
    assert not [one.test_id for one in BASIC_FIXTURES if one.needs_events or one.needs_process or one.group != "core"]


@pytest.mark.parametrize("tool", CONTRACT)
def test_basic_judges_every_tool(tool: str) -> None:
    """Level basic looks at the parameters of each tool, and calls it in three fixtures or more."""
    own = [one for one in BASIC_FIXTURES if one.called_tools == (tool,)]
    assert f"list_tools_names_the_parameters_of_{tool}" in [one.test_id for one in own]
    assert len(own) > 3


def test_each_level_has_the_fixtures_of_the_one_before() -> None:
    """Full adds the rest of the core to basic, and robust everything else."""
    ids = [{one.test_id for one in select(SUITE, level=level)} for level in LEVELS]
    assert ids[0] < ids[1] < ids[2] == {one.test_id for one in SUITE}
    assert {one.group for one in SUITE if one.test_id in ids[2] - ids[1]} == {"robustness"}


@pytest.mark.parametrize(
    ("more", "level"), [({}, FULL), ({"group": "robustness"}, ROBUST), ({"level": "basic"}, BASIC)]
)
def test_level_of_a_fixture_that_names_none(more: dict[str, str], level: str) -> None:
    """A fixture is of level full, or robust when its group is; it may name its level."""
    assert made(ADD, **more).level == level


def test_level_without_a_fixture_is_refused() -> None:
    """A selection that has no fixture of the level says so."""
    with pytest.raises(HarnessFault, match=r"No fixture matches --only made and has the level basic\."):
        select([made(ADD)], ["made"], level=BASIC)


def test_missing_tools_are_not_judged() -> None:
    """Fixtures of tools that the server lacks are not run, and the result names the tools; the others are judged."""
    close = made({"action": {"tool": "task_close"}}, test_id="close")
    both = made(ADD, {"action": {"tool": "plan_status"}}, {"action": {"tool": "task_close"}}, test_id="both")
    number = {"postcondition": {"return_value": {"$.task.id": 1}}}
    found = judged(close, both, made(ADD, test_id="add", **number))
    assert [(one.status, one.missing_tools) for one in found.results] == [
        ("not run", ("task_close",)),
        ("not run", ("plan_status", "task_close")),
        ("failed", ()),
    ]
    assert (found.missing_tools, found.other_tools) == (("plan_status", "task_close"), ("removeTask",))
    assert last_line(found) == "0 passed, 1 failed, 2 not run (2 need tools that the server lacks)"


def test_fixtures_of_missing_tools_end_first() -> None:
    """Fixtures that are not run are reported before the first one runs, so that the time left can be told."""
    close = made({"action": {"tool": "task_close"}}, test_id="close")
    ended: list[str] = []
    run([made(ADD), close], in_memory(partial.server_of), jobs=1, on_result=lambda result: ended.append(result.test_id))
    assert ended == ["close", "made"]


def test_required_tools_fail() -> None:
    """With require_all_tools a fixture fails when the server, here a process, lacks its tool."""
    close = made({"action": {"tool": "task_close"}}, test_id="close")
    options = TargetOptions(require_all_tools=True)
    (result,) = run((close, made(ADD, test_id="add")), stdio(PARTIAL, options), jobs=1).results[:1]
    assert (result.status, [one.message for one in result.failures]) == (
        "failed",
        ["the target has no tool task_close"],
    )


def test_run_without_missing_tools_has_no_note() -> None:
    """A server that has all the tools gets no note about tools, whatever else it lists."""
    assert missing_tools_note(runs.run(runs.passed("a"), other_tools=("more",))) == ""


def test_every_report_has_the_level_and_the_missing_tools() -> None:
    """Level and missing tools are on the screen and in every report, each tool once."""
    found = partial_run()
    screen = io.StringIO()
    with Screen(3, screen) as shown:
        shown.last_line(found)
    line = "1 passed, 0 failed, 2 not run (2 need tools that the server lacks); level basic"
    note = "The server lacks plan_start and task_close: 2 fixtures not run. It lists closeTask"
    assert screen.getvalue().splitlines()[-1] == line
    assert screen.getvalue().count(note) == 1
    whole = json.loads(to_json(found))
    assert (whole["level"], whole["is_selection"], whole["summary"]) == ("basic", False, line)
    assert (whole["missing_tools"], whole["other_tools"]) == (["plan_start", "task_close"], ["closeTask"])
    assert '<property name="level" value="basic"/>' in to_junit(found)
    assert '<property name="missing tools" value="plan_start, task_close"/>' in to_junit(found)
    assert json.loads(to_badge(found))["message"] == "1/1 passed, 2 not run; level basic"
    assert "<dt>Level</dt><dd>basic</dd>" in to_html(found)
    assert note in to_html(found)


def test_selection_is_no_whole_level() -> None:
    """A run of some fixtures of a level does not claim the level."""
    assert last_line(runs.run(level=FULL, is_selection=True)) == "0 passed, 0 failed; level full (selection)"


def test_list_of_tools_is_judged() -> None:
    """The step list_tools has the listed tools as its answer, by their names in the contract, with default hints."""
    (result,) = judged(made(LOOK)).results
    assert (result.status, result.tools) == ("passed", ("task_add",))
    assert result.exchanges[0].request == "list_tools"
    wrong = {**LOOK, "assert_return": {"$.task_add.inputSchema.required": ["title"]}}
    (result,) = judged(made(wrong)).results
    assert [(one.step, one.path, one.seen) for one in result.failures] == [
        ("step 1", "$.task_add.inputSchema.required", ["context", "title"])
    ]


def test_list_of_tools_knows_no_missing_tool() -> None:
    """A look at a tool that the server lacks is not run, or fails when all tools are required."""
    look = {"list_tools": ["task_add", "task_close"]}
    (result,) = judged(made(look)).results
    assert (result.status, result.missing_tools) == ("not run", ("task_close",))
    (result,) = judged(made(look), require_all_tools=True).results
    assert [one.message for one in result.failures] == ["the target has no tool task_close"]


@pytest.mark.parametrize(
    ("tool", "schema"),
    [
        ({}, None),
        ({"inputSchema": {}}, {"properties": {}, "required": []}),
        ({"inputSchema": {"required": ["b", "a"]}}, {"properties": {}, "required": ["a", "b"]}),
        ({"inputSchema": {"required": [1, "a"]}}, {"properties": {}, "required": [1, "a"]}),
    ],
)
def test_listed_tool_is_normalized(tool: dict[str, Any], schema: Any) -> None:
    """Order of `required` and left out defaults make no difference between two lists of tools."""
    found = normalized_tool({**tool, "annotations": {"readOnlyHint": True}})
    assert found.get("inputSchema") == schema
    assert found["annotations"] == {**HINTS, "readOnlyHint": True}
    assert normalized_tool({"annotations": None})["annotations"] == HINTS


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        ({"list_tools": []}, "/steps/0/list_tools: must have a tool"),
        ({"list_tools": ["A"]}, "/steps/0/list_tools/0"),
        (
            {**LOOK, "assert_result": {"$": 1}},
            "/steps/0/assert_result: has no result to check",
        ),
        ({**LOOK, "times": 2}, "/steps/0/times: is only for an action"),
    ],
)
def test_faults_of_a_look_are_reported(tmp_path: Path, step: dict[str, Any], fault: str) -> None:
    """Lint reports a look at no tool, and assertions that a look cannot have."""
    file = tmp_path / "f.json"
    file.write_text(json.dumps({"test_id": "look", "description": "Looks at the tools.", "steps": [step]}))
    assert [line for line in lint([str(file)]) if fault in line]


def test_tool_of_a_look_is_one_of_the_fixture() -> None:
    """--tool finds a fixture by a tool that it looks up, and a call beside it comes first."""
    assert made(LOOK, {"action": {"tool": "plan_status"}}).tools == ("plan_status", "task_add")
    assert nasty_fixture(LOOK).called_tools == ("task_add",)
