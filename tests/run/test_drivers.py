"""The drivers of the known harnesses: their command lines, the meaning of their output, and whether they are logged in.

The lines of output are those of the real programs; `make e2e` runs these.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.cli.run.work import make_mount
from nexus_mcp.harness import HARNESSES
from nexus_mcp.harness.codex_trust import untrusted_hooks
from nexus_mcp.harness.definition import our_hook, starts_server
from nexus_mcp.harness.session_mount import NOTHING
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.drivers import driver
from nexus_mcp.run.drivers.codex import strict
from nexus_mcp.run.drivers.definition import Driver, Output, SessionRequest
from nexus_mcp.run.verdict import Verdict, read
from tests.run.runs import GOOD

VARIABLES = {"NEXUS_RUN": "run-1", "NEXUS_TASK": "3"}


def of(harness: str) -> Driver:
    return driver(harness, RunConfig())


def request(folder: Path, harness: str = "", **values: Any) -> SessionRequest:
    scratch, worktree = str(folder / "files"), str(folder / "tree")
    mount = make_mount(load(str(folder)), harness, scratch, worktree) if harness else NOTHING
    plain = SessionRequest(
        role="owner",
        agent="engineer",
        prompt="DO IT",
        role_text="ROLE",
        model="m",
        folder=worktree,
        scratch=scratch,
        session="S",
        environ=VARIABLES,
        mount=mount,
    )
    return replace(plain, **values)


def after(words: tuple[str, ...], option: str) -> list[str]:
    """Return the word after each use of an option."""
    return [word for before, word in pairwise(words) if before == option]


def outputs(harness: str, *lines: Any) -> list[Output]:
    return [one for line in lines for one in of(harness).outputs(json.dumps(line).encode())]


# Server and hooks


def test_claude_code_gets_server_and_hooks_of_install(tmp_path: Path) -> None:
    """The files that its options name have the entries that `install` writes into .mcp.json and settings.json."""
    command = of("claude-code").command(request(tmp_path, "claude-code"))
    server = json.loads(command.files[after(command.words, "--mcp-config")[0]])["mcpServers"]["nexus"]
    assert starts_server([server["command"], *server["args"]])
    hooks = json.loads(command.files[after(command.words, "--settings")[0]])["hooks"]
    assert {"PreToolUse", "SubagentStart", "Stop", "PreCompact"} <= set(hooks)
    assert all(our_hook(group, "claude-code") for groups in hooks.values() for group in groups)
    assert "--strict-mcp-config" in command.words


def test_codex_trusts_exactly_the_hooks_of_the_session(tmp_path: Path) -> None:
    """The hashes in its options are those that Codex computes, so that no other hook has to be trusted."""
    import tomllib

    command = of("codex").command(request(tmp_path, "codex"))
    settings = tomllib.loads("\n".join(after(command.words, "-c")))
    path = "/<session-flags>/config.toml"
    assert untrusted_hooks(settings, path, settings, "codex") == []
    assert len(settings["hooks"]["state"]) == len(settings["hooks"]) - 1
    assert "--dangerously-bypass-hook-trust" not in command.words


def test_codex_hands_the_variables_of_the_run_to_the_server(tmp_path: Path) -> None:
    """Codex starts servers with few variables of its own."""
    import tomllib

    command = of("codex").command(request(tmp_path, "codex"))
    server = tomllib.loads("\n".join(after(command.words, "-c")))["mcp_servers"]["nexus"]
    assert server["env"] == VARIABLES
    assert server["required"] is True
    assert starts_server([server["command"], *server["args"]])


def test_opencode_gets_server_and_plugin_beside_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration that the environment has already stays."""
    own = {"plugin": ["mine"], "permission": {"bash": {"git push*": "deny"}}}
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", json.dumps(own))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    command = of("opencode").command(request(tmp_path, "opencode"))
    config = json.loads(command.environ["OPENCODE_CONFIG_CONTENT"])
    assert config["mcp"]["nexus"]["type"] == "local"
    mine, plugin = config["plugin"]
    assert mine == "mine"
    assert config["permission"] == {"bash": {"git push*": "deny"}, "edit": "allow"}
    assert "hook" in command.files[plugin.removeprefix("file://")]


def test_opencode_with_an_installed_plugin_gets_no_second_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenCode would load both, and each event would count twice. One whose file is gone does not count."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "tree").mkdir()
    plugin = tmp_path / "tree/.nexus/opencode/nexus.js"
    (tmp_path / "tree/opencode.json").write_text(json.dumps({"plugin": [plugin.as_uri()]}))
    assert request(tmp_path, "opencode").mount.hooks
    plugin.parent.mkdir(parents=True)
    plugin.write_text("")
    assert not request(tmp_path, "opencode").mount.hooks
    assert request(tmp_path, "opencode").mount.server


def test_unknown_harness_gets_nothing(tmp_path: Path) -> None:
    """A template driver starts what it likes."""
    assert not any(request(tmp_path, "mine").mount)


# Restrictions


@pytest.mark.parametrize("harness", sorted(HARNESSES))
def test_resumed_session_has_role_and_restrictions_again(tmp_path: Path, harness: str) -> None:
    """What the new session was told, the resumed one is told, too."""
    first = of(harness).command(request(tmp_path, harness, read_only=True, forbidden=("Task",)))
    again = of(harness).command(request(tmp_path, harness, read_only=True, forbidden=("Task",), resume="ID"))
    assert "ID" in again.words
    for command in (first, again):
        assert "ROLE" in " ".join(command.words) + command.stdin.decode()
        assert command.environ["NEXUS_RUN"] == "run-1"
    both = [
        [word for word in command.words if word not in ("--session-id", "S", "--resume", "resume", "-s", "ID")]
        for command in (first, again)
    ]
    assert both[0] == both[1]
    assert {k: v for k, v in first.environ.items() if k.startswith("OPEN")} == {
        k: v for k, v in again.environ.items() if k.startswith("OPEN")
    }


def test_reviewer_of_claude_code_is_not_in_plan_mode(tmp_path: Path) -> None:
    """There it would write a plan; in place of that it has no tool that edits."""
    words = of("claude-code").command(request(tmp_path, read_only=True)).words
    assert after(words, "--permission-mode") == ["acceptEdits"]
    assert after(words, "--disallowedTools") == ["Write,Edit,MultiEdit,NotebookEdit"]


# The verdict in the form of a schema


def test_strict_schema_names_every_member_and_allows_no_other() -> None:
    """A service of OpenAI refuses any other schema; a full verdict is valid, and its nulls mean absent."""
    found = strict(Verdict.model_json_schema())
    objects = [found, *found["$defs"].values()]
    assert all(one["additionalProperties"] is False for one in objects)
    assert all(one["required"] == list(one["properties"]) for one in objects)
    assert "default" not in json.dumps(found)
    tests = {"allPassing": True, "passCount": None, "failCount": 1}
    whole = {**dict.fromkeys(found["properties"]), **GOOD, "tests": tests}
    jsonschema.validate(whole, found)
    verdict = read(json.dumps(whole))
    assert verdict is not None
    assert (verdict.approved, verdict.tests.failCount, verdict.tests.passCount) == (True, 1, 0)


def test_verdict_with_a_null_for_a_required_member_is_none() -> None:
    """A null is as absent."""
    assert read(json.dumps({**GOOD, "approved": None})) is None


# Output


def test_output_of_claude_code() -> None:
    """Session, model, tools with their input and result, cost and the structured answer."""
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make test"}}
    found = outputs(
        "claude-code",
        {"type": "system", "subtype": "init", "session_id": "S", "model": "sonnet"},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hm."}, use]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}},
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": "x",
            "structured_output": {"version": 1},
            "total_cost_usd": 0.5,
            "usage": {"input_tokens": 1, "cache_read_input_tokens": 9, "output_tokens": 2},
        },
    )
    assert [one.kind for one in found] == [
        *("session", "model", "text", "tool_start", "tool_end", "usage", "result", "done")
    ]
    start, end, usage, result = found[3:7]
    assert (start.call, start.command, start.arguments, end.call, end.text) == (
        *("t1", "make test", {"command": "make test"}),
        *("t1", "ok"),
    )
    assert (usage.input, usage.output, usage.cost_usd, result.text) == (10, 2, 0.5, '{"version": 1}')


def test_output_of_codex() -> None:
    """A change of files counts once, with its file; messages of Codex about itself are no tools."""
    change = {"id": "i1", "type": "file_change", "changes": [{"path": "/t/a.py", "kind": "add"}]}
    found = outputs(
        "codex",
        {"type": "thread.started", "thread_id": "T"},
        {"type": "item.completed", "item": {"id": "i0", "type": "error", "message": "Model metadata"}},
        {"type": "item.started", "item": change},
        {"type": "item.completed", "item": {**change, "status": "completed"}},
        {"type": "item.started", "item": {"id": "i2", "type": "command_execution", "command": "ls"}},
        {"type": "item.completed", "item": {"id": "i2", "type": "command_execution", "aggregated_output": "a.py"}},
        {"type": "item.completed", "item": {"id": "i3", "type": "agent_message", "text": "Done."}},
        {"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}},
    )
    assert [(one.kind, one.is_edit, one.file) for one in found if one.kind == "tool_start"] == [
        ("tool_start", True, "/t/a.py"),
        ("tool_start", False, ""),
    ]
    assert [one.text for one in found if one.kind in ("tool_end", "result")] == ["", "a.py", "Done."]
    assert found[-1].kind == "done"


def test_output_of_opencode() -> None:
    """A tool arrives at its end, with input and output; cached tokens count."""
    state = {"status": "completed", "input": {"filePath": "/t/a"}, "output": "Wrote"}
    found = outputs(
        "opencode",
        {"type": "tool_use", "sessionID": "s", "part": {"tool": "write", "callID": "c", "state": state}},
        {
            "type": "step_finish",
            "sessionID": "s",
            "part": {
                "reason": "stop",
                "cost": 0,
                "tokens": {"input": 1, "output": 2, "cache": {"read": 3, "write": 4}},
            },
        },
    )
    kinds = [one.kind for one in found if one.kind != "session"]
    assert kinds == ["tool_start", "tool_end", "usage", "done"]
    start, end, usage = (one for one in found if one.kind in ("tool_start", "tool_end", "usage"))
    assert (start.is_edit, start.file, end.text, usage.input, usage.cost_usd) == (True, "/t/a", "Wrote", 8, None)


# Logins


def program(folder: Path, name: str, script: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("answer", "found"),
    [('{"loggedIn": true, "authMethod": "api_key"}', True), ('{"loggedIn": false}', False), ("?", None)],
)
def test_login_of_claude_code(tmp_path: Path, answer: str, found: bool | None) -> None:
    """`claude auth status` says so; an older version, which does not know the command, is not a missing login."""
    path = program(tmp_path, "claude", f"echo '{answer}'; exit 1")
    assert of("claude-code").login(path).found is found


def test_login_of_codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own services need a login or a key; a provider of the user's own needs its variable."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_API_KEY", raising=False)
    path = program(tmp_path, "codex", "echo 'Not logged in' >&2; exit 1")
    assert of("codex").login(path).found is False
    assert of("codex").login(program(tmp_path, "codex", "echo 'Logged in using ChatGPT'")).found is True
    settings = 'model_provider = "own"\n[model_providers.own]\nenv_key = "OWN_KEY"\n'
    (tmp_path / "config.toml").write_text(settings)
    monkeypatch.delenv("OWN_KEY", raising=False)
    login = of("codex").login(path)
    assert (login.found, "OWN_KEY" in login.words) == (False, True)
    monkeypatch.setenv("OWN_KEY", "x")
    assert of("codex").login(path).found is True


def test_login_of_opencode_is_never_needed(tmp_path: Path) -> None:
    """A provider of the configuration may need none."""
    none = of("opencode").login(program(tmp_path, "opencode", "echo '0 credentials'"))
    some = of("opencode").login(program(tmp_path, "opencode", "echo '1 credentials'; echo '1 environment variable'"))
    assert (none.found, none.is_needed, some.found) == (False, False, True)


@pytest.mark.parametrize(
    ("harness", "text", "failure"),
    [
        ("claude-code", "Not logged in · Please run /login", "login"),
        ("claude-code", "error_max_budget_usd", "limit"),
        ("codex", "unexpected status 401 Unauthorized: Missing bearer", "login"),
        ("codex", "Missing environment variable: `KEY`.", "login"),
        ("opencode", '{"name": "APIError", "data": {"message": "Unauthorized"}}', "login"),
        ("codex", "stream disconnected before completion", None),
    ],
)
def test_failures_are_told_from_what_the_harness_reports(harness: str, text: str, failure: str | None) -> None:
    """Seen with the real programs."""
    assert of(harness).failure(1, text) == failure


def test_program_that_is_no_harness_answers_nothing(tmp_path: Path) -> None:
    """A program that cannot start is no missing login: the row of the harness tells."""
    gone = str(tmp_path / "gone")
    assert [of(name).login(gone).found for name in ("claude-code", "opencode")] == [None, None]
