"""The project folder and the harness id that a server works with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nexus_mcp.errors import UsageError
from nexus_mcp.server.app import App
from nexus_mcp.server.faults import Fault
from nexus_mcp.workspace import Workspace, check_harness_id, find_root, misplaced_in
from tests.conftest import CHECKOUT

VARIABLE = "NEXUS_PROJECT_ROOT"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Folders to choose from: top/.git, top/a/b and other."""
    for name in ("top/.git", "top/a/b", "other", "third"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path.resolve()


@pytest.mark.requirement("root.option", "root.environment", "root.git", "root.cwd")
def test_option_wins_over_variable_repository_and_folder(place: Path) -> None:
    """The root is that of the option, else of the variable, else the repository above, else the working directory."""
    option, variable, cwd = str(place / "other"), str(place / "third"), str(place / "top/a/b")
    assert find_root(option, {VARIABLE: variable}, cwd) == option
    assert find_root(None, {VARIABLE: variable}, cwd) == variable
    assert find_root(None, {}, cwd) == str(place / "top")
    assert find_root(None, {}, str(place / "other")) == str(place / "other")


@pytest.mark.requirement("root.git", "root.git-file")
def test_nearest_git_decides_the_root(place: Path) -> None:
    """The nearest .git, a folder or a file, decides; the search begins in the working directory."""
    cwd = str(place / "top/a/b")
    (place / "top/a/.git").write_text("gitdir: elsewhere\n")
    assert find_root(None, {}, cwd) == str(place / "top/a")
    (place / "top/a/b/.git").mkdir()
    assert find_root(None, {}, cwd) == cwd


@pytest.mark.requirement("root.empty-variable")
def test_empty_variable_counts_as_unset(place: Path) -> None:
    """An empty variable is not set."""
    assert find_root(None, {VARIABLE: ""}, str(place / "top/a")) == str(place / "top")


@pytest.mark.requirement("root.relative-variable")
def test_relative_root_starts_at_the_working_directory(place: Path) -> None:
    """Relative paths count from the working directory."""
    assert find_root(None, {VARIABLE: "../other"}, str(place / "top")) == str(place / "other")
    assert find_root("a", {}, str(place / "top")) == str(place / "top/a")
    assert find_root(".", {}, str(place / "top/a")) == str(place / "top/a")


@pytest.mark.requirement("root.resolved")
def test_links_are_resolved(place: Path) -> None:
    """The root contains no link, whichever way it was found."""
    (place / "link").symlink_to("top")
    expected = str(place / "top")
    assert find_root(str(place / "link"), {}, "/") == expected
    assert find_root(None, {VARIABLE: str(place / "link")}, "/") == expected
    assert find_root(None, {}, str(place / "link" / "a")) == expected


@pytest.mark.parametrize("path", ["top/.git", "top/.git/hooks", "top/link"])
def test_root_within_git_is_refused(place: Path, path: str) -> None:
    """A requested root within a folder .git is an error that names the project around it."""
    (place / "top/.git/hooks").mkdir()
    (place / "top/link").symlink_to(".git")
    asked: list[tuple[str, str | None, dict[str, str]]] = [("--project", path, {}), (VARIABLE, None, {VARIABLE: path})]
    for source, option, environment in asked:
        with pytest.raises(UsageError) as raised:
            find_root(option, environment, str(place))
        assert str(raised.value) == (
            f"{source}: {path!r} is within {str(place / 'top/.git')!r}, the folder of git itself. "
            f"Name the project folder, {str(place / 'top')!r}."
        )


def test_worktree_within_git_is_allowed(place: Path) -> None:
    """A worktree may lie within a folder .git, and a folder may have a name that begins so."""
    (place / "top/.git/tree").mkdir()
    (place / "top/.git/tree/.git").write_text("gitdir: elsewhere\n")
    (place / "top/.github").mkdir()
    for path in ("top/.git/tree", "top/.github"):
        assert find_root(path, {}, str(place)) == str(place / path)


@pytest.mark.requirement("root.missing")
@pytest.mark.parametrize("path", ["missing", "top/file", "missing/..x", "bad\0name"])
def test_root_that_is_no_folder_is_refused(place: Path, path: str) -> None:
    """A requested root that is no folder is an error; no other root is tried, and no file is created."""
    (place / "top/file").write_text("")
    for option, environment in ((path, {}), (None, {VARIABLE: path})):
        with pytest.raises(UsageError):
            find_root(option, environment, str(place))
    assert not (place / "missing").exists()


@pytest.mark.requirement("root.missing")
@pytest.mark.parametrize("by", ["option", "variable"])
def test_the_server_ends_with_one_line(place: Path, by: str) -> None:
    """The process ends at once with status 2, one line on stderr and nothing on stdout."""
    missing = str(place / "missing")
    option = ["--project", missing] if by == "option" else []
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), **({VARIABLE: missing} if by == "variable" else {})}
    done = subprocess.run(
        [sys.executable, "-m", "nexus_mcp", "serve", *option],
        env=environment,
        cwd=place,
        input=b"",
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1
    assert missing.encode() in done.stderr
    assert not Path(missing).exists()


@pytest.mark.requirement("harness.pattern")
@pytest.mark.parametrize("value", ["a", "claude-code", "x9", "a-", "a" * 60])
def test_valid_harness_id_is_accepted(value: str) -> None:
    """A harness id of small letters, digits and hyphens is fine."""
    assert check_harness_id(value) == value


@pytest.mark.requirement("harness.pattern")
@pytest.mark.parametrize(
    "value",
    [
        "", "A", "9a", "-a", "a_b", "a.b", "../x", "a/b", "ä", "a\n", "a ", " a", "a\0", "ａ",
    ],
)  # fmt: skip
def test_invalid_harness_ids_are_refused(value: str) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError):
        check_harness_id(value)


@pytest.mark.requirement("harness.pattern")
@pytest.mark.parametrize("value", ["artifacts", "cache", "lock"])
def test_reserved_harness_ids_are_refused(value: str) -> None:
    """The names that all harnesses share in .nexus/state cannot be harness ids."""
    with pytest.raises(UsageError, match=f"nexus-mcp uses .nexus/state/{value} for something else"):
        check_harness_id(value)


@pytest.mark.requirement("harness.default")
def test_default_harness_id_is_nexus_mcp(place: Path) -> None:
    """Without a choice the harness id is nexus-mcp."""
    assert Workspace(str(place)).harness_id == "nexus-mcp"


HOSTS = [
    ("home/.claude/plugins/cache/nexus", {}),
    ("conf/plugins/cache/nexus", {"CLAUDE_CONFIG_DIR": "conf"}),
    ("home/.codex/plugins", {}),
    ("codex/plugins/a/b", {"CODEX_HOME": "codex"}),
]


@pytest.fixture(params=HOSTS, ids=[folder for folder, _ in HOSTS])
def host(request: pytest.FixtureRequest, place: Path) -> tuple[str, dict[str, str]]:
    """A folder of plugins in which a host starts the server, and its environment; the home folder is a repository."""
    folder, variables = request.param
    (place / folder).mkdir(parents=True)
    (place / "home/.git").mkdir(parents=True, exist_ok=True)
    return str(place / folder), {"HOME": str(place / "home")} | {n: str(place / v) for n, v in variables.items()}


def test_a_plugin_gets_the_project_from_the_variable(host: tuple[str, dict[str, str]], place: Path) -> None:
    """CLAUDE_PROJECT_DIR stands for the working directory where that is a folder of plugins, and only there."""
    folder, environ = host
    named = {**environ, "CLAUDE_PROJECT_DIR": str(place / "top/a")}
    assert find_root(None, named, folder) == str(place / "top")
    assert find_root(None, named, str(place / "other")) == str(place / "other")
    assert find_root(None, {**named, VARIABLE: str(place / "third")}, folder) == str(place / "third")
    assert misplaced_in(None, named, folder) == ""
    assert misplaced_in(str(place), environ, folder) == misplaced_in(None, {**environ, VARIABLE: "/"}, folder) == ""
    assert misplaced_in(None, environ, str(place / "other")) == misplaced_in(None, {}, folder) == ""


@pytest.mark.parametrize("named", ["", "relative", "/no/such/folder", "{host}", "a\0b"])
def test_a_plugin_without_a_project_is_misplaced(host: tuple[str, dict[str, str]], named: str) -> None:
    """A variable that names nothing usable is as good as none."""
    folder, environ = host
    environ = {**environ, "CLAUDE_PROJECT_DIR": named.replace("{host}", folder)}
    found = misplaced_in(None, environ, folder)
    assert found.endswith("plugins")
    assert folder.startswith(found)


def test_misplaced_server_reports_it_and_writes_nothing(place: Path) -> None:
    """Each tool, resource and prompt returns the next step; the lists still work, and no file is created."""
    app = App(Workspace(str(place / "other")), outside=str(place / "other"))
    for tool in app.tools():
        answer = app.call(tool["name"], {}).result
        assert answer["isError"]
        assert (
            "where it keeps plugins, and not in a project; nothing was read or written. Start it in"
            in answer["structuredContent"]["error"]
        )
    for method, params in (("resources/read", {"uri": "nexus://plan"}), ("prompts/get", {"name": "plan"})):
        with pytest.raises(Fault, match="CLAUDE_PROJECT_DIR"):
            app.read(method, params, modern=True)
    assert app.read("prompts/list", {}, modern=True).result["prompts"]
    assert list((place / "other").iterdir()) == []


def test_serve_in_a_plugin_folder_answers_with_the_reason(place: Path) -> None:
    """The whole server, started as a host does it: a tool's error, and nothing in the folder."""
    folder = place / "home/.claude/plugins/cache"
    folder.mkdir(parents=True)
    lines = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
        '"clientInfo":{"name":"t","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plan_start","arguments":{"topic":"t",'
        '"issues":[],"research_summary":""}}}\n'
    )
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CHECKOUT), "HOME": str(place / "home")}
    command = [sys.executable, "-m", "nexus_mcp", "serve"]
    done = subprocess.run(command, cwd=folder, env=environ, input=lines, capture_output=True, text=True, check=True)
    assert "where it keeps plugins" in done.stdout.splitlines()[1]
    assert list(folder.iterdir()) == []
