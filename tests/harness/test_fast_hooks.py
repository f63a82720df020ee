"""`install --fast-hooks` writes hooks of type mcp_tool for the events that support them, and commands for the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.cli import main
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.support import Project, task, tasks

FAST = {"PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"}


@pytest.fixture
def at(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the project, which is the working directory."""
    monkeypatch.chdir(project.root)
    return project.root


def run(*words: str) -> int:
    return main(list(words))


def settings(at: Path) -> Any:
    return json.loads((at / ".claude/settings.json").read_text())


def filled(value: Any, payload: dict[str, Any]) -> Any:
    """Return an input as Claude Code fills it in: objects as JSON text, absent fields as ""."""
    texts = {name: field if isinstance(field, str) else json.dumps(field) for name, field in payload.items()}
    return {
        name: texts.get(text[2:-1], "") if text.startswith("${") and text.endswith("}") else text
        for name, text in value.items()
    }


def call(at: Path, event: str, **payload: Any) -> Any:
    """Return the server's answer to the installed hook of the event."""
    ((group,),) = (settings(at)["hooks"][event],)
    (hook,) = group["hooks"]
    assert hook["server"] == "nexus"
    app = App(Workspace(str(at), "claude-code"), has_hook_tool=True)
    result = app.call(hook["tool"], filled(hook["input"], {"session_id": "s", **payload})).result
    assert not result["isError"], result
    return json.loads(result["content"][0]["text"])


def test_only_suitable_events_call_the_server(at: Path) -> None:
    """SessionStart, SessionEnd and events that a model could forge stay commands; the server offers the tool."""
    assert run("install", "claude-code", "--fast-hooks") == 0
    hooks = settings(at)["hooks"]
    types = {event: group["hooks"][0]["type"] for event, (group,) in hooks.items()}
    assert {event for event, kind in types.items() if kind == "mcp_tool"} == FAST
    assert set(types.values()) == {"mcp_tool", "command"}
    server = json.loads((at / ".mcp.json").read_text())["mcpServers"]["nexus"]
    assert server["args"][-1] == "--hook-tool"
    assert settings(at)["permissions"]["deny"] == ["mcp__nexus__hook"]


def test_installed_input_is_judged(at: Path, project: Project) -> None:
    """A denial, an agent's restriction, a failed tool and the end of a turn are returned in the harness's own form."""
    assert run("install", "claude-code", "--fast-hooks", "--gate", "block") == 0
    edit = {"tool_name": "Write", "tool_input": {"file_path": "a.py", "content": "x"}}
    denied = call(at, "PreToolUse", **edit)["hookSpecificOutput"]
    assert (denied["hookEventName"], denied["permissionDecision"]) == ("PreToolUse", "deny")
    project.put("state/tasks.json", tasks(task(1)))
    assert call(at, "PreToolUse", **edit) == {}
    barred = call(at, "PreToolUse", **edit, agent_id="a", agent_type="architect")["hookSpecificOutput"]
    assert "architect may not use" in barred["permissionDecisionReason"]
    assert call(at, "PostToolUseFailure", **edit, is_interrupt=True) == {}
    assert json.loads(project.get("state/tool-log.jsonl").splitlines()[-1])["status"] == "interrupted"
    assert call(at, "PostToolUse", **edit) == {}
    project.put("state/tasks.json", tasks(task(1, status="completed")))
    project.put("state/claude-code/agent-tracker.json", [])
    assert call(at, "Stop", stop_hook_active=True) == {}
    assert call(at, "Stop", stop_hook_active=False)["decision"] == "block"


def test_input_without_a_tool_is_denied(at: Path) -> None:
    """An input without a tool name is denied in the harness's form."""
    assert run("install", "claude-code", "--fast-hooks", "--gate", "block") == 0
    assert call(at, "PreToolUse")["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("deny", [None, ["Bash(rm:*)"]])
def test_uninstall_restores_the_bytes(at: Path, deny: list[str] | None) -> None:
    """The rule that hides the tool is removed with the hooks, and the user's own rules stay."""
    path = at / ".claude/settings.json"
    if deny is not None:
        path.parent.mkdir()
        path.write_text(json.dumps({"permissions": {"deny": deny}}))
    before = path.read_bytes() if deny else None
    assert run("install", "claude-code", "--fast-hooks", "--tool-prefix", "nx_") == 0
    assert settings(at)["permissions"]["deny"] == [*(deny or []), "mcp__nexus__nx_hook"]
    assert run("install", "claude-code", "--check") == 0
    assert run("uninstall", "claude-code") == 0
    assert (path.read_bytes() if path.exists() else None) == before


def test_fast_hooks_replace_commands(at: Path) -> None:
    """A second installation with the option replaces the commands that the first one wrote."""
    assert run("install", "claude-code") == 0
    assert run("install", "claude-code", "--fast-hooks") == 0
    assert all(len(groups) == 1 for groups in settings(at)["hooks"].values())


@pytest.mark.parametrize("name", ["codex", "opencode"])
def test_other_harnesses_refuse_the_option(at: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """A harness that cannot hide the tool, or would not be faster, refuses the option with the reason."""
    assert run("install", name, "--fast-hooks") == 2
    assert "is not offered for" in capsys.readouterr().err
    assert not (at / ".nexus/generated.json").exists()


def test_hooks_without_the_server_are_refused(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--fast-hooks without the server is refused, because its hooks call the server."""
    assert run("install", "claude-code", "--fast-hooks", "--with", "hooks") == 2
    assert "needs the server and the hooks" in capsys.readouterr().err
    assert run("install", "claude-code", "--with", "server", "--fast-hooks") == 2
