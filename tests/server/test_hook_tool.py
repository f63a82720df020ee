"""The tool `hook` of `serve --hook-tool`: its arguments, and its answer in each form."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from nexus_mcp.errors import UnknownTool
from nexus_mcp.server.app import App
from nexus_mcp.server.hook_tool import NATIVE
from nexus_mcp.tools import TOOLS
from nexus_mcp.workspace import Workspace
from tests.support import Project, task, tasks

EDIT = {"tool": "Write", "tool_input": {"file_path": "src/a.py"}}
NATIVE_EDIT = {"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "src/a.py"}}


@pytest.fixture
def hooked(project: Project) -> App:
    project.put("state/claude-code/agent-tracker.json", [])
    return App(Workspace(str(project.root), "claude-code"), has_hook_tool=True)


def told(app: App, event: str, payload: Any, **more: Any) -> dict[str, Any]:
    """Return the answer of a call that does not fail, after checking that its text equals it."""
    result = app.call("hook", {"event": event, "payload": payload, **more}).result
    assert not result["isError"], result
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    found: dict[str, Any] = result["structuredContent"]
    return found


def test_hook_tool_is_offered_only_with_the_option(hooked: App, project: Project) -> None:
    """Without the option the server has the tools of the contract; with it one more, which is not in the contract."""
    plain = App(Workspace(str(project.root), "claude-code"))
    assert [tool["name"] for tool in plain.tools()] == [tool.name for tool in TOOLS]
    with pytest.raises(UnknownTool):
        plain.call("hook", {})
    assert [tool["name"] for tool in hooked.tools()] == [*(tool.name for tool in TOOLS), "hook"]
    prefixed = App(Workspace(str(project.root)), "nx_", has_hook_tool=True)
    assert prefixed.tools()[-1]["name"] == "nx_hook"
    assert told_name(prefixed) == "post_tool_use"


def told_name(app: App) -> str:
    answer = app.call("nx_hook", {"event": "post_tool_use", "payload": {"tool": "Read"}}).result
    name: str = answer["structuredContent"]["event"]
    return name


@pytest.mark.parametrize("form", [dict, json.dumps])
def test_an_edit_without_tasks_is_refused_in_both_forms(hooked: App, form: Any) -> None:
    """The neutral answer for a neutral payload, the harness's own for a native one; as an object or as JSON text."""
    neutral = told(hooked, "pre_tool_use", form(EDIT))
    assert neutral["decision"] == "block"
    native = told(hooked, "pre_tool_use", form(NATIVE_EDIT))
    assert native == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": neutral["reason"],
        }
    }


def test_the_input_of_a_native_tool_may_be_json_text(hooked: App) -> None:
    """Claude Code hands it over as text, and absent fields as ""."""
    payload = {**NATIVE_EDIT, "tool_input": json.dumps(NATIVE_EDIT["tool_input"]), "agent_id": "", "agent_type": ""}
    assert told(hooked, "pre_tool_use", payload) == told(hooked, "pre_tool_use", NATIVE_EDIT)


def test_allowed_call_is_answered_with_nothing(hooked: App) -> None:
    """A native answer never grants a permission for which the user's rules would ask."""
    assert told(hooked, "pre_tool_use", {**NATIVE_EDIT, "tool_name": "Read"}) == {}


def test_hook_tool_denies_a_forbidden_tool(hooked: App, project: Project) -> None:
    """The restrictions of the agent in the payload hold, with tasks as well."""
    hooked.call("task_add", {"title": "A", "context": "B"})
    payload = {**NATIVE_EDIT, "agent_id": "x1", "agent_type": "architect"}
    denied = told(hooked, "pre_tool_use", payload)["hookSpecificOutput"]
    assert denied["permissionDecision"] == "deny"
    assert "architect" in denied["permissionDecisionReason"]


@pytest.mark.parametrize("payload", ["", "{", "[]", "null", 7, None, {"hook_event_name": "Stop"}])
def test_a_malformed_payload_is_denied(hooked: App, payload: Any) -> None:
    """The agent that sent it is unknown, so the tool does not run."""
    answer = told(hooked, "pre_tool_use", payload)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    "arguments",
    [
        {"event": "user_message", "payload": {"prompt": "[m] x"}},
        {"event": "subagent_spawn", "payload": {}},
        {"event": ["pre_tool_use"], "payload": {}},
        {"payload": {}},
        {"event": "pre_tool_use", "payload": EDIT, "other": 1},
        {"event": "pre_tool_use", "payload": EDIT, "harness": 7},
        {"event": "pre_tool_use", "payload": EDIT, "harness": "../x"},
    ],
)
def test_other_events_are_refused(hooked: App, project: Project, arguments: dict[str, Any]) -> None:
    """A model could forge them: they are answered with an error, and nothing is written."""
    before = project.snapshot()
    assert hooked.call("hook", arguments).result["isError"]
    assert project.snapshot() == before


def test_a_failed_native_tool_is_logged_as_failed(hooked: App, project: Project) -> None:
    """PostToolUseFailure is post_tool_use with a status."""
    payload = {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {}, "error": "exit 1"}
    assert told(hooked, "post_tool_use", payload) == {}
    assert json.loads(project.get("state/tool-log.jsonl"))["status"] == "error"


def test_the_end_of_a_turn_is_answered(hooked: App, project: Project) -> None:
    """With nothing open the model may stop; a block has its reason in the harness's form."""
    assert told(hooked, "turn_end", {"hook_event_name": "Stop", "stop_hook_active": False}) == {}
    project.put("state/tasks.json", tasks(task(1, status="completed")))
    blocked = told(hooked, "turn_end", {"hook_event_name": "Stop", "session_id": "s", "stop_hook_active": False})
    assert blocked["decision"] == "block"
    assert "task_close" in blocked["reason"]


def test_gate_of_the_installation_decides(hooked: App) -> None:
    """The hook's argument `gate` is that of the installation; an unknown one is refused."""
    assert told(hooked, "pre_tool_use", NATIVE_EDIT, gate="auto") == {}
    assert told(hooked, "pre_tool_use", EDIT, gate="auto")["decision"] == "allow"
    answer = hooked.call("hook", {"event": "pre_tool_use", "payload": NATIVE_EDIT, "gate": "never"}).result
    assert answer["isError"]
    assert set(NATIVE) == {"pre_tool_use", "post_tool_use", "turn_end"}


@pytest.mark.parametrize(("event", "size", "outcome"), [("pre_tool_use", 5, "deny"), ("post_tool_use", 5, "error")])
@pytest.mark.parametrize("is_modern", [False, True])
def test_tool_use_too_large_to_be_read_is_denied(
    project: Project, event: str, size: int, outcome: str, *, is_modern: bool
) -> None:
    """An input of more than 4 MiB is denied, because an error would let the tool run; other events get the error."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    envelope = {"_meta": meta} if is_modern else {}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    opening = {"method": "tools/list", "params": envelope} if is_modern else {"method": "initialize", "params": hello}
    arguments = {"event": event, "tool_name": "Write", "tool_input": json.dumps({"content": "x" * (size << 20)})}
    call = {"method": "tools/call", "params": {"name": "hook", "arguments": arguments, **envelope}}
    lines = [json.dumps({**one, "jsonrpc": "2.0", "id": number}) for number, one in enumerate((opening, call))]
    command = [sys.executable, "-m", "nexus_mcp", "serve", "--harness-id", "claude-code", "--hook-tool"]
    text = "".join(f"{one}\n" for one in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=project.root, check=True)
    answer = next(one for one in map(json.loads, done.stdout.splitlines()) if one["id"] == 1)
    if outcome == "error":
        assert answer["error"]["code"] == -32600
        return
    found = json.loads(answer["result"]["content"][0]["text"])["hookSpecificOutput"]
    assert found["permissionDecision"] == "deny"
    assert "The input is larger than the server reads." in found["permissionDecisionReason"]
    assert ("resultType" in answer["result"]) == is_modern
