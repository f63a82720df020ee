"""`nexus-mcp init`."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.cli.mount import CLIENTS
from tests.cli.support import CHECKOUT, nexus, nexus_on_terminal
from tests.conftest import git
from tests.support import Project, without_lock

FILES = {".nexus/", ".nexus/state/", ".nexus/.gitignore"}


def told(out: str) -> dict[str, str]:
    """Return the lines of init as a dict: path -> created | kept."""
    return {
        path: verdict
        for line in out.splitlines()
        for path in FILES
        for verdict in ("created", "kept")
        if line.split(path + " ")[0].strip() == verdict
    }


def test_init_creates_the_folder(project: Project) -> None:
    """Init creates .nexus/, state/ and .gitignore, and lists them."""
    ran = nexus("init", "--project", str(project.root))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == str(project.root)
    assert told(ran.out) == dict.fromkeys(FILES, "created")
    assert project.get(".gitignore") == b"state/\n"
    assert project.state.is_dir()


def test_second_init_changes_nothing(project: Project) -> None:
    """A second init changes nothing and lists the existing files."""
    nexus("init", "--project", str(project.root))
    before = without_lock(project.snapshot())
    ran = nexus("init", cwd=project.root)
    assert (ran.code, told(ran.out)) == (0, dict.fromkeys(FILES, "kept"))
    assert without_lock(project.snapshot()) == before


def test_init_keeps_existing_files(project: Project) -> None:
    """Init creates only missing files: a user's own .gitignore stays unchanged."""
    project.put(".gitignore", "state/\n*.tmp\n")
    ran = nexus("init", cwd=project.root)
    assert told(ran.out) == {".nexus/": "kept", ".nexus/state/": "created", ".nexus/.gitignore": "kept"}
    assert project.get(".gitignore") == b"state/\n*.tmp\n"


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (b"*.tmp\nstate/\n", "keeps state/ out of git"),
        (b"*\n", "keeps state/ out of git"),
        (b"*.tmp\n", "does not keep state/ out of git: add the line state/"),
        (b"state/\n!state/\n", "does not keep state/ out of git: add the line state/"),
        (b"stat[e]/\n", "may keep state/ out of git: nexus-mcp doctor asks git"),
    ],
)
def test_init_reports_whether_gitignore_excludes_state(project: Project, rules: bytes, told: str) -> None:
    """For an existing .gitignore, init says whether its rules exclude state/, and if not, which line to add."""
    project.put(".gitignore", rules)
    lines = nexus("init", cwd=project.root).out.splitlines()
    assert lines[3] == f"  kept     .nexus/.gitignore  {told}"
    assert project.get(".gitignore") == rules


def test_prints_an_odd_name_escaped(project: Project) -> None:
    """A folder name with escape, newline and bidirectional characters reaches the terminal escaped, on one line."""
    odd = project.root.parent / "a\x1b[31m\n\u202eb"
    project.root.rename(odd)
    ran = nexus("init", "--project", str(odd))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == f"{odd.parent}/a\\x1b[31m\\n\\u202eb"
    assert [line for line in ran.out.split("\n") if not line.isprintable()] == []


def test_init_refuses_a_link(project: Project) -> None:
    """Init does not follow a link in place of .nexus, and reports it in one line."""
    elsewhere = project.root.parent / "elsewhere"
    elsewhere.mkdir()
    project.nexus.symlink_to(elsewhere)
    ran = nexus("init", cwd=project.root)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert "symbolic link" in ran.err
    assert list(elsewhere.iterdir()) == []


def printed(project: Project, *options: str) -> dict[str, list[str]]:
    """Return the command that starts the server, by client, from the printed JSON and TOML."""
    out = nexus("init", *options, cwd=project.root).out
    shell, claude, codex, opencode = out.split("\n\n")[2:6]
    line = shell.splitlines()[1]
    server = json.loads(claude.partition("\n")[2])["mcpServers"]["nexus"]
    table = tomllib.loads(codex.partition("\n")[2])["mcp_servers"]["nexus"]
    entry = json.loads(opencode.partition("\n")[2])["mcp"]["nexus"]
    assert line.startswith("claude mcp add nexus -- ")
    assert (server.pop("type"), entry.pop("type"), entry.pop("enabled")) == ("stdio", "local", True)
    found = {
        "shell": shlex.split(line)[5:],
        "claude-code": [server.pop("command"), *server.pop("args")],
        "codex": [table.pop("command"), *table.pop("args")],
        "opencode": entry.pop("command"),
    }
    assert (server, entry) == ({}, {})
    assert table == {"required": True, "startup_timeout_sec": 20, "default_tools_approval_mode": "approve"}
    return found


@pytest.mark.parametrize("options", [(), ("--harness-id", "codex")])
def test_each_client_has_its_own_id(project: Project, options: tuple[str, ...]) -> None:
    """The printed lines start the server with the id of the client that they are for, whichever of them is named."""
    found = printed(project, *options, "--tool-prefix", "nx_")
    assert {client: words[-5:] for client, words in found.items()} == {
        client: ["serve", "--harness-id", "claude-code" if client == "shell" else client, "--tool-prefix", "nx_"]
        for client in ("shell", *CLIENTS)
    }
    assert len({tuple(words[:-5]) for words in found.values()}) == 1
    assert list(load(None).maps) == list(CLIENTS)


def test_project_in_a_folder_of_a_repository_is_named_in_the_lines(project: Project) -> None:
    """Where a server that is started in the project would serve another folder, the lines name the project, and why."""
    folder = project.root / "my sub"
    folder.mkdir()
    git(project.root, "init", "-q")
    for words in printed(project, "--project", str(folder), "--tool-prefix", "nx_").values():
        assert words[-4:] == ["--project", str(folder), "--tool-prefix", "nx_"]
    out = nexus("init", "--project", str(folder), cwd=project.root).out
    assert f"a server that starts there serves the repository around it: {project.root}\n" in out
    assert "--scope user" not in out
    assert "Codex: ~/.codex/config.toml, which all your projects share: " in out
    assert (folder / ".nexus").is_dir()
    out = nexus("init", "--project", str(project.root), cwd=folder).out
    assert "--project" not in out.partition("\nThe next steps:\n")[0]


def test_folder_within_git_is_refused(project: Project) -> None:
    """Init makes nothing within a folder .git, and names the project around it."""
    git(project.root, "init", "-q")
    ran = nexus("init", "--project", ".git", cwd=project.root)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert ran.err.endswith(f"Name the project folder, {str(project.root)!r}.\n")
    assert not (project.root / ".git/.nexus").exists()


def test_remove_needs_git_merge(project: Project) -> None:
    """--remove without --git-merge removes nothing, and names the page that lists the deletable files."""
    nexus("init", cwd=project.root)
    ran = nexus("init", "--remove", cwd=project.root)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "nexus-mcp: --remove needs --git-merge: it removes only the merge driver, and no command removes .nexus/. "
        "You can delete .nexus/ yourself once no client runs the server.\n"
    )
    assert project.nexus.is_dir()


def test_other_harness_id_replaces_those_in_all_lines(project: Project) -> None:
    """A harness id of no known client is written into every line; a line says that it has no capability map."""
    found = printed(project, "--harness-id", "claudecode")
    assert [words[-2:] for words in found.values()] == [["--harness-id", "claudecode"]] * 4
    out = nexus("init", "--harness-id", "claudecode", cwd=project.root).out
    assert "\n\nThere is no capability map of claudecode, " in out
    assert "; did you mean claude-code?" in out
    assert steps_of(out)[0] == "  1. Mount the server in your client, with the lines above."
    project.put("capability-map.yml", "claudecode: [")
    ran = nexus("init", "--harness-id", "claudecode", cwd=project.root)
    assert (ran.code, "no capability map" in ran.out) == (0, False)


def steps_of(out: str) -> list[str]:
    """Return the lines of the next steps, which are the last ones."""
    return out.partition("\nThe next steps:\n")[2].splitlines()


def test_init_ends_with_three_steps(project: Project) -> None:
    """The steps are to install for a client, to plan, and to carry out, in lines that fit 80 columns."""
    lines = steps_of(nexus("init", cwd=project.root, env={"PATH": "/nowhere"}).out)
    assert [line[:5] for line in lines if not line.startswith("   ")] == ["  1. ", "  2. ", "  3. "]
    own = shlex.split(lines[1])[:-2]
    assert [shlex.split(line) for line in lines[1:4]] == [[*own, "install", client] for client in CLIENTS]
    assert "[plan]" in lines[4]
    assert "[run]" in lines[5]
    assert shlex.split(lines[6]) == [*own, "status"]
    assert [line for line in lines if len(line) > 79 and not line.startswith("       ")] == []


@pytest.mark.parametrize("answer", ["n", "y"])
def test_steps_follow_a_declined_offer(project: Project, tmp_path: Path, answer: str) -> None:
    """At a terminal init offers to install for a client on the PATH; declined, its steps name that client alone."""
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    options = ("--project", str(project.root))
    path = {"PATH": str(program.parent), "HOME": str(tmp_path)}
    ran = nexus_on_terminal("init", *options, keys=f"{answer}\n".encode(), env=path)
    assert (ran.code, ran.err) == (0, "")
    assert "Install server, hooks, agents and skills for Codex? [y/N] " in ran.out
    lines = steps_of(ran.out)
    assert (project.root / ".codex").exists() == (answer == "y")
    if answer == "y":
        assert lines == []
        assert "\nNext:\n" in ran.out
    else:
        assert [line.split()[-4:] for line in lines if "install" in line] == [["install", "codex", *options]]


def test_steps_name_the_client_the_project_and_the_prefix(project: Project) -> None:
    """The command to install is for the named client, and repeats the options that it needs."""
    options = ["--project", str(project.root), "--tool-prefix", "nx_"]
    first = steps_of(nexus("init", "--harness-id", "codex", *options).out)[1:3]
    assert shlex.split(first[0])[-6:] == ["install", "codex", *options]
    assert first[1].startswith("  2. ")


def test_steps_of_an_installed_project_lead_to_the_parts(project: Project) -> None:
    """Where nexus-mcp is installed, the first step says for which clients, and lists the parts."""
    assert nexus("install", "codex", cwd=project.root).code == 0
    lines = steps_of(nexus("init", cwd=project.root).out)
    assert lines[0] == "  1. nexus-mcp is installed for Codex. To see the parts:"
    assert shlex.split(lines[1])[-2:] == ["install", "--list"]
    (project.nexus / "generated.json").write_text("{")
    assert "installed for" not in nexus("init", cwd=project.root).out


@pytest.mark.parametrize("page", ["docs/claude-code.md", "docs/codex.md", "docs/opencode.md"])
def test_the_pages_have_the_same_lines(project: Project, page: str) -> None:
    """The pages show the lines that init prints, except for the path."""
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    found = {client: words[-2:] for client, words in printed(project).items()}
    if page == "docs/claude-code.md":
        assert f"claude mcp add nexus -- /path/to/nexus-mcp serve {shlex.join(found['shell'])}\n" in text
    own = page.removeprefix("docs/").removesuffix(".md")
    assert own not in CLIENTS or f'"serve", {json.dumps(found[own])[1:]}' in text
