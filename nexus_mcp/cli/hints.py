"""Suggestions for unknown words of a command line, e.g. `did you mean init?`. Imported only after a mistake."""

from __future__ import annotations

from nexus_mcp.errors import UsageError
from nexus_mcp.wording import did_you_mean, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_HELP, _VERSION, _LOUD, _QUIET = "--help", "--version", "--log-level debug", "--log-level error"
_AT_THE_TOP = (_HELP, _VERSION, "-h", "-V")
# Names that other programs use. Option names keep their dashes.
_COMMANDS_ELSEWHERE = {
    "help": _HELP,
    "usage": _HELP,
    "version": _VERSION,
    "start": "serve",
    "server": "serve",
    "setup": "init",
    "install": "init",
    "status": "doctor",
    "revert": "undo",
    "rollback": "undo",
}
_OPTIONS_ELSEWHERE = {
    "-v": f"{_VERSION} or {_LOUD}",
    "--verbose": _LOUD,
    "--debug": _LOUD,
    "-d": _LOUD,
    "-q": _QUIET,
    "--quiet": _QUIET,
    "--usage": _HELP,
    "-?": _HELP,
    "-help": _HELP,
    "-version": _VERSION,
}
_HELP_ELSEWHERE = {name: meant for name, meant in _OPTIONS_ELSEWHERE.items() if meant == _HELP}


def suggestion(word: str, known: Iterable[str], also: Iterable[str] = ()) -> str:
    """Return the end of a message about `word`: the most similar names, or else all `known` names.

    `also` are further names that may be suggested, but are not listed.
    """
    names = list(known)
    return did_you_mean(nearest(word, (*names, *also))) or (f"; there is {', '.join(names)}." if names else ".")


def no_command(word: str, rest: Iterable[str], commands: Mapping[str, Callable[[], object]]) -> UsageError:
    """Return the error for an unknown command `word`, which the words `rest` follow."""
    return UsageError(
        f"There is no command {word!r}{_command(word, rest, commands)}", next_step="See nexus-mcp --help."
    )


def _command(word: str, rest: Iterable[str], commands: Mapping[str, Callable[[], object]]) -> str:
    meant = _COMMANDS_ELSEWHERE.get(word.lower(), "")
    topic = next(iter(rest), "")
    if meant == _HELP and topic in commands:
        return did_you_mean([f"nexus-mcp {topic} {_HELP}"])
    if meant:
        return did_you_mean([meant])
    inner = [name for name, load in commands.items() if word.lower() in getattr(load(), "subcommands", ())]
    if inner:
        return did_you_mean([f"{name} {word.lower()}" for name in inner])
    return suggestion(word, commands, _AT_THE_TOP)


def no_subcommand(word: str, prog: str, known: Iterable[str]) -> UsageError:
    """Return the error for an unknown `word` after the group `prog`; "" means that no word follows."""
    problem = f"{prog} has no command {word!r}" if word else f"{prog} needs a command"
    return UsageError(f"{problem}{_subcommand(word, prog, known)}", next_step=f"See {prog} --help.")


def _subcommand(word: str, prog: str, known: Iterable[str]) -> str:
    if word in ("help", *_HELP_ELSEWHERE):
        return did_you_mean([f"{prog} {_HELP}"])
    return suggestion(word, known, (_HELP,))


def option(word: str, known: Iterable[str], prog: str) -> str:
    """Return the end of a message about an unknown option `word` of `prog`."""
    names = list(known)
    if word in ("-V", _VERSION):
        return did_you_mean([f"nexus-mcp {_VERSION}"])
    meant = (_OPTIONS_ELSEWHERE if prog == "nexus-mcp" else _HELP_ELSEWHERE).get(word, "")
    if meant:
        return did_you_mean([meant])
    number = _of_number(word, names)
    if number:
        return did_you_mean([number])
    is_top = prog == "nexus-mcp"
    if not is_top and nearest(word, (*names, _HELP, _VERSION))[:1] == [_VERSION]:
        return did_you_mean([f"nexus-mcp {_VERSION}"])
    return suggestion(word, names, _AT_THE_TOP if is_top else (_HELP, "-h"))


def superfluous(word: str, known: Iterable[str], prog: str) -> str:
    """Return the end of a message about a `word` where `prog` takes options only: those named `known`."""
    names = list(known)
    if f"--{word.lower()}" in names:
        return did_you_mean([f"--{word.lower()}"])
    if word == "help":
        return did_you_mean([f"{prog} {_HELP}"])
    number = _of_number(word, names)
    return did_you_mean([number]) if number else ": a command comes first, then its options."


def _of_number(word: str, names: Iterable[str]) -> str:
    """Return `-n 3` for the bare number `3` or `-3` where `names` has -n; "" otherwise."""
    digits = word.removeprefix("-")
    return f"-n {digits}" if "-n" in names and digits.isascii() and digits.isdigit() else ""
