"""`nexus-mcp serve` and the bare command as a process: the effects of the options."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.tools import TOOLS
from tests.cli.support import COMMAND, LIMIT, environment, nexus, nexus_on_terminal
from tests.support import Project

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
WAITING = "nexus-mcp waits for an MCP client on stdin"


def line(method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}) + "\n"


def answers(out: str) -> list[Any]:
    return [json.loads(text)["result"] for text in out.splitlines()]


@pytest.mark.parametrize("words", [(), ("serve",), ("serve", "--sdk"), ("--sdk",)], ids=" ".join)
def test_serve_puts_the_prefix_before_every_tool(words: tuple[str, ...]) -> None:
    """The bare command and serve take the same options; the prefix goes before every name."""
    ran = nexus(*words, "--tool-prefix", "nx_", stdin=line("tools/list"))
    assert (ran.code, ran.err) == (0, "")
    (listed,) = answers(ran.out)
    assert [tool["name"] for tool in listed["tools"]] == [f"nx_{tool.name}" for tool in TOOLS]


@pytest.mark.parametrize("words", [(), ("serve",)], ids=" ".join)
def test_project_option_wins_over_directory_and_variable(words: tuple[str, ...], project: Project) -> None:
    """--project decides where `.nexus` is created, whatever the working directory and the variable are."""
    request = line("tools/call", name="task_add", arguments={"title": "Do it", "context": "Because"})
    ran = nexus(*words, "--project", str(project.root), stdin=request, env={"NEXUS_PROJECT_ROOT": "/nowhere"})
    assert (ran.code, ran.err) == (0, "")
    assert answers(ran.out)[0]["structuredContent"]["task"]["id"] == 1
    assert [task["title"] for task in project.json("state/tasks.json")["tasks"]] == ["Do it"]


def test_variable_names_the_project(project: Project) -> None:
    """Without the option the variable names the project."""
    request = line("tools/call", name="artifact_write", arguments={"filename": "a", "content": ""})
    ran = nexus(stdin=request, env={"NEXUS_PROJECT_ROOT": str(project.root)})
    assert answers(ran.out)[0]["structuredContent"]["path"] == str(project.state / "artifacts" / "a")


def test_repository_around_the_working_directory_is_served(project: Project) -> None:
    """Without both, the repository around the working directory is served."""
    inside = project.root / "src" / "deep"
    inside.mkdir(parents=True)
    nexus(stdin=line("tools/call", name="artifact_write", arguments={"filename": "a", "content": ""}), cwd=inside)
    assert (project.state / "artifacts" / "a").is_file()


def test_log_level_filters_stderr_only(project: Project) -> None:
    """Logs go to stderr, as many as the level lets through; stdout stays the same."""
    requests = line("tools/call", name="task_list", arguments={"x": 1})
    told = [f"nexus-mcp: info: serving {project.root} as codex", "nexus-mcp: info: task_list: "]
    words = ("serve", "--project", str(project.root), "--harness-id", "codex")
    quiet = nexus(*words, stdin=requests)
    loud = nexus(*words, "--log-level", "info", stdin=requests)
    by_variable = nexus(*words, stdin=requests, env={"NEXUS_LOG": "info"})
    assert quiet.err == ""
    lines = loud.err.splitlines()
    assert [text.startswith(start) for text, start in zip(lines, told, strict=True)] == [True, True]
    assert by_variable.err == loud.err
    assert quiet.out == loud.out == by_variable.out


def test_serve_on_a_terminal_explains_itself() -> None:
    """serve on a terminal prints what it waits for, and Ctrl-D ends it."""
    ran = nexus_on_terminal("serve", keys=b"\x04")
    assert ran.code == 0
    assert ran.err.startswith(WAITING)
    assert len(ran.err.splitlines()) == 1


def test_serve_on_a_pipe_prints_nothing_on_stderr() -> None:
    """A client that reads stderr finds nothing there."""
    assert nexus("serve") == (0, "", "")


@pytest.mark.parametrize("words", [("serve",), ("serve", "--sdk")], ids=" ".join)
def test_interrupt_ends_the_server_without_traceback(words: tuple[str, ...], tmp_path: Path) -> None:
    """Ctrl-C ends the server without a traceback."""
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line("tools/list"))
    process.stdin.flush()
    process.stdout.readline()  # it is up and has answered
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert (out, err) == ("", "")
    assert process.returncode == 0


def test_closed_descriptor_ends_with_one_line(tmp_path: Path) -> None:
    """A server without stdin, or without stdout, ends with at most one line."""
    for closing in ("<&-", ">&-", "<&- >&-"):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {closing}', "sh", *COMMAND, "serve"],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode in (0, 1), closing
        assert len(done.stderr.splitlines()) <= 1, done.stderr


def test_module_and_script_are_one() -> None:
    """`python -m nexus_mcp` is the command nexus-mcp."""
    script = Path(COMMAND[0]).parent / "nexus-mcp"
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert (done.returncode, done.stdout) == (0, nexus("--version").out)
