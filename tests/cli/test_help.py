"""--help, --version and the bare command: their texts, and the modules that they import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import nexus_mcp
from nexus_mcp.cli import COMMANDS
from nexus_mcp.cli.options import Command, Group
from tests.cli.support import CHECKOUT, environment, every_command, name, nexus, nexus_on_terminal

TEXTS = [["--help"], ["-h"], ["--version"], ["-V"], *([*words, "--help"] for words, _ in every_command())]
HEAVY = {
    "argparse",
    "asyncio",
    "dataclasses",
    "hashlib",
    "importlib.resources",
    "inspect",
    "jsonschema",
    "logging",
    "mcp",
    "pathlib",
    "pydantic",
    "rich",
    "subprocess",
    "tempfile",
    "typing",
}


@pytest.mark.parametrize("argv", TEXTS, ids=" ".join)
def test_help_texts_import_no_slow_module(argv: list[str]) -> None:
    """The texts import none of the modules that take long."""
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n"
        f"from nexus_mcp.cli import main; code = main({argv!r})\n"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    # Without site, so that what is installed beside us imports nothing either.
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, HEAVY.intersection(done.stderr.split())) == (0, set())
    assert done.stdout.strip()


@pytest.mark.parametrize("argv", TEXTS, ids=" ".join)
def test_help_texts_fit_80_columns(argv: list[str]) -> None:
    """The texts fit a terminal of 80 columns and hold no trailing blanks."""
    text = nexus(*argv).out
    assert [line for line in text.splitlines() if len(line) > 79 or line != line.rstrip()] == []


def test_version_prints_only_the_version() -> None:
    """--version prints the version of the package and nothing else."""
    assert nexus("--version") == (0, f"nexus-mcp {nexus_mcp.__version__}\n", "")


def test_overview_names_all_commands() -> None:
    """--help has a line for every command."""
    lines = nexus("--help").out.splitlines()
    assert [name for name in COMMANDS if not any(line.startswith(f"  {name} ") for line in lines)] == []


@pytest.mark.parametrize(("words", "command"), every_command(), ids=name)
def test_help_names_all_there_is(words: tuple[str, ...], command: Command | Group) -> None:
    """A command's --help has a line for every option, every choice of its argument and every subcommand."""
    lines = nexus(*words, "--help").out.splitlines()
    if isinstance(command, Group):
        usage = "COMMAND " if command.default is None else "[COMMAND] "
        names = [*command.subcommands, *(option.name for option in command.options)]
    else:
        usage = f"{command.argument.name} " if command.argument else ""
        names = [*(command.argument.choices if command.argument else ()), *(option.name for option in command.options)]
    assert lines[0] == f"Usage: nexus-mcp {' '.join(words)} {usage}[OPTIONS]"
    assert [name for name in names if not any(line.startswith(f"  {name} ") for line in lines)] == []


def test_bare_command_on_a_terminal_explains_itself() -> None:
    """A bare command on a terminal prints how to use it and ends, with and without options."""
    for arguments in ((), ("--tool-prefix", "nx_")):
        ran = nexus_on_terminal(*arguments)
        assert (ran.code, ran.err) == (0, "")
        assert "claude mcp add nexus -- " in ran.out
        assert [name for name in COMMANDS if f"\n  {name} " not in ran.out] == []


def test_help_into_a_closed_pipe_prints_no_error() -> None:
    """A reader that closes the pipe early causes no message."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nexus_mcp", "--help"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, "")


def test_help_onto_a_full_disk_is_reported_in_one_line() -> None:
    """Output that cannot be written is reported in one line."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "nexus_mcp", "--help"],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "nexus-mcp: The output: No space left on device.\n")
