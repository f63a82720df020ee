"""`nexus-mcp hook EVENT` as a process: params on stdin, one line on stdout, an exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nexus_mcp.cli.hook import LIMIT
from tests.cli.support import CHECKOUT, COMMAND, environment, nexus, nexus_on_terminal
from tests.cli.test_texts import HEAVY
from tests.lifecycle.support import ACCESS, SPAWN, TRACKER
from tests.support import Project, compact

EXAMPLE = "Example: echo '{}' | nexus-mcp hook session_end"
SPAWNED = """Example: echo '{"agent_name": "engineer", "agent_id": "a1"}' | nexus-mcp hook agent_spawn"""


@pytest.mark.requirement("events.command")
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
        "agent_id": "é 1",
        "resumed": False,
        "warnings": [
            "No agent 'é 1' is in the tracker of nexus-mcp, so nothing was recorded. "
            "Tell of an agent with agent_spawn when it begins."
        ],
    }
    assert ran == (0, compact(answer) + "\n", "")


@pytest.mark.requirement("events.command", "agents.harness-id")
def test_the_project_and_the_harness(project: Project) -> None:
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
    ("event", "stdin", "message"),
    [
        (
            "agent_spwn",
            "{}",
            "nexus-mcp hook has no EVENT 'agent_spwn'; did you mean agent_spawn or agent_resume? "
            "See nexus-mcp hook --help.",
        ),
        ("agent_spawn", "", f"agent_spawn: agent_name is required; agent_id is required. {SPAWNED}"),
        ("session_end", "[]", f"session_end: the params must be an object. {EXAMPLE}"),
        (
            "session_end",
            "{",
            f"The JSON on stdin (line 1, column 2) is not JSON "
            f"(Expecting property name enclosed in double quotes). {EXAMPLE}",
        ),
        (
            "session_end",
            '{"a": 1, "a": 1}',
            f"The JSON on stdin (line 1, column 10) has an object with the same key twice. {EXAMPLE}",
        ),
        (
            "session_end",
            '{"a": NaN}',
            f"The JSON on stdin (line 1, column 7) has NaN or Infinity, which JSON does not know. {EXAMPLE}",
        ),
        (
            "session_end",
            '{"a": ' + "[" * 70 + "]" * 70 + "}",
            f"The JSON on stdin (line 1, column 70) is nested too deeply. {EXAMPLE}",
        ),
        (
            "session_end",
            '{"harness_id": "../x"}',
            "The harness id '../x' is not usable: it starts with a-z and goes on with "
            "a-z, 0-9 and -. Example: --harness-id claude-code",
        ),
        ("session_end", " " * (LIMIT + 1), "The params on stdin are larger than the 4 MiB that are read."),
    ],
    ids=["event", "missing", "array", "cut", "twice", "nan", "deep", "harness", "large"],
)
def test_usage(project: Project, event: str, stdin: str, message: str) -> None:
    """What is no event, or no params for it, ends with 2 and one line, and nothing is written."""
    before = project.snapshot()
    assert nexus("hook", event, cwd=project.root, stdin=stdin) == (2, "", f"nexus-mcp: {message}\n")
    assert project.snapshot() == before


@pytest.mark.requirement("events.usage")
def test_not_utf8(project: Project) -> None:
    """Bytes that are not UTF-8 end with 2 and one line."""
    done = subprocess.run(
        [*COMMAND, "hook", "session_end"],
        cwd=project.root,
        env=environment(),
        input=b'{"a": "\xff"}',
        capture_output=True,
        check=False,
    )
    message = f"nexus-mcp: The JSON on stdin (line 1, byte 8) is not UTF-8. {EXAMPLE}\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", message)


@pytest.mark.requirement("events.usage")
def test_on_a_terminal() -> None:
    """With a keyboard at stdin it does not wait for params."""
    message = f"nexus-mcp: The params come on stdin as JSON, and stdin is a terminal. {EXAMPLE}\n"
    assert nexus_on_terminal("hook", "session_end") == (2, "", message)


@pytest.mark.parametrize(
    ("redirect", "message"),
    [
        ("<&-", "There is no stdin to read the params from."),
        ("0>/dev/null", "The params could not be read from stdin: Bad file descriptor."),
    ],
)
def test_no_stdin(project: Project, redirect: str, message: str) -> None:
    """A stdin that is closed or cannot be read is told in one line."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirect}', "sh", *COMMAND, "hook", "session_end"],
        cwd=project.root,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"nexus-mcp: {message} {EXAMPLE}\n")
    assert not project.nexus.exists()


@pytest.mark.requirement("events.failed")
def test_failed(project: Project) -> None:
    """A tracker that cannot be used ends with 1 and one line, and stays."""
    project.put(TRACKER.removeprefix(".nexus/"), "secret")
    ran = nexus("hook", "agent_spawn", cwd=project.root, stdin=compact(SPAWN))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"nexus-mcp: {TRACKER} (line 1, column 1) is not JSON (Expecting value); nothing was changed. "
        f"Look at {TRACKER}, mend it or restore it from a copy, then call again.\n"
    )
    assert (project.root / TRACKER).read_bytes() == b"secret"


def test_nothing_heavy_is_imported(project: Project) -> None:
    """An event imports none of the modules that take long, and no tool: hooks run beside every step of an agent."""
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n"
        "from nexus_mcp.cli import main; code = main(['hook', 'session_end'])\n"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        cwd=project.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    modules = set(done.stderr.split())
    assert (done.returncode, modules & {*HEAVY, "nexus_mcp.tools", "nexus_mcp.server"}) == (0, set())
    assert (project.root / ACCESS).exists()


def test_stdout_that_nobody_reads(project: Project) -> None:
    """A reader that went away does not undo the event, and ends it without a word."""
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
    """A tracker written before is rewritten with what it had: two events of two processes add up."""
    for agent in ("a1", "a2"):
        assert nexus("hook", "agent_spawn", cwd=tmp_path, stdin=compact({**SPAWN, "agent_id": agent})).code == 0
    assert [entry["agent_id"] for entry in json.loads((tmp_path / TRACKER).read_text())] == ["a1", "a2"]
