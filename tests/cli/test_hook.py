"""`nexus-mcp hook EVENT` as a process: params on stdin, one line on stdout, an exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nexus_mcp.lifecycle import EVENTS
from tests.cli.support import CHECKOUT, COMMAND, environment, nexus, nexus_on_terminal
from tests.cli.test_help import HEAVY
from tests.lifecycle.support import SPAWN, TRACKER
from tests.support import Project, compact, plan, task, tasks

# What is there for projects with files of their own, and for doing what a tag asks for.
LAZY = ("yaml", "difflib", "markdown_it", "nexus_mcp.catalog.building")
ALIASES = {"subagent_spawn": "agent_spawn", "subagent_complete": "agent_complete"}


@pytest.mark.requirement("events.command", "events.answer")
def test_an_answer_is_one_line(project: Project) -> None:
    """The answer is one compact line of JSON in UTF-8, whatever the encoding of the output."""
    ran = nexus(
        "hook",
        "agent_resume",
        "--project",
        str(project.root),
        stdin=json.dumps({"agent_id": "é 1"}),
        env={"PYTHONIOENCODING": "ascii"},
    )
    answer = {
        "event": "agent_resume",
        "harness_id": "nexus-mcp",
        "decision": "continue",
        "agent_id": "é 1",
        "resumed": False,
        "warnings": [
            'No agent "é 1" is in the tracker of nexus-mcp, so nothing was recorded. '
            "Send agent_spawn when an agent begins."
        ],
    }
    assert ran == (0, compact(answer) + "\n", "")


@pytest.mark.requirement("events.command", "agents.harness-id")
def test_hook_finds_the_project_and_the_harness(project: Project) -> None:
    """The working directory and the environment lead to the project, --harness-id and the params to the harness."""
    below = project.root / "src"
    below.mkdir()
    assert nexus("hook", "agent_spawn", cwd=below, stdin=compact(SPAWN)).code == 0
    root = {"NEXUS_PROJECT_ROOT": str(project.root)}
    assert nexus("hook", "--harness-id=a", "session_end", env=root).code == 0
    params = compact({"harness_id": "b"})
    assert nexus("hook", "session_end", "--harness-id", "a", env=root, stdin=params).code == 0
    found = {path.relative_to(project.state).as_posix() for path in project.state.glob("*/*")}
    assert found == {"nexus-mcp/agent-tracker.json", "a/memory-access.jsonl", "b/memory-access.jsonl"}


@pytest.mark.requirement("events.usage")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("agent_spwn",),
            "nexus-mcp hook has no EVENT 'agent_spwn'; did you mean agent_spawn? See nexus-mcp hook --help.",
        ),
        (
            ("session_end", "--harness-id", "../x"),
            "The harness id '../x' is not usable: a harness id starts with a-z and goes on with a-z, 0-9 and -. "
            "Example: --harness-id claude-code",
        ),
        (
            ("session_end", "--project", "gone"),
            "--project: 'gone' is not a folder. Name an existing project folder.",
        ),
    ],
    ids=["event", "harness", "project"],
)
def test_wrong_command_line_exits_with_2(project: Project, words: tuple[str, ...], message: str) -> None:
    """A command line that is wrong ends with 2 and one line, and nothing is written."""
    before = project.snapshot()
    assert nexus("hook", *words, cwd=project.root, stdin="{}") == (2, "", f"nexus-mcp: {message}\n")
    assert project.snapshot() == before


@pytest.mark.requirement("events.usage")
def test_hook_on_a_terminal_does_not_wait() -> None:
    """With a keyboard at stdin it does not wait for params."""
    message = (
        "nexus-mcp: The params come on stdin as JSON, but stdin is a terminal. "
        "Example: echo '{}' | nexus-mcp hook session_end\n"
    )
    assert nexus_on_terminal("hook", "session_end") == (2, "", message)


@pytest.mark.parametrize("event", EVENTS)
def test_nothing_heavy_is_imported(project: Project, event: str) -> None:
    """An event imports none of the modules that take long, and no tool: hooks run beside every step of an agent."""
    project.put("memory/a.md", "A")
    project.put("state/plan.json", plan())
    project.put("state/tasks.json", tasks(task(1)))
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n"
        f"from nexus_mcp.cli import main; code = main(['hook', {event!r}])\n"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    read = {"tool": "Read", "tool_input": {"file_path": ".nexus/memory/a.md"}}
    payload = {**SPAWN, **read, "harness_id": "claude-code", "prompt": "[run] it", "source": "startup"}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        cwd=project.root,
        input=compact(payload),
        capture_output=True,
        text=True,
        check=False,
    )
    modules = set(done.stderr.split())
    heavy = {*HEAVY, *LAZY, "nexus_mcp.tools", "nexus_mcp.server"}
    assert (done.returncode, modules & heavy) == (0, set())
    assert "could not be handled" not in done.stdout
    own = {name for name in modules if name.startswith("nexus_mcp.lifecycle.")}
    others = {f"nexus_mcp.lifecycle.{name}" for name in EVENTS} - {f"nexus_mcp.lifecycle.{ALIASES.get(event, event)}"}
    assert own & others == set()


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("no bracket, but `code`", set()),
        ("row[3] is `code`", {"nexus_mcp.tags.markdown"}),
        ("[run] it (now)", {"nexus_mcp.tags.markdown"}),
        ("[run] `it`", {"nexus_mcp.tags.markdown", "markdown_it"}),
    ],
)
def test_a_message_without_markup_loads_no_markdown_parser(project: Project, prompt: str, expected: set[str]) -> None:
    """The parser takes as long to load as a whole hook; only a message with a tag and markup needs it."""
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n"
        "from nexus_mcp.cli import main; code = main(['hook', 'user_message'])\n"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project.root,
        input=compact({"prompt": prompt}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"nexus_mcp.tags.markdown", "markdown_it"} & set(done.stderr.split()) == expected


def test_closed_stdout_does_not_undo_the_event(project: Project) -> None:
    """If the reader closes the pipe, the event is kept, and the hook ends without a message."""
    process = subprocess.Popen(
        [*COMMAND, "hook", "agent_spawn"],
        cwd=project.root,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(compact(SPAWN).encode(), timeout=60)
    assert (process.returncode, err) == (141, b"")
    assert (project.root / TRACKER).exists()


def test_the_old_tracker_is_whole(tmp_path: Path) -> None:
    """A tracker of an older version is rewritten with its entries: events of two processes add up."""
    for agent in ("a1", "a2"):
        assert nexus("hook", "agent_spawn", cwd=tmp_path, stdin=compact({**SPAWN, "agent_id": agent})).code == 0
    assert [entry["agent_id"] for entry in json.loads((tmp_path / TRACKER).read_text())] == ["a1", "a2"]
