"""List what a shell can complete after each command. A module for each shell writes the script from this list."""

from __future__ import annotations

from nexus_mcp.cli.options import Command, Group, Option, walk
from nexus_mcp.harness import HARNESSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nexus_mcp.cli.options import Argument

FOLDER, FILE, TASK, COMMAND_WORD = "folder", "file", "task", "command"
"""Kinds of values whose words, such as file names, are found when the user completes."""
HELP = Option("--help", "", "show the help", short="-h")
VERSION = Option("--version", "", "show the version", short="-V")
# The word for a value in --help tells its kind. COMMAND is a program if it is the value of an option, and a command of
# nexus-mcp if it is an argument.
_OF_OPTIONS = {"DIR": FOLDER, "FILE": FILE, "PATH": FILE, "COMMAND": FILE, "TASK-ID": TASK, "TASK": TASK}
_OF_ARGUMENTS = {**_OF_OPTIONS, "COMMAND": COMMAND_WORD, "%O %A %B": FILE}
_WORDS_OF = {"--harness-id": tuple(HARNESSES)}


class Value:
    """A value that a user types: its `name` in --help, the `words` that are offered for it, and its `kind`.

    `words` maps each word to a line about it, which may be "". Without `words`, the script offers what `kind`
    names, and nothing if it is "".
    """

    __slots__ = ("kind", "name", "words")

    def __init__(self, name: str, kind: str, words: Mapping[str, str]) -> None:
        self.name = name
        self.kind = kind
        self.words = words


class Place:
    """What may follow the `words` of a command. `argument` may be typed `most` times."""

    __slots__ = ("argument", "commands", "most", "options", "words")

    def __init__(
        self,
        words: tuple[str, ...],
        options: Sequence[Option],
        commands: Mapping[str, str],
        argument: Argument | None = None,
    ) -> None:
        self.words = words
        self.options = options
        self.commands = commands
        self.argument = None if argument is None else argument_value(argument)
        self.most = 0 if argument is None else argument.count


def places(commands: Mapping[str, Callable[[], Command | Group]]) -> list[Place]:
    """Return the place after `nexus-mcp`, where the options of serve may follow, too, and the place of each command."""
    serve = commands["serve"]()
    bare = serve.options if isinstance(serve, Command) else ()
    found = [Place((), (HELP, VERSION, *bare), {name: load().summary for name, load in commands.items()})]
    for words, command in walk(commands):
        if isinstance(command, Group):
            inner = {name: load().summary for name, load in command.subcommands.items()}
            found.append(Place(words, (HELP, *command.options), inner))
        else:
            found.append(Place(words, (HELP, *command.options), {}, command.argument))
    return found


def option_value(option: Option) -> Value | None:
    """Return the value of an option, None for a switch."""
    if not option.metavar:
        return None
    words = option.choices or _WORDS_OF.get(option.name, ())
    return Value(option.metavar, _OF_OPTIONS.get(option.metavar, ""), dict.fromkeys(words, ""))


def argument_value(argument: Argument) -> Value:
    """Return the value of an argument. The name of `[DIR...]`, which may be repeated, is DIR."""
    name = argument.word.rstrip(".…")
    return Value(name, _OF_ARGUMENTS.get(name, ""), argument.choices)
