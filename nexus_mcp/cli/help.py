"""`nexus-mcp help [COMMAND]`: print the same text as `nexus-mcp COMMAND --help`; without COMMAND, the overview."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.help_texts import command_help, overview
from nexus_mcp.cli.options import Argument, Command, Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nexus_mcp.cli.options import Values

WORDS = Argument("[COMMAND]", "the words of a command; without them, the overview", least=0, count=3)


def run(values: Values) -> int:
    """Print the text. Raise UsageError for an unknown command."""
    print(_text(values.lists[WORDS.name], values.commands))
    return exits.OK


def _text(words: Sequence[str], table: Mapping[str, Callable[[], Command | Group]]) -> str:
    commands = table
    command: Command | Group | None = None
    prog = "nexus-mcp"
    for at, word in enumerate(words):
        if word not in commands:
            from nexus_mcp.cli import hints

            raise hints.no_subcommand(word, prog, commands) if at else hints.no_command(word, words[1:], commands)
        command = commands[word]()
        commands = command.subcommands if isinstance(command, Group) else {}
        prog = f"{prog} {word}"
    return overview([load() for load in table.values()]) if command is None else command_help(command, prog)


COMMAND = Command(
    "help",
    "explain a command, with examples",
    "Prints the same text as --help after the command. Without a command it prints\nthe overview.",
    (),
    run,
    argument=WORDS,
    examples=(
        ("nexus-mcp help undo", "explain undo"),
        ("nexus-mcp help history repair", "explain a command of a group"),
    ),
)
