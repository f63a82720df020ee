"""`nexus-mcp init`."""

from __future__ import annotations

import json
import tomllib

from tests.cli.support import nexus
from tests.support import Project, without_lock

FILES = {".nexus/", ".nexus/state/", ".nexus/.gitignore"}


def told(out: str) -> dict[str, str]:
    """What init says about each path: path -> made | there already."""
    return {
        path: verdict
        for line in out.splitlines()
        for path in FILES
        for verdict in ("made", "there already")
        if line.split(path + " ")[0].strip() == verdict
    }


def test_makes_the_folder(project: Project) -> None:
    """Init makes .nexus/, state/ and .gitignore, and says so."""
    ran = nexus("init", "--project", str(project.root))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == str(project.root)
    assert told(ran.out) == dict.fromkeys(FILES, "made")
    assert project.get(".gitignore") == b"state/\n"
    assert project.state.is_dir()


def test_may_be_run_again(project: Project) -> None:
    """A second init changes nothing and says what was there."""
    nexus("init", "--project", str(project.root))
    before = without_lock(project.snapshot())
    ran = nexus("init", cwd=project.root)
    assert (ran.code, told(ran.out)) == (0, dict.fromkeys(FILES, "there already"))
    assert without_lock(project.snapshot()) == before


def test_keeps_what_is_there(project: Project) -> None:
    """Init makes only what is missing: a .gitignore of the user's own stays as it is."""
    project.put(".gitignore", "state/\n*.tmp\n")
    ran = nexus("init", cwd=project.root)
    assert told(ran.out) == {".nexus/": "there already", ".nexus/state/": "made", ".nexus/.gitignore": "there already"}
    assert project.get(".gitignore") == b"state/\n*.tmp\n"


def test_prints_an_odd_name_escaped(project: Project) -> None:
    """A folder name with escape, newline and bidirectional characters reaches the terminal escaped, on one line."""
    odd = project.root.parent / "a\x1b[31m\n\u202eb"
    project.root.rename(odd)
    ran = nexus("init", "--project", str(odd))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == f"{odd.parent}/a\\x1b[31m\\n\\u202eb"
    assert [line for line in ran.out.split("\n") if not line.isprintable()] == []


def test_refuses_a_link(project: Project) -> None:
    """Init does not follow a link in place of .nexus, and tells it in one line."""
    elsewhere = project.root.parent / "elsewhere"
    elsewhere.mkdir()
    project.nexus.symlink_to(elsewhere)
    ran = nexus("init", cwd=project.root)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert "symbolic link" in ran.err
    assert list(elsewhere.iterdir()) == []


def test_prints_lines_that_parse(project: Project) -> None:
    """The printed lines are JSON and TOML that start the server with the harness id asked for."""
    out = nexus("init", "--harness-id", "codex", cwd=project.root).out
    shell, claude, codex, opencode = out.split("\n\n")[2:]
    assert shell.splitlines()[1].startswith("claude mcp add nexus -- ")
    server = json.loads(claude.partition("\n")[2])["mcpServers"]["nexus"]
    assert server["type"] == "stdio"
    assert server["args"][-3:] == ["serve", "--harness-id", "codex"]
    command = [server["command"], *server["args"]]
    table = tomllib.loads(codex.partition("\n")[2])["mcp_servers"]["nexus"]
    assert table == {
        "command": command[0],
        "args": command[1:],
        "required": True,
        "startup_timeout_sec": 20,
        "default_tools_approval_mode": "approve",
    }
    assert json.loads(opencode.partition("\n")[2])["mcp"]["nexus"] == {
        "type": "local",
        "command": command,
        "enabled": True,
    }
