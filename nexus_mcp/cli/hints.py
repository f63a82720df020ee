"""Suggestions for unknown words of a command line, e.g. `did you mean init?`. Imported only after a mistake."""

from __future__ import annotations

from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_ALIKE = 0.6
"""The least ratio of difflib at which a known name is suggested."""
_NEARLY = 0.1
"""A second name is suggested when its ratio differs from the best by no more than this."""
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


def nearest(word: str, known: Iterable[str], also: Iterable[str] = ()) -> str:
    """Return the end of a message about `word`: the most similar names, ignoring case, or else all `known` names.

    `also` are further names that may be suggested, but are not listed.
    """
    names = list(known)
    folded: dict[str, str] = {}
    for name in (*names, *also):
        folded.setdefault(name.lower(), name)
    close = [folded[name] for name in _close(word.lower(), folded)]
    if close:
        return _did_you_mean(*close)
    return f"; there is {', '.join(names)}." if names else "."


def no_command(word: str, rest: Iterable[str], commands: Mapping[str, Callable[[], object]]) -> UsageError:
    """Return the error for an unknown command `word`, which the words `rest` follow."""
    return UsageError(
        f"There is no command {word!r}{_command(word, rest, commands)}", next_step="See nexus-mcp --help."
    )


def _command(word: str, rest: Iterable[str], commands: Mapping[str, Callable[[], object]]) -> str:
    meant = _COMMANDS_ELSEWHERE.get(word.lower(), "")
    topic = next(iter(rest), "")
    if meant == _HELP and topic in commands:
        return _did_you_mean(f"nexus-mcp {topic} {_HELP}")
    if meant:
        return _did_you_mean(meant)
    inner = [name for name, load in commands.items() if word.lower() in getattr(load(), "subcommands", ())]
    if inner:
        return _did_you_mean(*(f"{name} {word.lower()}" for name in inner))
    return nearest(word, commands, _AT_THE_TOP)


def no_subcommand(word: str, prog: str, known: Iterable[str]) -> UsageError:
    """Return the error for an unknown `word` after the group `prog`, "" standing for none."""
    problem = f"{prog} has no command {word!r}" if word else f"{prog} needs a command"
    return UsageError(f"{problem}{_subcommand(word, prog, known)}", next_step=f"See {prog} --help.")


def _subcommand(word: str, prog: str, known: Iterable[str]) -> str:
    if word in ("help", *_HELP_ELSEWHERE):
        return _did_you_mean(f"{prog} {_HELP}")
    return nearest(word, known, (_HELP,))


def option(word: str, known: Iterable[str], prog: str) -> str:
    """Return the end of a message about an unknown option `word` of `prog`."""
    names = list(known)
    if word in ("-V", _VERSION):
        return _did_you_mean(f"nexus-mcp {_VERSION}")
    meant = (_OPTIONS_ELSEWHERE if prog == "nexus-mcp" else _HELP_ELSEWHERE).get(word, "")
    if meant:
        return _did_you_mean(meant)
    number = _of_number(word, names)
    if number:
        return _did_you_mean(number)
    is_top = prog == "nexus-mcp"
    if not is_top and _close(word.lower(), (*names, _HELP, _VERSION))[:1] == [_VERSION]:
        return _did_you_mean(f"nexus-mcp {_VERSION}")
    return nearest(word, names, _AT_THE_TOP if is_top else (_HELP, "-h"))


def superfluous(word: str, known: Iterable[str], prog: str) -> str:
    """Return the end of a message about a `word` where `prog` takes options only: those named `known`."""
    names = list(known)
    if f"--{word.lower()}" in names:
        return _did_you_mean(f"--{word.lower()}")
    if word == "help":
        return _did_you_mean(f"{prog} {_HELP}")
    number = _of_number(word, names)
    return _did_you_mean(number) if number else ": a command comes first, then its options."


def _close(word: str, names: Iterable[str]) -> list[str]:
    """Return up to two names similar to `word`, the most similar first."""
    from difflib import SequenceMatcher

    ratios = {name: SequenceMatcher(None, word, name).ratio() for name in names}
    highest = max(ratios.values(), default=0.0)
    least = 1.0 if highest == 1.0 else max(_ALIKE, highest - _NEARLY)
    return sorted((name for name in ratios if ratios[name] >= least), key=lambda name: -ratios[name])[:2]


def _of_number(word: str, names: Iterable[str]) -> str:
    """Return `-n 3` for the bare number `3` or `-3` where `names` has -n; "" otherwise."""
    digits = word.removeprefix("-")
    return f"-n {digits}" if "-n" in names and digits.isascii() and digits.isdigit() else ""


def _did_you_mean(*names: str) -> str:
    return f"; did you mean {' or '.join(names)}?"
