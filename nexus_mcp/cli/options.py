"""Commands, their options and arguments, and the parser of a command line.

Our own parser, because argparse would add 3 to 5 ms to the start-up of the server (docs/decisions/0012).
"""

from __future__ import annotations

from nexus_mcp.errors import UsageError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

MANY = 10**9
"""The result for any larger number when the caller sets no bound."""
_SHOWN = 40  # characters of a wrong number that an error quotes


def parse_count(text: str, source: str, most: int | None = None, *, least: int = 1) -> int:
    """Return the number that `text` spells, from `least`, 0 or 1, to `most`. Without `most` there is no upper
    bound, but a number above MANY counts as MANY.

    Raise UsageError, which names `source` and the bounds.
    """
    digits = text.lstrip("0") or ("" if least else "0") if text.isascii() and text.isdigit() else ""
    limit = MANY if most is None else most
    is_long = len(digits) > len(str(limit))
    if not digits or (most is not None and (is_long or int(digits) > most)):
        bounds = f"from {least} to {most}" if digits else f"from {least}"
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise UsageError(f"{source} needs a number {bounds}, not {shown!r}.")
    return limit if is_long else min(int(digits), limit)


def count_noun(number: int, word: str) -> str:
    """Return number and noun: `1 agent`, `2 agents`."""
    return f"{number} {word}{'s' * (number != 1)}"


class Values(dict[str, str]):
    """The values of a command line: option name -> its value, the last one of a repeated option.

    A switch that is present has the value "". The last value of the positional argument is under the argument's name.
    `lists` has every value, in order, of the argument and of each repeatable option; an empty list when it is absent.
    `commands` is the table of all commands, for the commands that print it.
    """

    __slots__ = ("commands", "lists")

    def __init__(self) -> None:
        super().__init__()
        self.lists: dict[str, list[str]] = {}
        self.commands: Mapping[str, Callable[[], Command | Group]] = {}


class Option:
    """One option. `metavar` is "" for a switch; `choices`, when there are any, are the only values accepted.

    With `many` it may be repeated, and each value counts (Values.lists). `short` is a second name of one letter, e.g.
    -j; its values are under `name`, too.
    """

    __slots__ = ("choices", "help", "many", "metavar", "name", "short")

    def __init__(
        self, name: str, metavar: str, help_: str, choices: tuple[str, ...] = (), *, many: bool = False, short: str = ""
    ) -> None:
        self.name = name
        self.metavar = metavar
        self.help = help_
        self.choices = choices
        self.many = many
        self.short = short

    def check(self, value: str, source: str = "") -> str:
        """Return `value`. Raise UsageError, naming `source` (default: the option), for a value that is not one of the
        choices.
        """
        if self.choices and value not in self.choices:
            raise UsageError(f"{source or self.name} is one of {', '.join(self.choices)}, not {value!r}.")
        return value


class Argument:
    """The positional argument of a command. `name` is its name in texts, e.g. EVENT.

    `choices` maps each accepted word to a line about it; {} accepts any word. `count` is the maximum number of words;
    they are in Values.lists. `least` is the number of required words (default: `count`). With `is_number` a word such
    as -3 is a wrong number, not an unknown option.
    """

    __slots__ = ("choices", "count", "help", "is_number", "least", "name")

    def __init__(
        self,
        name: str,
        help_: str,
        choices: Mapping[str, str] | None = None,
        *,
        count: int = 1,
        least: int | None = None,
        is_number: bool = False,
    ) -> None:
        self.name = name
        self.help = help_
        self.choices: Mapping[str, str] = choices or {}
        self.count = count
        self.least = count if least is None else least
        self.is_number = is_number

    @property
    def word(self) -> str:
        """Return the name, without the brackets of an optional argument."""
        return self.name.strip("[]")


class Command:
    """One command: its name, one line about it, a longer text, its options and the function that runs it.

    `run` takes the option values and returns an exit code. `examples` has rows of (a command line as typed in a shell,
    what it does).
    """

    __slots__ = ("argument", "examples", "name", "options", "run", "summary", "text")

    def __init__(
        self,
        name: str,
        summary: str,
        text: str,
        options: tuple[Option, ...],
        run: Callable[[Values], int],
        *,
        argument: Argument | None = None,
        examples: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.name = name
        self.summary = summary
        self.text = text
        self.options = options
        self.run = run
        self.argument = argument
        self.examples = examples


class Group:
    """A command that groups others: `nexus-mcp NAME SUBCOMMAND`.

    `subcommands` maps each name to the function that imports the subcommand, so that only the one that runs is loaded.
    `default` imports the command that runs when no subcommand is named; None if a subcommand is required.
    """

    __slots__ = ("default", "name", "subcommands", "summary", "text")

    def __init__(
        self,
        name: str,
        summary: str,
        text: str,
        subcommands: Mapping[str, Callable[[], Command | Group]],
        *,
        default: Callable[[], Command] | None = None,
    ) -> None:
        self.name = name
        self.summary = summary
        self.text = text
        self.subcommands = subcommands
        self.default = default

    @property
    def options(self) -> tuple[Option, ...]:
        """Return the options of the default command."""
        return () if self.default is None else self.default().options

    def takes(self, first: str) -> bool:
        """Return whether the default command runs with the first word `first`: "" for no word, an option, or a number
        if the argument of the command is one.
        """
        if self.default is None:
            return False
        argument = self.default().argument
        is_number = argument is not None and argument.is_number and first.isdecimal()
        return not first or first.startswith("-") or is_number

    @property
    def own_examples(self) -> tuple[tuple[str, str], ...]:
        """Return the examples of the default command."""
        return () if self.default is None else self.default().examples

    @property
    def examples(self) -> tuple[tuple[str, str], ...]:
        """Return the examples of the default command, and the first one of each subcommand."""
        return (*self.own_examples, *(row for load in self.subcommands.values() for row in load().examples[:1]))


def walk(commands: Mapping[str, Callable[[], Command | Group]]) -> Iterator[tuple[tuple[str, ...], Command | Group]]:
    """Yield the words of each command and the command; those of a group follow the group."""
    for name, load in commands.items():
        command = load()
        yield (name,), command
        if isinstance(command, Group):
            yield from (((name, *words), inner) for words, inner in walk(command.subcommands))


def parse(argv: Sequence[str], options: Iterable[Option], prog: str, argument: Argument | None = None) -> Values:
    """Return the options of `argv`, `--name value` or `--name=value`, and its `argument`. `prog` is the command as
    typed, for messages.

    Raise UsageError for a word that is neither an option nor the argument, for a missing or wrong value, and for a
    missing argument.
    """
    by_name = {option.name: option for option in options}
    by_letter = {option.short: option for option in by_name.values() if option.short}
    values = Values()
    values.lists = {name: [] for name, option in by_name.items() if option.many}
    if argument is not None:
        values.lists[argument.name] = []
    before, after = _split_at_dashes(argv, argument)
    rest = iter(before)
    for word in rest:
        name, equals, value = word.partition("=")
        if word[:2] in by_letter and word[2:3] not in ("", "="):
            name, equals, value = word[:2], "=", word[2:]  # -j4
        option = by_name.get(name) or by_letter.get(name)
        if option is None:
            if (
                not word.startswith("-")
                or (word == "-" and argument is not None)
                or (argument is not None and argument.is_number and word[1:].isdecimal())
            ):
                _take(word, argument, values, prog, by_name)
                continue
            raise _unknown(word, name, by_name.values(), argument, prog)
        if not option.metavar:
            if equals:
                raise UsageError(f"{name} takes no value.")
            values[option.name] = ""
            continue
        if not equals:
            value = next(rest, "--")
            # `-` is stdin or stdout, and -3 a value, though perhaps a wrong one.
            if value.startswith("-") and value != "-" and not value[1:].isdecimal():
                raise _no_value(name, value, option, {*by_name, *by_letter, "--", "--help", "-h"})
        values[option.name] = option.check(value)
        if option.many:
            values.lists[option.name].append(value)
    for word in after:
        _take(word, argument, values, prog, by_name)
    if argument is not None and len(values.lists[argument.name]) < argument.least:
        listed = f", one of {', '.join(argument.choices)}" if argument.choices else ""
        what = "an argument" if argument.least == 1 else f"{argument.least} arguments"
        raise UsageError(f"{prog} needs {what} {argument.name}{listed}.", next_step=f"See {prog} --help.")
    return values


def _split_at_dashes(argv: Sequence[str], argument: Argument | None) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words before and after `--`; those after it are never options. Without an `argument`, `--` has no
    effect.
    """
    at = argv.index("--") if argument is not None and "--" in argv else len(argv)
    return argv[:at], argv[at + 1 :]


def _no_value(name: str, word: str, option: Option, known: Container[str]) -> UsageError:
    """Return the error for a `word` that looks like an option, where the value of the option `name` should be."""
    written = "" if word.partition("=")[0] in known else f" A value that begins with - is written {name}={word}."
    return UsageError(f"{name} needs a value: {name} {option.metavar}.{written}")


def _unknown(word: str, name: str, known: Collection[Option], argument: Argument | None, prog: str) -> UsageError:
    from nexus_mcp.cli import hints

    advice = f"See {prog} --help."
    if argument is not None and " " in word:
        advice = f"Write -- before it if it is {argument.word}. {advice}"
    return UsageError(f"{prog} has no option {name!r}{hints.option(name, known, argument, prog)}", next_step=advice)


def _take(word: str, argument: Argument | None, values: Values, prog: str, options: Mapping[str, Option]) -> None:
    """Take `word` as the argument, or raise UsageError."""
    if argument is None:
        from nexus_mcp.cli import hints

        raise UsageError(f"{prog} takes no argument {word!r}{hints.superfluous(word, options.values(), prog)}")
    words = values.lists[argument.name]
    if len(words) == argument.count:
        one = "one " if argument.count == 1 else ""
        raise UsageError(f"{prog} takes {one}{argument.word}: {word!r} after {words[-1]!r} is too much.")
    if argument.choices and word not in argument.choices:
        from nexus_mcp.cli import hints

        known = hints.in_help(word, argument.choices, ("--help",))
        raise UsageError(f"{prog} has no {argument.word} {word!r}{known}", next_step=f"See {prog} --help.")
    values[argument.name] = word
    words.append(word)
