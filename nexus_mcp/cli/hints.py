"""Suggestions for unknown words of a command line, e.g. `did you mean init?`.

The parser imports this module only after a mistake.
"""

from __future__ import annotations

from nexus_mcp.errors import UsageError
from nexus_mcp.wording import did_you_mean, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Protocol

    # Protocols for the classes of options.py. This module does not import options.py, because options.py imports it.
    class Option(Protocol):
        name: str
        short: str
        choices: tuple[str, ...]

    class Argument(Protocol):
        is_number: bool

        @property
        def word(self) -> str: ...


_HELP, _VERSION, _LOUD, _QUIET = "--help", "--version", "--log-level debug", "--log-level error"
_TOP = "nexus-mcp"
_AT_THE_TOP = (_HELP, _VERSION, "-h", "-V")
_MOST_LISTED = 8
"""A message repeats the names that --help lists only if they are at most this many: a longer list hides the problem."""
_LEAST_BEGINNING = 3
"""The minimum length of a word for which names that begin with it are suggested."""
# Names that other programs use -> our names in the order of preference: the first one that exists is suggested.
_COMMANDS_ELSEWHERE = {
    "usage": (_HELP,),
    "?": (_HELP,),
    "man": ("help",),
    "version": (_VERSION,),
    "start": ("serve",),
    "server": ("serve",),
    "mcp": ("serve",),
    "stdio": ("serve",),
    "setup": ("init", "install"),
    "info": ("status", "doctor"),
    "plan": ("status", "brief"),
    "check": ("doctor",),
    "list": ("tasks", "catalog list"),
    "ls": ("tasks", "catalog list"),
    "todo": ("tasks", "log"),
    "changes": ("log",),
    "revert": ("undo",),
    "rollback": ("undo",),
    "remove": ("uninstall",),
    "delete": ("uninstall",),
    "fix": ("doctor",),
    "note": ("memory add",),
    "notes": ("memory list",),
    "agents": ("catalog list",),
    "skills": ("catalog list",),
    "caps": ("capabilities",),
    "tag": ("route",),
    "ui": ("board", "status"),
    "web": ("board", "status"),
    "why": ("decisions",),
    "changelog": ("report",),
    "standup": ("report",),
    "deps": ("graph",),
    "cycles": ("history",),
    "dashboard": ("board", "status"),
    "watch": ("status --watch",),
    "ready": ("tasks --ready",),
    "next": ("tasks --ready",),
    "blocked": ("tasks --blocked",),
    "find": ("history search",),
    "svg": ("graph --format svg",),
    "mermaid": ("graph --format mermaid",),
    "markdown": ("export md",),
}
_OPTIONS_ELSEWHERE = {"--usage": _HELP, "-?": _HELP, "-help": _HELP, "-version": _VERSION}
_HELP_WORDS = ("help", *(name for name, meant in _OPTIONS_ELSEWHERE.items() if meant == _HELP))
_LEVELS = {"--verbose": _LOUD, "--debug": _LOUD, "-d": _LOUD, "-q": _QUIET, "--quiet": _QUIET}
_NUMBERS = ("-n", "--number", "--count", "--limit", "--last", "--lines", "--max", "--steps")
_CHOICES_ELSEWHERE = {"global": "user", "local": "project", "shadow": "off", "none": "off"}
_TAGS_ELSEWHERE = {"memory": "m", "note": "m", "remember": "m", "decide": "d", "decision": "d", "rules": "rule"}
_MOST_TAGS, _LONGEST_TAG = 20, 20


def suggestion(word: str, known: Iterable[str], also: Iterable[str] = (), most: int | None = None) -> str:
    """Return the end of a message about `word`: the most similar names, else all `known` names.

    `also` are more names that may be suggested but are not listed. If there are more than `most` known names, none is
    listed.
    """
    names = list(known)
    listed = f"; choose from {', '.join(names)}." if 0 < len(names) <= (most or len(names)) else "."
    return did_you_mean(_similar(word, (*names, *also))) or listed


def in_help(word: str, known: Iterable[str], also: Iterable[str] = ()) -> str:
    """Return the suggestion for names that --help lists, so the message lists them only if they are few."""
    return suggestion(word, known, also, _MOST_LISTED)


def _similar(word: str, names: Sequence[str]) -> list[str]:
    """Return the one or two names most similar to `word`, else up to two that begin with it, if it is long enough.

    Dashes before a name do not count.
    """
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(name.lstrip("-"), name)
    bare = word.lstrip("-").replace("_", "-") if word.startswith("-") else word
    # A known option of one letter is similar only to a typed one of one letter.
    near = [plain[one] for one in nearest(bare, plain) if word[:1] != "-" or len(one) > 1 or len(bare) == 1]
    beginning = bare.lower()
    if near or len(beginning) < _LEAST_BEGINNING:
        return near
    return [name for one, name in plain.items() if one.lower().startswith(beginning)][:2]


def no_command(word: str, rest: Iterable[str], commands: Mapping[str, Callable[[], object]]) -> UsageError:
    """Return the error for an unknown command `word`, which is followed by the words `rest`."""
    return UsageError(
        f"There is no command {word!r}{_command(word, rest, commands)}", next_step="See nexus-mcp --help."
    )


def _command(word: str, rest: Iterable[str], commands: Mapping[str, Callable[[], object]]) -> str:
    low = word.lower()
    if low in commands:
        return did_you_mean([low])
    if word.startswith("["):
        advice = [f": a message with a tag follows a command, {_TOP} route or {_TOP} act."]
        return " ".join(advice + _mistyped_shipped_tags(" ".join((word, *rest))))
    first, blank, _ = word.partition(" ")
    if blank and first in commands:
        return f"; did you mean {word}, without quotation marks?"
    meant = next((one for one in _COMMANDS_ELSEWHERE.get(low, ()) if one.startswith("-") or _exists(one, commands)), "")
    topic = next(iter(rest), "")
    if meant == _HELP and topic in commands:
        return did_you_mean([f"{_TOP} help {topic}"])
    if meant:
        return did_you_mean([meant])
    inner = [name for name, load in commands.items() if low in getattr(load(), "subcommands", ())]
    if inner:
        return did_you_mean([f"{name} {low}" for name in inner[:3]])
    return in_help(word, commands, _AT_THE_TOP)


def _mistyped_shipped_tags(message: str) -> list[str]:
    """Return `mistyped_tags` for the shipped vocabulary: there may be no project around this command line."""
    from nexus_mcp.catalog.load import load

    return mistyped_tags(message, load(None).vocabulary["tags"])


def _exists(words: str, commands: Mapping[str, Callable[[], object]]) -> bool:
    """Return whether the words, without their options, name a command or a command of a group."""
    first, _, second = words.partition(" ")
    if first not in commands or not second or second.startswith("-"):
        return first in commands
    return second in getattr(commands[first](), "subcommands", ())


def no_subcommand(word: str, prog: str, known: Iterable[str]) -> UsageError:
    """Return the error for an unknown `word` after the group `prog`; "" means that no word follows."""
    problem = f"{prog} has no command {word!r}" if word else f"{prog} needs a command"
    return UsageError(f"{problem}{_subcommand(word, prog, known)}", next_step=f"See {prog} --help.")


def _subcommand(word: str, prog: str, known: Iterable[str]) -> str:
    if word in _HELP_WORDS:
        return did_you_mean([f"{prog} {_HELP}"])
    names = list(known)
    if "show" in names and _is_duration(word):
        return did_you_mean([f"{prog} --since {word}"])
    if "show" in names and (word[:1].isdigit() or word == "last"):
        return did_you_mean([f"{prog} show {word}"])
    return in_help(word, names, (_HELP,))


def option(word: str, options: Collection[Option], argument: Argument | None, prog: str) -> str:
    """Return the end of a message about an unknown option `word` of `prog`."""
    names = [name for one in options for name in (one.name, one.short) if name]
    meant = _meant_option(word, options, argument, prog, names)
    if meant:
        return did_you_mean([meant])
    is_top = prog == _TOP
    also = _AT_THE_TOP if is_top else (_HELP, "-h")
    if not is_top and _similar(word, (*names, *also, _VERSION))[:1] == [_VERSION]:
        return did_you_mean([f"{_TOP} {_VERSION}"])
    return in_help(word, names, also)


def _meant_option(
    word: str, options: Collection[Option], argument: Argument | None, prog: str, names: Collection[str]
) -> str:
    """Return the option, command or argument that a user probably means by the unknown option `word`, else ""."""
    has_levels = "--log-level" in names
    if word == "-v":
        return f"{_VERSION} or {_LOUD}" if prog == _TOP else _LOUD if has_levels else f"{_TOP} {_VERSION}"
    if word in ("-V", _VERSION):
        return f"{_TOP} {_VERSION}"
    if word in _OPTIONS_ELSEWHERE:
        return _OPTIONS_ELSEWHERE[word] if prog == _TOP or _OPTIONS_ELSEWHERE[word] == _HELP else f"{_TOP} {_VERSION}"
    if has_levels and word in _LEVELS:
        return _LEVELS[word]
    if word in _NUMBERS and "--number" in names:
        return "--number"
    if argument is not None and not _similar(word, list(names)):
        is_number = argument.is_number and argument.word == "N" and word in _NUMBERS
        if is_number or word.lstrip("-").upper() in (argument.word, *argument.word.split("-")[-1:]):
            return f"{prog} {argument.word}"
    return _choice(word.lstrip("-").lower(), options) or _of_number(word, names)


def _choice(word: str, options: Iterable[Option]) -> str:
    """Return for example `--scope user` for the word `user`, if exactly one option has this choice; else ""."""
    word = _CHOICES_ELSEWHERE.get(word, word)
    found = [f"{one.name} {word}" for one in options if word in one.choices]
    return found[0] if len(found) == 1 else ""


def superfluous(word: str, options: Collection[Option], prog: str) -> str:
    """Return the end of a message about a superfluous `word`: `prog` accepts only options."""
    names = [name for one in options for name in (one.name, one.short) if name]
    if f"--{word.lower()}" in names:
        return did_you_mean([f"--{word.lower()}"])
    if word == "help":
        return did_you_mean([f"{prog} {_HELP}"])
    if "--since" in names and (_is_duration(word) or (word[:1].isdigit() and "-" in word)):
        return did_you_mean([f"--since {word}"])
    if "--owner" in names and word.isidentifier():
        return did_you_mean([f"--owner {word}"])
    meant = _of_number(word, names) or _choice(word.lower(), options) or _harness(word.lower(), names)
    return did_you_mean([meant]) if meant else ": a command comes first, then its options."


def _is_duration(word: str) -> bool:
    """Return whether the word is spelled like `7d`, `12h` or `2w`."""
    return word[-1:] in ("h", "d", "w") and word[:-1].isascii() and word[:-1].isdigit()


def _of_number(word: str, names: Iterable[str]) -> str:
    """Return `-n 3` for the bare number `3` or `-3` where `names` has -n; "" otherwise."""
    digits = word.removeprefix("-")
    return f"-n {digits}" if "-n" in names and digits.isascii() and digits.isdigit() else ""


def _harness(word: str, names: Collection[str]) -> str:
    """Return for example `--harness-id codex` for the word `codex`, if there is this option; else ""."""
    from nexus_mcp.harness import HARNESSES

    return f"--harness-id {word}" if "--harness-id" in names and word in HARNESSES else ""


def mistyped_tags(message: str, table: Collection[str]) -> list[str]:
    """Return a line for each word in brackets that is no tag of `table`, the vocabulary, but is similar to one, or is
    a usual other name for one.
    """
    from nexus_mcp.tags.parse import find_other_names, parse

    found: dict[str, list[str]] = {}
    for name in find_other_names(message, table, _MOST_TAGS, _LONGEST_TAG):
        other = _TAGS_ELSEWHERE.get(name, "")
        near = [other] if other in table else nearest(name, table)
        if near:
            found[name] = [f"[{one}]" for one in near]
    shown = {tag["tag"] for tag in parse(message, found)}  # not those in code and in links
    return [f"[{name}] is no tag{did_you_mean(near)}" for name, near in found.items() if name in shown]
