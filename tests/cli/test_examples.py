"""The examples of each command: they parse, they are of this command, and --help shows them."""

from __future__ import annotations

import pytest

from nexus_mcp.cli.options import Command, Group
from tests.cli.support import every_command, name, nexus, parse_line

COMMANDS = [pytest.param(words, one, id=name(words)) for words, one in every_command()]


@pytest.mark.parametrize(("words", "command"), COMMANDS)
def test_examples_parse(words: tuple[str, ...], command: Command | Group) -> None:
    """A command has at least one example; each is a line that the command's own parser takes."""
    assert command.examples
    for typed, _ in command.examples:
        parsed = parse_line(typed)
        assert parsed is not None
        found = parsed[0]
        assert found == " ".join(words) or (isinstance(command, Group) and found.startswith(f"{' '.join(words)} "))


@pytest.mark.parametrize(("words", "command"), COMMANDS)
def test_help_shows_the_examples(words: tuple[str, ...], command: Command | Group) -> None:
    """Each example is a line of --help, below what it does."""
    lines = nexus(*words, "--help").out.splitlines()
    start = lines.index("Examples:") + 1
    rows = lines[start : start + 2 * len(command.examples)]
    assert rows == [line for typed, text in command.examples for line in (f"  # {text}", f"  {typed}")]


@pytest.mark.parametrize(("words", "command"), COMMANDS)
def test_help_is_a_command(words: tuple[str, ...], command: Command | Group) -> None:
    """`nexus-mcp help COMMAND` prints what `nexus-mcp COMMAND --help` prints."""
    assert nexus("help", *words) == nexus(*words, "--help")


def test_help_without_a_command_is_the_overview() -> None:
    """`nexus-mcp help` prints what `nexus-mcp --help` prints."""
    assert nexus("help") == nexus("--help")
    assert nexus("help", "--help").out.startswith("Usage: nexus-mcp help [COMMAND] [OPTIONS]\n")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["lgo"], "There is no command 'lgo'; did you mean log? See nexus-mcp --help."),
        (["HISTORY", "repair"], "There is no command 'HISTORY'; did you mean history? See nexus-mcp --help."),
        (
            ["history", "repiar"],
            "nexus-mcp history has no command 'repiar'; did you mean repair? See nexus-mcp history --help.",
        ),
        (["log", "repair"], "nexus-mcp log has no command 'repair'. See nexus-mcp log --help."),
        (["a", "b", "c", "d"], "nexus-mcp help takes COMMAND: 'd' after 'c' is too much."),
    ],
)
def test_help_of_an_unknown_command_suggests_the_nearest(words: list[str], problem: str) -> None:
    """An unknown word is a usage error with the nearest commands."""
    assert nexus("help", *words) == (2, "", f"nexus-mcp: {problem}\n")
