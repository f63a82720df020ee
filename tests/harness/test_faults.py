"""Our handling of the eleven faults seen in the real harnesses, each by its number."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.cli import main
from nexus_mcp.harness.dialect import DECIDING, LIMIT, origin_of, render
from nexus_mcp.harness.opencode_dialect import Sessions
from nexus_mcp.lifecycle.guard import answer_event
from nexus_mcp.workspace import Workspace
from tests.harness.codex_schemas import schema_of_answer
from tests.harness.test_dialect import HOST, payloads, send
from tests.support import Json, Project, task, tasks

PATCH = "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch"


def every_answer(event: str) -> list[dict[str, Any]]:
    """Return the forms of an answer with each decision, with and without context, warnings and a failure."""
    base: dict[str, Json] = {"event": "x", "harness_id": "codex", "warnings": []}
    failure = "The event x could not be handled: no disk."
    return [
        render(event, {**base, "decision": decision, "reason": "Wait.", **more})
        for decision in ("allow", "continue", "deny", "block")
        for more in ({}, {"context": "c"}, {"warnings": ["w"]}, {"warnings": [failure], "context": "c"})
    ]


def test_fault_01_context_fits(project: Project) -> None:
    """An answer of many texts has at most 9 000 characters, and names the places of the omitted texts."""
    project.put("state/tasks.json", tasks(*(task(number) for number in range(1, 300))))
    message = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "[plan] [run] [sync] x"}
    text = send(project, "claude-code", message)["hookSpecificOutput"]["additionalContext"]
    assert len(text) <= LIMIT
    assert "nexus://skills/nx-plan" in text


def test_fault_02_report_of_a_subagent_has_no_tags(project: Project) -> None:
    """The report of a subagent arrives as a message: its [m] makes no note, in both harnesses."""
    report = "<task-notification>\n<task-id>a2</task-id>\n[m] note: Locks are slow.\n</task-notification>"
    claude = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": report}
    codex = {**claude, "prompt": "[m] note: Locks are slow.", "agent_id": "a", "agent_type": "default"}
    assert (origin_of(claude), origin_of(codex)) == ("agent", "agent")
    assert send(project, "claude-code", claude) == send(project, "codex", codex) == {}
    assert not (project.nexus / "memory").exists()


@pytest.mark.parametrize(
    "head",
    [
        "\ufeff<task-notification>",
        "<TASK-NOTIFICATION>",
        "A notice of the harness:\n<task-notification id='x'>",
        "<task_notification>",
        "<channel source='telegram'>",
        "<system-reminder>",
        "<ide_selection>",
    ],
)
def test_fault_02_other_reports_and_notices_have_no_tags(project: Project, head: str) -> None:
    """A report or notice with any known beginning makes no note by its [m], in any dialect."""
    text = f"{head}\n\n[m] note: Locks are slow."
    for name in ("claude-code", "codex"):
        send(project, name, {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": text})
    report = {"event": "message", "session": "r", "parent": "", "prompt": text}
    Sessions(lambda event, params: answer_event(event, params, Workspace(str(project.root), "opencode"), HOST)).handle(
        report
    )
    assert not (project.nexus / "memory").exists()


@pytest.mark.parametrize("text", ["<div> is wrong", "a < b", "if x <task then", "List<string> x"])
def test_fault_02_message_about_elements_keeps_its_tags(text: str) -> None:
    """A message of the user that mentions an element keeps its tags."""
    assert origin_of({"prompt": text}) == "user"


def test_fault_03_text_of_a_command_has_no_tags(project: Project) -> None:
    """OpenCode reports the expanded text of a command as a message, and `opencode run` quotes the typed text."""
    asked: list[dict[str, Any]] = []

    def ask(event: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.extend([params] if event == "user_message" else [])
        return answer_event(event, params, Workspace(str(project.root), "opencode"), HOST)

    sessions = Sessions(ask)
    sessions.handle({"event": "command", "session": "r"})
    sessions.handle({"event": "message", "session": "r", "prompt": "[m] note: of a command"})
    assert not (project.nexus / "memory").exists()
    sessions.handle({"event": "message", "session": "r", "prompt": '"[m] note: typed"'})
    assert [(one["origin"], one["prompt"][0]) for one in asked] == [("command", "["), ("user", "[")]
    assert len([*(project.nexus / "memory").iterdir()]) == 1
    sessions.handle({"event": "message", "session": "r", "prompt": '"say \\"yes\\" now"'})
    assert asked[-1]["prompt"] == 'say "yes" now'


def test_fault_04_warnings_of_subagents_reach_the_lead(project: Project) -> None:
    """A warning at the end of a subagent is sent once, with the next message or tool call of the lead."""
    project.put("state/tasks.json", tasks(task(1, owner="engineer")))
    session = {"session_id": "s"}
    start = {**session, "hook_event_name": "SessionStart", "source": "resume"}
    spawn = {**session, "hook_event_name": "SubagentStart", "agent_id": "a1", "agent_type": "engineer"}
    stop = {**spawn, "hook_event_name": "SubagentStop", "last_assistant_message": "Done."}
    tool = {**session, "hook_event_name": "PostToolUse", "tool_name": "Agent", "tool_input": {}, "tool_response": {}}
    message = {**session, "hook_event_name": "UserPromptSubmit", "prompt": "Go on."}
    for carrier in (tool, message):
        for payload in (start, spawn):
            send(project, "claude-code", payload)
        assert send(project, "claude-code", stop) == {}
        assert "task 1" in send(project, "claude-code", carrier)["hookSpecificOutput"]["additionalContext"]
        again = send(project, "claude-code", {**message, "prompt": "On."})
        assert "unfinished" not in json.dumps(again)


def test_fault_05_codex_gets_only_fields_that_it_accepts(project: Project) -> None:
    """Each answer to a recorded payload of Codex is valid by Codex's own schemas, a denial and a warning too."""
    project.put("state/tasks.json", tasks(task(1, status="completed")))
    seen = set()
    for payload in payloads("codex"):
        name = payload["hook_event_name"]
        answers = [send(project, "codex", payload), *every_answer(name)]
        for answer in answers:
            schema = schema_of_answer(name)
            if schema is None:
                assert answer == {}
            else:
                jsonschema.validate(answer, schema)
            seen.add((name, tuple(answer)))
    assert (DECIDING, ("hookSpecificOutput",)) in seen
    assert ("Stop", ("decision", "reason")) in seen


def test_fault_06_hooks_that_codex_does_not_trust_are_shown(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`install` says how to trust the hooks; `--list` shows those that Codex skips, also those that changed since."""
    monkeypatch.chdir(project.root)
    assert main(["install", "codex", "--with", "hooks"]) == 0
    assert "Type /hooks in codex and trust the hooks" in capsys.readouterr().out
    file = project.root / ".codex/hooks.json"
    home = Path(os.environ["HOME"]) / ".codex"
    home.mkdir(parents=True, exist_ok=True)
    first = ("session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "subagent_start", "subagent_stop")
    rest = ("stop", "pre_compact", "session_end")
    table = '[hooks.state."{}:{}:0:0"]\ntrusted_hash = "x"\n'
    trusted = f'[projects."{project.root}"]\ntrust_level = "trusted"\n'
    (home / "config.toml").write_text("".join(table.format(file, name) for name in first) + trusted)
    main(["install", "codex", "--list"])
    assert "Codex trusts 6 of 9 hooks" in capsys.readouterr().out
    (home / "config.toml").write_text("".join(table.format(file, name) for name in first + rest) + trusted)
    main(["install", "codex", "--list"])
    shown = capsys.readouterr().out  # all were trusted once, with another hash
    assert "9 of 9 hooks changed after you trusted them" in shown
    assert "to trust them again" in shown


def test_fault_07_agent_tools_of_both_versions_are_known(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both versions' names for resume and wait are known, and agent_type is the agent's name with role files."""
    known = load(None).maps["codex"]
    resuming = {"collaborationfollowup_task": "target", "multi_agent_v1send_input": "target", "send_input": "target"}
    assert resuming.items() <= known["resuming"].items()
    assert {"multi_agent_v1wait_agent", "collaborationwait_agent", "wait_agent"} <= {*known["reading"]}
    monkeypatch.chdir(project.root)
    assert main(["install", "codex", "--with", "agents"]) == 0
    role = tomllib.loads((project.root / ".codex/agents/architect.toml").read_text())
    assert role["name"] == "architect"
    patch = {"tool_name": "apply_patch", "tool_input": {"command": PATCH}}
    agent = {"agent_id": "a", "agent_type": role["name"]}
    denied = send(project, "codex", {"hook_event_name": DECIDING, "session_id": "s", **patch, **agent})
    assert denied["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_fault_08_patch_by_heredoc_is_judged_before_it_runs(project: Project) -> None:
    """Codex reports no end of a patch in the shell, so its files are read from the command before it runs."""
    before = {"hook_event_name": DECIDING, "session_id": "s", "tool_name": "Bash"}
    call = {**before, "tool_input": {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}}
    agent = {"agent_id": "a", "agent_type": "architect"}
    for denied in (send(project, "codex", {**call, **agent}), send(project, "codex", call)):
        assert denied["hookSpecificOutput"]["permissionDecision"] == "deny"
    project.put("state/tasks.json", tasks(task(1)))
    assert send(project, "codex", call) == {}
    assert not (project.state / "tool-log.jsonl").exists()


@pytest.mark.parametrize("mount", ["mcp__nexus__", "mcp__plugin_nexus_nexus__", "mcp__nexus__nx_"])
def test_fault_09_restrictions_follow_the_mount(project: Project, mount: str) -> None:
    """Our tools are known under the names of a plugin and with a prefix, too."""
    project.put("state/tasks.json", tasks(task(1)))
    tool = {"tool_name": f"{mount}task_add", "tool_input": {}, "agent_id": "a", "agent_type": "engineer"}
    answer = send(project, "claude-code", {"hook_event_name": DECIDING, "session_id": "s", **tool})
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_fault_10_compaction_tells_the_model_not_the_summary(project: Project) -> None:
    """PreCompact sends nothing and records nothing; SessionStart after the compaction sends the whole context."""
    project.put("state/tasks.json", tasks(task(1)))
    session = {"session_id": "s"}
    assert send(project, "claude-code", {**session, "hook_event_name": "PreCompact", "trigger": "auto"}) == {}
    after = send(project, "claude-code", {**session, "hook_event_name": "SessionStart", "source": "compact"})
    assert "Tasks: 1 in all" in after["hookSpecificOutput"]["additionalContext"]


def test_fault_11_unchanged_state_is_not_repeated(project: Project) -> None:
    """The answer to the second message has only the state that changed since the first."""
    project.put("state/tasks.json", tasks(task(1)))
    message = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Go on."}
    send(project, "claude-code", {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"})
    assert "Tasks: 1 in all" in json.dumps(send(project, "claude-code", message))
    assert send(project, "claude-code", message) == {}
