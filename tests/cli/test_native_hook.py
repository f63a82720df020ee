"""`nexus-mcp hook --native` as a process: unreadable payloads, and the resident process for OpenCode."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support import Project, task, tasks

EDIT = {"tool_name": "Write", "tool_input": {"file_path": "a.py", "content": "x"}}


def hook(project: Project, data: bytes, *options: str, harness: str = "claude-code", **env: str) -> Any:
    """Return the JSON that the hook prints, None if it prints nothing."""
    command = [sys.executable, "-m", "nexus_mcp", "hook", "--native", harness, *options]
    environment = {**os.environ, **env}
    done = subprocess.run(command, input=data, cwd=project.root, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout) if done.stdout else None


def payload(**fields: Any) -> bytes:
    return json.dumps({"session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", **fields}).encode()


def decision(answer: Any) -> str:
    if answer is None:
        return "silent"
    found: str = answer["hookSpecificOutput"].get("permissionDecision", "context")
    return found


def test_edit_without_a_task_is_denied_by_the_gate(project: Project) -> None:
    """The gate of the command line decides about an edit; with `auto` a project without a plan is not locked."""
    assert decision(hook(project, payload(**EDIT))) == "deny"
    assert decision(hook(project, payload(**EDIT), "--gate", "auto")) == "silent"
    assert decision(hook(project, payload(**EDIT), "--gate", "off")) == "silent"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"a": ' * 100_000,
        payload(**EDIT)[:-20],
    ],
    ids=["nothing", "brace", "list", "null", "deep", "cut"],
)
def test_unreadable_payload_is_denied(project: Project, data: bytes) -> None:
    """An unreadable payload may be a tool call of any agent, so it is denied."""
    assert decision(hook(project, data, "--gate", "auto")) == "deny"


@pytest.mark.parametrize(
    "data",
    [
        b'{"hook_event_name": 3}',
        payload(tool_name="Write", tool_input={"file_path": "a", "content": "x" * (20 << 20)}),
    ],
    ids=["number", "large"],
)
def test_unusable_payload_of_the_main_session_follows_the_gate(project: Project, data: bytes) -> None:
    """Where it is certain that no agent is at work, the gate decides; the user sees the failure."""
    assert decision(hook(project, data)) == "deny"
    answer = hook(project, data, "--gate", "auto")
    assert list(answer) == ["systemMessage"]


def test_unreadable_payload_of_another_event_denies_nothing(project: Project) -> None:
    """Where the name of the event can be read, a cut payload is only reported, to the user."""
    data = payload(prompt="x" * 100, hook_event_name="UserPromptSubmit")[:-50]
    answer = hook(project, data)
    assert list(answer) == ["systemMessage"]
    assert "could not be handled" in answer["systemMessage"]


@pytest.mark.parametrize("seconds", ["0.0", "30.0"], ids=["no answer in time", "an answer in time"])
@pytest.mark.parametrize(
    ("event", "is_denied"),
    [
        ("UserPromptSubmit", False),
        ("PostToolUse", False),
        ("Stop", False),
        ("PermissionRequest", False),
        ("PreToolUse", True),
        ("BrandNew", True),
    ],
)
def test_deadline_while_reading_is_answered_in_the_form_of_the_event(
    project: Project, event: str, seconds: str, *, is_denied: bool
) -> None:
    """The first bytes name the event: only a tool is denied at the deadline, and an event that nobody knows."""
    script = (
        "import sys\n"
        "from nexus_mcp.lifecycle import deadline\n"
        f"deadline.WALL_S, deadline.LAST_S = 0.2, {seconds}\n"
        "from nexus_mcp.cli import main\n"
        "sys.exit(main(['hook', '--native', 'claude-code']))\n"
    )
    data = payload(hook_event_name=event, tool_name="Write", tool_input={"x": "y" * 100_000})[:-20]
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=project.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(data)
        process.stdin.flush()
        answer = json.loads(process.stdout.read())
    if is_denied:
        assert decision(answer) == "deny"
    else:
        assert list(answer) == ["systemMessage"]
        assert "could not be handled" in answer["systemMessage"]


def test_unknown_event_is_logged_in_silence(project: Project) -> None:
    """An unknown event of a newer harness prints nothing and is logged in hook-errors.jsonl; a known ignored event is
    not logged.
    """
    project.put("state/tasks.json", tasks(task(1)))
    assert hook(project, payload(hook_event_name="PostToolBatch")) is None
    assert not (project.state / "claude-code" / "hook-errors.jsonl").exists()
    assert hook(project, payload(hook_event_name="BrandNew")) is None
    (line,) = (project.state / "claude-code" / "hook-errors.jsonl").read_text().splitlines()
    assert json.loads(line)["event"] == "BrandNew"


def test_context_of_an_agent_follows_the_mount(project: Project) -> None:
    """The list of tools and the limits of a starting agent have the names of the mount; other names stay denied."""
    own = "mcp__plugin_nexus_nexus__"
    start = payload(hook_event_name="SubagentStart", agent_id="a1", agent_type="nexus:engineer")
    context = hook(project, start, "--mount", own)["hookSpecificOutput"]["additionalContext"]
    assert f"- task_update: {own}task_update" in context
    assert f" Refused: {own}task_add. " in context
    assert "mcp__nexus__" not in context
    assert "*" not in context
    for name in (f"{own}task_add", "mcp__nexus__task_add"):
        call = payload(agent_id="a1", agent_type="nexus:engineer", tool_name=name, tool_input={})
        assert decision(hook(project, call, "--mount", own)) == "deny"


def test_agent_of_codex_that_uses_a_tool_again_is_resumed(project: Project) -> None:
    """Codex has no event for a follow-up: the first tool of a completed agent records one resume, in its session."""
    agent = {"agent_id": "a1", "agent_type": "engineer"}

    def tracked(harness: str) -> list[tuple[str, int]]:
        rows = json.loads(project.get(f"state/{harness}/agent-tracker.json"))
        return [(row["status"], row["resume_count"]) for row in rows]

    def use(harness: str, **more: str) -> None:
        call = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
        hook(project, payload(**agent, **call, **more), "--gate", "off", harness=harness)

    for harness in ("codex", "claude-code"):
        hook(project, payload(hook_event_name="SubagentStart", **agent), harness=harness)
        use(harness)
        assert tracked(harness) == [("running", 0)]
        hook(project, payload(hook_event_name="SubagentStop", **agent), harness=harness)
        use(harness, session_id="other")
        assert tracked(harness) == [("completed", 0)]
    for _ in range(2):
        use("codex")
        assert tracked("codex") == [("running", 1)]
    use("claude-code")
    assert tracked("claude-code") == [("completed", 0)]


def test_denial_says_that_the_settings_are_faulty(project: Project) -> None:
    """Where a faulty config.yml makes the gate strict, the refusal has the fault, in each dialect."""
    project.put("config.yml", "gates:\n  edit: OFF\n")
    answer = hook(project, payload(**EDIT), "--gate", "off")
    reason = answer["hookSpecificOutput"]["permissionDecisionReason"]
    (denied,) = serve(project, {"id": 1, "event": "before", "session": "r", "parent": "", **WRITE}, options=GATE_OFF)
    for text in (reason, denied["deny"]):
        assert text.startswith("There is no task list")
        assert "so the strictest settings apply: .nexus/config.yml" in text


def test_agent_is_denied_by_its_restrictions(project: Project) -> None:
    """A subagent with restrictions is denied a tool by the hook, whatever the gate is."""
    data = payload(**EDIT, agent_id="a", agent_type="architect")
    answer = hook(project, data, "--gate", "off")
    assert "architect may not use" in answer["hookSpecificOutput"]["permissionDecisionReason"]


def test_project_of_claude_code_is_its_own(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    """CLAUDE_PROJECT_DIR names the project, not the working directory, which follows the model's cd."""
    other = tmp_path_factory.mktemp("other")
    answer = hook(project, payload(**EDIT), CLAUDE_PROJECT_DIR=str(other))
    assert decision(answer) == "deny"
    start = payload(hook_event_name="SessionStart", source="startup")
    hook(project, start, CLAUDE_PROJECT_DIR=str(other))
    assert (other / ".nexus").is_dir()
    assert not project.nexus.exists()


GATE_OFF = ("--gate", "off")
WRITE = {"tool": "write", "input": {"filePath": "a.py", "content": "x"}}


def serve(project: Project, *reports: Any, options: tuple[str, ...] = ()) -> list[Any]:
    """Return the answers of the resident process to these reports."""
    command = [sys.executable, "-m", "nexus_mcp", "hook", "--native", "opencode", "--serve", *options]
    lines = [report if isinstance(report, bytes) else json.dumps(report).encode() for report in reports]
    data = b"\n".join(lines) + b"\n"
    done = subprocess.run(command, input=data, cwd=project.root, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_resident_process_follows_a_session(project: Project) -> None:
    """A subagent is denied its forbidden tools, its end warns the lead, and the sessions end with the input."""
    project.put("state/tasks.json", tasks(task(1, owner="architect")))
    answers = serve(
        project,
        {"id": 1, "event": "created", "session": "r"},
        {"id": 2, "event": "message", "session": "r", "prompt": '"please [plan] a page"'},
        {"id": 3, "event": "created", "session": "c", "parent": "r", "agent": "architect"},
        {"id": 4, "event": "message", "session": "c", "prompt": "[m] look"},
        {"id": 5, "event": "before", "session": "c", **WRITE},
        {"id": 6, "event": "before", "session": "r", **WRITE},
        {"id": 7, "event": "text", "session": "c", "text": "REPORT"},
        {"id": 8, "event": "idle", "session": "c"},
        {"id": 9, "event": "after", "session": "r", "tool": "task", "input": {}},
        {"id": 10, "event": "idle", "session": "r"},
    )
    by_id = {answer["id"]: answer for answer in answers}
    assert "starts the skill nx-plan" in by_id[2]["context"]
    assert "LIMITS: you are architect" in by_id[4]["context"]
    assert "architect may not use" in by_id[5]["deny"]
    assert by_id[6] == {"id": 6}
    assert "task 1" in by_id[9]["context"]
    assert by_id[10] == {"id": 10}
    assert not (project.state / "opencode" / "agent-tracker.json").exists()
    assert not (project.nexus / "memory").exists()


def test_new_resident_process_knows_an_agent(project: Project) -> None:
    """Each report names the lead and the agent, so a process that took the place of another denies the same."""
    project.put("state/tasks.json", tasks(task(1)))
    agent = {"session": "c", "parent": "r", "agent": "architect"}
    denied, lead = serve(
        project,
        {"id": 1, "event": "before", **agent, **WRITE},
        {"id": 2, "event": "before", "session": "r", "parent": "", **WRITE},
    )
    assert "architect may not use" in denied["deny"]
    assert lead == {"id": 2}


def test_session_without_a_known_lead_may_be_an_agents(project: Project) -> None:
    """Without a lead, or with one that is no text, edits are denied as to an unknown agent, and a tag is text."""
    project.put("state/tasks.json", tasks(task(1)))
    *denied, message = serve(
        project,
        {"id": 1, "event": "before", "session": "c", "parent": None, **WRITE},
        {"id": 3, "event": "before", "session": "c", "parent": {"id": "r"}, **WRITE},
        {"id": 2, "event": "message", "session": "c", "parent": None, "prompt": "[m] look"},
    )
    assert ["is unknown" in one["deny"] for one in denied] == [True, True]
    assert "tag" not in message.get("context", "")
    assert not (project.nexus / "memory").exists()


def test_agent_that_goes_on_is_running_again(project: Project) -> None:
    """A task for an agent that has ended resumes it in the tracker, with its context; a second one while it runs no."""
    agent = {"session": "c", "parent": "r", "agent": "architect"}
    answers = serve(
        project,
        {"id": 0, "event": "message", "session": "r", "parent": "", "prompt": "x"},
        {"id": 1, "event": "created", **agent},
        {"id": 2, "event": "message", **agent, "prompt": "look"},
        {"id": 3, "event": "message", **agent, "prompt": "and look"},
        {"id": 4, "event": "idle", **agent},
        {"id": 5, "event": "message", **agent, "prompt": "look again"},
    )
    assert ["LIMITS" in answer.get("context", "") for answer in answers[1:]] == [False, True, False, False, True]


def test_context_of_a_request_is_given_until_something_keeps_it(project: Project) -> None:
    """The system prompt lasts for one request: the context waits for a message or for the result of a tool."""
    project.put("state/tasks.json", tasks(task(1)))
    root = {"session": "r", "parent": ""}
    answers = serve(
        project,
        {"id": 0, "event": "message", **root, "prompt": "x"},
        {"id": 1, "event": "compacted", **root},
        {"id": 2, "event": "request", **root},
        {"id": 3, "event": "after", **root, "tool": "bash", "input": {}, "status": "error"},
        {"id": 4, "event": "request", **root},
        {"id": 5, "event": "after", **root, "tool": "bash", "input": {}},
        {"id": 6, "event": "request", **root},
    )
    assert ["task 1" in answer.get("context", "") for answer in answers[2:]] == [True, False, True, True, False]


def test_contexts_that_exceed_the_limit_together_come_one_after_another() -> None:
    """Nothing is truncated: the text of the event itself comes first, and the waiting ones with the next event."""
    from nexus_mcp.harness.dialect import LIMIT
    from nexus_mcp.harness.opencode_dialect import Sessions

    long, short = "a" * (LIMIT - 10), "b" * 20

    def ask(event: str, _params: dict[str, Any]) -> dict[str, Any]:
        texts = {"session_start": long, "user_message": short}
        return {"decision": "continue", "warnings": [], "context": texts.get(event, "")}

    sessions = Sessions(ask)
    root = {"session": "r", "parent": ""}
    assert sessions.handle({"event": "message", **root, "prompt": "x"}) == {"context": short}
    assert sessions.handle({"event": "after", **root, "tool": "bash"}) == {"context": long}
    assert sessions.handle({"event": "after", **root, "tool": "bash"}) == {}


def test_resident_process_denies_unreadable_reports(project: Project) -> None:
    """A report that cannot be read is denied, and the next one is answered."""
    answers = serve(project, b"{", b"[]", {"id": 3, "event": "idle", "session": "r"}, {"id": 4, "event": "unknown"})
    assert ["deny" in answer for answer in answers] == [True, True, False, False]


@pytest.mark.parametrize("event", [["before"], {}, 3, None, True])
def test_report_with_a_malformed_event_is_denied_in_plain_words(project: Project, event: Any) -> None:
    """An event that is no text may stand for any event, so the tool is denied, with the reason; no fault is ours."""
    project.put("state/tasks.json", tasks(task(1)))
    denied, missing, good = serve(
        project,
        {"id": 1, "event": event, "session": "r", "parent": "", **WRITE},
        {"id": 2, "session": "r", "parent": "", **WRITE},
        {"id": 3, "event": "before", "session": "r", "parent": "", **WRITE},
    )
    assert denied["deny"].startswith("The report of the OpenCode plugin about this event is malformed.")
    assert "fault of its own" not in denied["deny"]
    assert missing == {**denied, "id": 2}
    assert good == {"id": 3}


def test_command_text_has_no_tags(project: Project) -> None:
    """Fault 3: the text of a command arrives as a message, and a tag in it is text; the next message has tags."""
    answers = serve(
        project,
        {"id": 1, "event": "command", "session": "r"},
        {"id": 2, "event": "message", "session": "r", "prompt": "[plan] from a command"},
        {"id": 3, "event": "message", "session": "r", "prompt": "[plan] typed"},
    )
    assert "nx-plan" not in answers[1].get("context", "")
    assert "nx-plan" in answers[2]["context"]


def test_finished_cycle_continues_the_turn_once(project: Project) -> None:
    """At the end of a turn with a finished cycle the plugin gets one instruction to continue."""
    project.put("state/tasks.json", tasks(task(1, status="completed")))
    idle = {"event": "idle", "session": "r"}
    start = {"id": 0, "event": "message", "session": "r", "prompt": "x"}
    answers = serve(project, start, {"id": 1, **idle}, {"id": 2, **idle})
    assert "task_close" in answers[1]["goes_on"]
    assert answers[2] == {"id": 2}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--native", "claude-code", "user_message"], "not both"),
        (["--native", "claude-code", "--serve"], "is for opencode"),
        (["--native", "opencode"], "--native opencode needs --serve"),
        (["--native", "opencode", "--serve", "--plugin"], "--serve and --plugin do not go together"),
        (["--serve", "user_message"], "needs --native"),
        ([], "needs an argument EVENT"),
    ],
)
def test_wrong_command_line_says_what_is_missing(words: list[str], text: str, capsys: Any) -> None:
    """A wrong command line exits with 2 and names the options that belong together."""
    from nexus_mcp.cli import main

    assert main(["hook", *words]) == 2
    assert text in capsys.readouterr().err


def test_error_in_the_answer_denies_a_tool(capsysbinary: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If our answer cannot be written in the harness's form, a tool is denied, and other events print nothing."""
    from nexus_mcp.cli.native_hook import NativeEvent
    from nexus_mcp.cli.options import Values
    from nexus_mcp.harness import dialect

    def fail(*_: object) -> object:
        raise MemoryError

    monkeypatch.setattr(dialect, "render", fail)
    values = Values()
    values["--native"] = "codex"
    event = NativeEvent(values)
    event.print({})
    event.native_name = "SessionEnd"
    event.print({})
    (line,) = capsysbinary.readouterr().out.splitlines()
    assert decision(json.loads(line)) == "deny"
