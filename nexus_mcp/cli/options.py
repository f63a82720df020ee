"""What a command is, and the parser of its options.

A parser of our own because argparse would add a quarter to the start-up of the server (docs/decisions/0012).
"""

from __future__ import annotations

from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence


class Values(dict[str, str]):
    """What a command line gave: option name -> its value, the last one where it was given several times.

    A switch that was given has the value "". A positional argument is under its name. `lists` has every value, in
    order, of the argument and of each option that may be given several times; an empty list when it was not given.
    """

    __slots__ = ("lists",)

    def __init__(self) -> None:
        super().__init__()
        self.lists: dict[str, list[str]] = {}


class Option:
    """One option. `metavar` is "" for a switch; `choices`, when there are any, are the only values accepted.

    With `many` it may be given several times, and each value counts (Values.lists). `short` is a second name of one
    letter, e.g. -j; the values are under `name` all the same.
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
        """`value` itself. Raises UsageError, naming `source` (default: the option), when it is none of the choices."""
        if self.choices and value not in self.choices:
            raise UsageError(f"{source or self.name} is one of {', '.join(self.choices)}, not {value!r}.")
        return value


class Argument:
    """The word that a command takes beside its options. `name` stands for it in texts, e.g. EVENT.

    `choices` are the words accepted, each with a line about it; {} for any word. With a `count` above 1 it is so many
    words, and `name` has a name for each; they are in Values.lists. With `least` fewer will do, 0 for none. With
    `is_number` a negative number is no option, but a wrong number.
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
        """The name without the brackets of one that may be left out."""
        return self.name.strip("[]")


class Command:
    """One command: its name, one line about it, a longer text, its options and what it does.

    `run` takes the option values and returns an exit code. A command with an `argument` cannot be run without as many
    words as that needs.
    """

    __slots__ = ("argument", "name", "options", "run", "summary", "text")

    def __init__(
        self,
        name: str,
        summary: str,
        text: str,
        options: tuple[Option, ...],
        run: Callable[[Values], int],
        *,
        argument: Argument | None = None,
    ) -> None:
        self.name = name
        self.summary = summary
        self.text = text
        self.options = options
        self.run = run
        self.argument = argument


class Group:
    """A command that is nothing but a name for several: `nexus-mcp NAME SUBCOMMAND`.

    `subcommands` maps each one's name to the function that loads it, so that none is paid for unless it is asked for.
    """

    __slots__ = ("name", "subcommands", "summary", "text")

    def __init__(
        self, name: str, summary: str, text: str, subcommands: Mapping[str, Callable[[], Command | Group]]
    ) -> None:
        self.name = name
        self.summary = summary
        self.text = text
        self.subcommands = subcommands


def parse(argv: Sequence[str], options: Iterable[Option], prog: str, argument: Argument | None = None) -> Values:
    """The options of `argv`, `--name value` and `--name=value`, and its `argument`. `prog` is named in errors.

    Raises UsageError for whatever is neither one of `options` nor the argument, and when that is missing.
    """
    by_name = {option.name: option for option in options}
    by_letter = {option.short: option for option in by_name.values() if option.short}
    values = Values()
    values.lists = {name: [] for name, option in by_name.items() if option.many}
    if argument is not None:
        values.lists[argument.name] = []
    before, behind = _parted(argv, argument)
    rest = iter(before)
    for word in rest:
        name, equals, value = word.partition("=")
        if word[:2] in by_letter and word[2:3] not in ("", "="):
            name, equals, value = word[:2], "=", word[2:]  # -j4
        option = by_name.get(name) or by_letter.get(name)
        if option is None:
            if not word.startswith("-") or (argument is not None and argument.is_number and word[1:].isdecimal()):
                _take(word, argument, values, prog, by_name)
                continue
            raise _unknown(word, name, [*by_name, *by_letter], argument, prog)
        if not option.metavar:
            if equals:
                raise UsageError(f"{name} takes no value.")
            values[option.name] = ""
            continue
        if not equals:
            value = next(rest, "--")
            if value.startswith("-") and not value[1:].isdecimal():  # a number is a value, though perhaps a wrong one
                raise _no_value(name, value, option, {*by_name, *by_letter, "--", "--help", "-h"})
        values[option.name] = option.check(value)
        if option.many:
            values.lists[option.name].append(value)
    for word in behind:
        _take(word, argument, values, prog, by_name)
    if argument is not None and len(values.lists[argument.name]) < argument.least:
        listed = f", one of {', '.join(argument.choices)}" if argument.choices else ""
        what = "an argument" if argument.least == 1 else f"{argument.least} arguments"
        raise UsageError(f"{prog} needs {what} {argument.name}{listed}.", next_step=f"See {prog} --help.")
    return values


def _parted(argv: Sequence[str], argument: Argument | None) -> tuple[Sequence[str], Sequence[str]]:
    """What stands before a `--`, and behind it: that is no option, whatever it begins with."""
    at = argv.index("--") if argument is not None and "--" in argv else len(argv)
    return argv[:at], argv[at + 1 :]


def _no_value(name: str, word: str, option: Option, known: Container[str]) -> UsageError:
    """`word` stands where the value belongs, and looks like an option."""
    written = "" if word.partition("=")[0] in known else f" One that begins with - is written {name}={word}."
    return UsageError(f"{name} needs a value: {name} {option.metavar}.{written}")


def _unknown(word: str, name: str, known: Iterable[str], argument: Argument | None, prog: str) -> UsageError:
    from nexus_mcp.cli import hints

    advice = f"See {prog} --help."
    if argument is not None and " " in word:
        advice = f"Write -- before it if it is {argument.word}. {advice}"
    return UsageError(f"{prog} has no option {name!r}{hints.option(name, known, prog)}", next_step=advice)


def _take(word: str, argument: Argument | None, values: Values, prog: str, options: Mapping[str, Option]) -> None:
    """Take `word` as the argument, or raise UsageError."""
    if argument is None:
        from nexus_mcp.cli import hints

        raise UsageError(f"{prog} takes no argument {word!r}{hints.superfluous(word, options.values(), prog)}")
    there = values.lists[argument.name]
    if len(there) == argument.count:
        one = "one " if argument.count == 1 else ""
        raise UsageError(f"{prog} takes {one}{argument.word}: {there[-1]!r} is there, {word!r} is too much.")
    if argument.choices and word not in argument.choices:
        from nexus_mcp.cli import hints

        known = hints.nearest(word, argument.choices, ("--help",))
        raise UsageError(f"{prog} has no {argument.name} {word!r}{known}", next_step=f"See {prog} --help.")
    values[argument.name] = word
    there.append(word)
