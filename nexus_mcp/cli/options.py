"""What a command is, and the parser of its options.

A parser of our own because argparse would add a quarter to the start-up of the server (docs/decisions/0012).
"""

from __future__ import annotations

from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Values = dict[str, str]
    """Option name -> its value; a switch that was given has the value ""."""


class Option:
    """One option. `metavar` is "" for a switch; `choices`, when there are any, are the only values accepted."""

    __slots__ = ("choices", "help", "metavar", "name")

    def __init__(self, name: str, metavar: str, help_: str, choices: tuple[str, ...] = ()) -> None:
        self.name = name
        self.metavar = metavar
        self.help = help_
        self.choices = choices

    def check(self, value: str, source: str = "") -> str:
        """`value` itself. Raises UsageError, naming `source` (default: the option), when it is none of the choices."""
        if self.choices and value not in self.choices:
            raise UsageError(f"{source or self.name} is one of {', '.join(self.choices)}, not {value!r}.")
        return value


class Command:
    """One command: its name, one line about it, a longer text, its options and what it does.

    `run` takes the option values and returns an exit code.
    """

    __slots__ = ("name", "options", "run", "summary", "text")

    def __init__(
        self,
        name: str,
        summary: str,
        text: str,
        options: tuple[Option, ...],
        run: Callable[[Values], int],
    ) -> None:
        self.name = name
        self.summary = summary
        self.text = text
        self.options = options
        self.run = run


def parse(argv: Sequence[str], options: Iterable[Option], prog: str) -> Values:
    """The options of `argv`: `--name value` and `--name=value`; the last of several wins. `prog` is named in errors.

    Raises UsageError for whatever is not one of `options`.
    """
    by_name = {option.name: option for option in options}
    values: Values = {}
    rest = iter(argv)
    for word in rest:
        name, equals, value = word.partition("=")
        option = by_name.get(name)
        if option is None:
            if not word.startswith("-"):
                raise UsageError(f"{prog} takes no argument {word!r}: a command comes first, then its options.")
            raise UsageError(f"{prog} has no option {name!r}{nearest(name, by_name)}", next_step=f"See {prog} --help.")
        if not option.metavar:
            if equals:
                raise UsageError(f"{name} takes no value.")
            values[name] = ""
            continue
        if not equals:
            value = next(rest, "-")
            if value.startswith("-"):
                raise UsageError(f"{name} needs a value: {name} {option.metavar}.")
        values[name] = option.check(value)
    return values


def nearest(word: str, known: Iterable[str]) -> str:
    """How an error message about `word` goes on: with the names that look like it, else with all of them."""
    from difflib import get_close_matches

    names = list(known)
    close = get_close_matches(word, names, n=2, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return f"; there is {', '.join(names)}." if names else "."
