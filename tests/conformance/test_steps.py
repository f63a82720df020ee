"""Steps of every kind, against our own server as a process and in memory."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.pytest_plugin import items
from nexus_mcp.conformance.report.html import to_html
from nexus_mcp.conformance.report.json_report import to_json
from nexus_mcp.conformance.report.junit import to_junit
from nexus_mcp.conformance.result import FixtureResult
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.settings import TargetOptions
from nexus_mcp.conformance.target import Target, in_memory, stdio
from nexus_mcp.errors import HarnessFault
from nexus_mcp.server.app import App
from nexus_mcp.server.sdk import build_server
from nexus_mcp.workspace import Workspace
from tests.conformance import runs
from tests.conformance.support import NASTY, made, outcome

SERVE = (sys.executable, "-m", "nexus_mcp", "serve")
EVENT = (sys.executable, str(Path(__file__).parent / "servers" / "event.py"), "{type}")
TASKS = ".nexus/state/tasks.json"
HISTORY = ".nexus/history.json"
OURS = TargetOptions(environment={"PYTHONPATH": str(Path(__file__).parents[2])})


def add(title: str = "Do it", **step: Any) -> dict[str, Any]:
    return {"action": {"tool": "task_add", "params": {"title": title, "context": "Because"}}, **step}


def call(tool: str, **step: Any) -> dict[str, Any]:
    return {"action": {"tool": tool}, **step}


def one(*steps: dict[str, Any], target: Target | None = None, **more: Any) -> FixtureResult:
    (result,) = run([made(*steps, **more)], target or stdio(SERVE, OURS), jobs=1).results
    return result


def memory(options: TargetOptions | None = None) -> Target:
    return in_memory(lambda root: build_server(App(Workspace(root, "nexus-mcp"))), options)


def test_server_in_memory_cannot_be_killed() -> None:
    """A server in memory answers as one in a process does, but cannot be killed."""
    steps = [add(assert_return={"$.task.id": 1}), call("task_list", assert_return={"$.summary.total": 1})]
    assert outcome(one(*steps, target=memory())) == ("passed", [])
    result = run([made(*steps, test_id="a"), made({"restart": True}, *steps)], memory()).results[1]
    assert (result.status, result.reason) == ("not run", "needs a process")


def test_restart_replaces_the_process() -> None:
    """A restart ends one process and starts another one; the exchanges show it."""
    result = one(add(), {"restart": True}, call("task_list", assert_return={"$.summary.total": 1}))
    assert outcome(result) == ("passed", [])
    assert [(one.step, one.request) for one in result.exchanges] == [
        ("step 1", "task_add"),
        ("step 2", "restart"),
        ("step 3", "task_list"),
    ]


def test_repeated_step_asserts_the_last_response() -> None:
    """A repeated step asserts its last response; an earlier one that fails is still reported."""
    assert outcome(one(add(times=3, assert_return={"$.task.id": 3}))) == ("passed", [])
    close = {"action": {"tool": "task_update", "params": {"id": 1, "status": "completed"}}, "times": 2}
    assert [kind for kind, _, _ in outcome(one(close, call("context")))[1]] == ["error", "error"]


def test_write_of_a_step_is_no_change_of_the_target() -> None:
    """A file that a step writes is no change of the target's; any other change is reported."""
    steps = [
        add(),
        {"write_file": {"path": "note.txt", "text": "ours"}},
        {"write_file": {"path": TASKS, "absent": True}, "assert_unchanged": True},
        call("task_list", assert_return={"$.exists": False}, assert_unchanged=["note.txt", TASKS]),
        add(assert_unchanged=[TASKS, "note.txt"]),
    ]
    message = f"must be unchanged, but changed: {TASKS}"
    assert outcome(one(*steps)) == ("failed", [("unchanged", "step 5", message)])


def test_postcondition_compares_with_the_state_before_the_first_step() -> None:
    """The postcondition compares with the project before the first step, for entries of any kind."""
    files: Any = {"precondition": {"files": {".nexus/memory/a.md": "text"}}}
    assert one(call("context"), postcondition={"unchanged": True}, **files).status == "passed"
    status, failures = outcome(one(add(), postcondition={"unchanged": True}, **files))
    own = (".gitignore", "state", "state/lock", "state/oplog.jsonl", "state/tasks.json")
    paths = ", ".join(f".nexus/{name}" for name in own)
    assert (status, failures) == (
        "failed",
        [("unchanged", "", f"must be unchanged, but changed: {paths}")],
    )


def test_expected_error_may_be_named_in_step_or_postcondition() -> None:
    """An error of the last step may be expected there or in the postcondition; an unexpected error is a failure."""
    wrong = {"action": {"tool": "task_update", "params": {"id": 9, "status": "pending"}}}
    message = 'the call must not fail: "tasks.json not found"'
    assert outcome(one(call("context"), {**wrong, "assert_error": "not found"})) == ("passed", [])
    assert outcome(one(call("context"), wrong, postcondition={"error": True})) == ("passed", [])
    assert (
        outcome(one(call("context"), wrong, postcondition={"return_value": {"$.error": {"type": "string"}}}))[1] == []
    )
    assert outcome(one(call("context"), wrong)) == ("failed", [("error", "step 2", message)])
    assert outcome(one(wrong)) == ("failed", [("error", "", message)])


def test_killed_call_happens_at_most_once() -> None:
    """A call that is killed has its effect once or not at all, and once when it is sent again."""
    kill = {"action": {"tool": "task_close"}, "seed": 1, "within_ms": 15, "retry": True}
    steps = [add(), {"kill": kill}, call("history_search", assert_return={"$.total": 1})]
    result = one(*steps, repeat=8)
    assert (outcome(result), result.repeats) == (("passed", []), 8)
    assert [one.request for one in result.exchanges][1] == "kill task_close"


def test_response_before_a_kill_is_that_of_the_step() -> None:
    """The step has the response that arrived before the kill."""
    late = {"action": {"tool": "context"}, "seed": 3, "within_ms": 2000}
    result = one({"kill": late, "assert_return": {"$.activeMode": None}}, call("task_list"))
    assert outcome(result) == ("passed", [])
    assert [(one.request, one.error) for one in result.exchanges] == [("kill context", ""), ("task_list", "")]


def test_call_killed_before_its_response_is_reported() -> None:
    """A call without a response before the kill is reported, and without a retry its answer has no assertions."""
    hanging = {"action": {"tool": "act", "params": {"do": "hang"}}, "seed": 1, "within_ms": 0}
    answering = {"action": {"tool": "act", "params": {"do": "tell"}}}
    result = one({"kill": hanging, "assert_return": {"$.did": "x"}}, answering, target=stdio(NASTY))
    assert outcome(result) == ("passed", [])
    assert [(one.request, one.error) for one in result.exchanges] == [
        ("kill act", "killed before it answered"),
        ("act", ""),
    ]


def test_parallel_lists_have_servers_of_their_own() -> None:
    """Every lane has a server of its own, and every answer of a lane is asserted."""
    lane = [add(times=3, assert_return={"$.task.id": {"type": "number", "max": 6}})]
    steps = [{"parallel": [lane, lane]}, call("task_list", assert_return={"$.summary.total": 6})]
    result = one(*steps)
    assert outcome(result) == ("passed", [])
    assert [one.step for one in result.exchanges] == ["step 1, lane 1"] * 3 + ["step 1, lane 2"] * 3 + ["step 2"]
    wrong = [{"action": {"tool": "task_update", "params": {"id": 9, "status": "pending"}}}]
    failed = one({"parallel": [[add()], wrong]}, call("context"))
    assert [(kind, step) for kind, step, _ in outcome(failed)[1]] == [("error", "step 1, lane 2")]


def test_tokens_are_replaced_in_params_and_paths() -> None:
    """Tokens stand for the project, the state folder and the harness in parameters, values and paths."""
    write = {"action": {"tool": "artifact_write", "params": {"filename": "a", "content": "{PROJECT_ROOT}"}}}
    post = {
        "return_value": {"$.path": "{PROJECT_ROOT}/.nexus/state/artifacts/a"},
        "state_files": {"{STATE_ROOT}/artifacts/a": {"text": "{PROJECT_ROOT}"}},
    }
    assert outcome(one(write, postcondition=post)) == ("passed", [])


@pytest.mark.parametrize(
    ("event", "post", "expected"),
    [
        ("answer", {"return_value": {"$.type": "answer", "$.got.agent_id": "a"}}, ("passed", [])),
        ("text", {"error": False}, ("passed", [])),
        ("fail", {"error_contains": "the last line"}, ("passed", [])),
        ("fail", {}, ("failed", [("error", "", 'the call must not fail: "the last line"')])),
        ("hang", {}, ("failed", [("process", "", "the event command for hang did not end within 0.5 s")])),
        ("crash", {}, ("failed", [("process", "", "the event command for crash was ended by SIGABRT")])),
    ],
)
def test_event_command_gets_params_and_returns_json(event: str, post: dict[str, Any], expected: Any) -> None:
    """An event is a command: it reads the payload, may print JSON, and fails by its exit code."""
    step = {"event": {"type": event, "params": {"agent_id": "a", "harness_id": "mine"}}}
    target = memory(TargetOptions(event_command=EVENT, timeout=0.5 if event == "hang" else 30))
    assert outcome(one(step, postcondition=post, target=target)) == expected


def test_missing_event_command_does_not_apply() -> None:
    """An event command that cannot be started ends the run: that is no fault of the target."""
    target = memory(TargetOptions(event_command=("nowhere-hook", "{type}")))
    with pytest.raises(
        HarnessFault, match=r"^The event command nowhere-hook could not be started: .*\. Give the program "
    ):
        one({"event": {"type": "agent_spawn"}}, target=target)


def test_reports_show_the_description_of_an_event() -> None:
    """Every report with the requests shows the fixture's description of its event."""
    step = {"event": {"type": "fail", "description": "The harness shuts down."}}
    result = one(step, target=memory(TargetOptions(event_command=EVENT)))
    run = runs.run(result)
    assert json.loads(to_json(run))["results"][0]["exchanges"][0]["description"] == "The harness shuts down."
    for report in (items.text(result), to_junit(run), to_html(run)):
        assert "The harness shuts down." in report
