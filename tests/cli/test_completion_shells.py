"""The completion scripts, in bash, zsh and fish themselves."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nexus_mcp.cli import COMMANDS
from nexus_mcp.cli.options import Group
from nexus_mcp.harness import HARNESSES
from nexus_mcp.lifecycle import EVENTS
from tests.cli.support import every_command
from tests.cli.terminal_shells import SHELLS, TAB, Shell
from tests.cli.test_completion import HOSTILE, write_tasks

GROUPS = {" ".join(words): list(one.subcommands) for words, one in every_command() if isinstance(one, Group)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with hostile titles of tasks, a folder with a blank in its name, and a file."""
    root = tmp_path_factory.mktemp("completing") / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "my folder").mkdir()
    (root / "my file.yml").touch()
    write_tasks(root, HOSTILE)
    return root


@pytest.fixture(scope="module", params=SHELLS)
def shell(request: pytest.FixtureRequest, folder: Path) -> Iterator[Shell]:
    """Return a shell in the project."""
    started = Shell(request.param, folder.parent / request.param, folder)
    yield started
    started.close()


def test_shell_offers_the_commands(shell: Shell) -> None:
    """After the program and after `help`, the shell offers each command."""
    assert sorted(shell.all("nexus-mcp ")) == sorted(shell.all("nexus-mcp help ")) == sorted(COMMANDS)


@pytest.mark.parametrize("group", GROUPS)
def test_shell_offers_the_commands_of_a_group(shell: Shell, group: str) -> None:
    """After a group, and after `help` and a group, the shell offers its commands."""
    for line in (f"nexus-mcp {group} ", f"nexus-mcp help {group} "):
        assert sorted(shell.all(line)) == sorted(GROUPS[group])


def test_shell_offers_the_options_of_each_command(shell: Shell) -> None:
    """After a command, the shell offers the options of this command and --help, and no other."""
    for words, command in every_command():
        names = {option.name for option in command.options}
        offered = shell.all(f"nexus-mcp {' '.join(words)} --")
        assert {word for word in offered if word.startswith("--")} == {*names, "--help"}, words


def test_shell_offers_the_options_without_a_command(shell: Shell) -> None:
    """Without a command the shell offers those of serve, and --version."""
    assert {"--project", "--log-level", "--version", "--help"} <= {*shell.all("nexus-mcp --")}


def test_shell_offers_no_command_after_an_option(shell: Shell) -> None:
    """A command comes first: after an option of serve there is none."""
    assert {*shell.all("nexus-mcp --sdk ")} & {*COMMANDS} == set()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nexus-mcp hook ", EVENTS),
        ("nexus-mcp install ", HARNESSES),
        ("nexus-mcp install --gate ", ("block", "auto", "warn", "off")),
        ("nexus-mcp brief 1 --harness-id ", HARNESSES),
        ("nexus-mcp completion ", SHELLS),
    ],
)
def test_shell_offers_the_choices(shell: Shell, line: str, words: tuple[str, ...]) -> None:
    """Choices of an argument and of an option, and the harness ids."""
    assert sorted(shell.all(line)) == sorted(words)


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("nexus-mcp hel", "help"),
        ("nexus-mcp history rep", "repair"),
        ("nexus-mcp serve --log-level=deb", "--log-level=debug"),
        ("nexus-mcp --tool-p", "--tool-prefix"),
        ("nexus-mcp conformance lint --fixtures my\\ fi", "my file.yml"),
    ],
)
def test_shell_completes_a_word(shell: Shell, line: str, completed: str) -> None:
    """The beginning of a word is completed, as is the value after `=`, and a name with a blank."""
    if shell.name == "fish":
        assert shell.all(line) == [completed]
    else:
        assert shell.press(line, TAB)[-1] == completed


def test_shell_completes_folders_only(shell: Shell) -> None:
    """Where a folder is expected, no file is offered."""
    assert [word.rstrip("/") for word in shell.all("nexus-mcp init --project my")] == ["my folder"]


@pytest.mark.parametrize("line", ["nexus-mcp resume ", "nexus-mcp brief --no-role --harness-id codex "])
def test_shell_offers_the_task_ids(shell: Shell, line: str) -> None:
    """Where a task is expected, the ids of the tasks are offered, in their order."""
    assert shell.all(line) == [str(number) for number in range(1, len(HOSTILE) + 1)]


def test_shell_offers_a_task_once(shell: Shell) -> None:
    """After the id, and as the value of an option, no id is offered."""
    assert [
        word for line in ("resume 1 ", "brief --agent ") for word in shell.all(f"nexus-mcp {line}") if word == "1"
    ] == []


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("option", ["--project shop ", "--project=shop ", "--project './sh'op "])
def test_shell_offers_the_tasks_of_another_project(folder: Path, tmp_path: Path, name: str, option: str) -> None:
    """--project before the id names the project; quotation marks in it are read as the shell reads them."""
    shell = Shell(name, tmp_path / name, folder.parent)
    try:
        assert "2" in shell.all(f"nexus-mcp resume {option}")
    finally:
        shell.close()


def test_titles_are_shown_and_not_run(shell: Shell, folder: Path) -> None:
    """A list has each title as text; nothing in a title is expanded, and no control character reaches the terminal."""
    before = sorted(path.name for path in folder.iterdir())
    shown = shell.listing("nexus-mcp resume ")
    for title in (
        "$(touch x)",
        "`touch x`",
        "'quo\"tes'",
        "line one tab \\x1b[31mred\\u202e %F{red} $HOME",
        "a: b\\c: [x]",
    ):
        assert title in shown
    assert "\x1b[31mred" not in shown
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("name", SHELLS)
def test_shell_is_silent_without_a_project(tmp_path: Path, name: str) -> None:
    """Outside of a project no id is offered, and nothing is written to the terminal or the folder."""
    cwd = tmp_path / "empty"
    cwd.mkdir()
    shell = Shell(name, tmp_path / name, cwd)
    try:
        assert [word for word in shell.all("nexus-mcp resume ") if not word.startswith("-")] == []
        assert b"rror" not in shell.screen
        assert list(cwd.iterdir()) == []
    finally:
        shell.close()


def test_zsh_finds_the_script_in_a_folder_of_functions(folder: Path) -> None:
    """Written to _nexus-mcp in a folder of fpath, the script is loaded at the first use."""
    shell = Shell("zsh", folder.parent / "functions", folder)
    functions = shell.home / "f"
    functions.mkdir()
    shell.script.rename(functions / "_nexus-mcp")
    shell.script.write_text(f"fpath=({functions} $fpath)\ncompinit -u -d {shell.home}/second\n")
    try:
        assert shell.press("nexus-mcp hist", TAB)[-1] == "history"
        assert shell.all("nexus-mcp history ") == ["search", "show", "diff", "repair", "merge"]
    finally:
        shell.close()


@pytest.mark.parametrize("name", SHELLS)
def test_script_is_the_same_each_time(tmp_path: Path, name: str) -> None:
    """Two runs print the same script, which the shell reads without a word."""
    shell = Shell(name, tmp_path / "a", tmp_path)
    assert shell.script.read_bytes() == Shell(name, tmp_path / "b", tmp_path).script.read_bytes()
    done = subprocess.run([shell.program, "-n", str(shell.script)], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
