"""Write docs/man/nexus-mcp.1 from the table of commands: `make docs`. A test compares them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from nexus_mcp import __version__
from nexus_mcp.cli import COMMANDS, exits
from nexus_mcp.cli.help_texts import ENVIRONMENT, GLOBAL_OPTIONS
from nexus_mcp.cli.options import Command, Group, Option, walk

PAGE = Path(__file__).resolve().parent / "man" / "nexus-mcp.1"
SUMMARY = "a shared, durable plan and task list for coding agents"
DESCRIPTION = (
    "Keeps the plan, the tasks and the history of a project in .nexus/, for coding agents that speak the Model Context "
    "Protocol (MCP).",
    "Without a command it serves, and takes the options of serve. On a terminal it prints an introduction instead.",
)
FILES = (
    (".nexus/history.json", "the closed cycles; commit it"),
    (".nexus/state/", "the open plan and tasks, and the log for undo; they stay on this machine"),
    (".nexus/config.yml", "the settings of the project"),
    (".nexus/memory/, .nexus/rules/", "the notes and the rules of the project"),
)
EXIT_CODES = {
    exits.OK: "Done.",
    exits.FAILED: "Failed, and a line on standard error says why; or a check found a difference or a fault.",
    exits.USAGE: "The command line or the environment is wrong.",
    exits.EDITED: (
        "For install, uninstall, package and export: a user edited a written file, so nothing was changed. For run: "
        "paused or stalled, a person is needed."
    ),
    exits.LIMIT: "For run: the limit of cost, time or attempts is reached.",
    exits.BLOCKED: "For run: something stops it, or its commands are not trusted yet.",
    exits.BUSY: "For run: another run of the project is at work.",
    exits.HUNG_UP: "For demo and run: the terminal was closed.",
    exits.INTERRUPTED: "Ctrl-C interrupted the command.",
    exits.OUTPUT_CLOSED: "The reader of the output went away.",
    exits.TERMINATED: "For demo and run: SIGTERM stopped it.",
}
# In running text roff changes these characters to typographic ones, which cannot be pasted into a shell.
_ESCAPES = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq"}


def page() -> str:
    """Return the text of the man page, in roff."""
    return "".join(f"{line}\n" for line in _lines())


def escape(text: str) -> str:
    """Return `text`, one line, as roff prints it unchanged; it hyphenates no path."""
    shown = " ".join(f"\\%{word}" if "/" in word else word for word in map(_escape_word, text.split(" ")))
    return f"\\&{shown}" if shown[:1] == "." else shown


def _escape_word(word: str) -> str:
    return "".join(_ESCAPES.get(char, char if char.isascii() else f"\\[u{ord(char):04X}]") for char in word)


def _lines() -> Iterator[str]:
    yield '.\\" Written by docs/man_page.py from the table of commands. Do not edit: make docs writes it anew.'
    yield f'.TH NEXUS\\-MCP 1 "" "nexus\\-mcp {escape(__version__)}" "User Commands"'
    yield ".ad l"  # no wide blanks
    yield from (".SH NAME", f"nexus\\-mcp \\- {escape(SUMMARY)}")
    yield from (".SH SYNOPSIS", ".B nexus\\-mcp", r"[\fICOMMAND\fR] [\fIOPTIONS\fR]")
    yield ".SH DESCRIPTION"
    for number, text in enumerate(DESCRIPTION):
        yield from ([".PP"] if number else [])
        yield escape(text)
    yield ".SH OPTIONS"
    yield from _rows(GLOBAL_OPTIONS)
    yield ".SH COMMANDS"
    for words, command in walk(COMMANDS):
        yield from _command(words, command)
    yield ".SH ENVIRONMENT"
    yield from _rows((name, text) for name, _, text in ENVIRONMENT)
    yield ".SH FILES"
    yield from _rows(FILES)
    yield ".SH EXIT STATUS"
    yield from _rows((str(code), text) for code, text in EXIT_CODES.items())


def _command(words: tuple[str, ...], command: Command | Group) -> Iterator[str]:
    """Yield the section about one command. Most examples of a group are with its commands."""
    yield f".SS {escape(' '.join(words))}"
    yield f"\\fBnexus\\-mcp {escape(' '.join(words))}\\fR {_usage(command)}"
    yield from (".PP", *map(escape, command.text.splitlines()))
    argument = None if isinstance(command, Group) else command.argument
    if argument is not None:
        yield from (".PP", f"\\fI{escape(argument.word)}\\fR: {escape(argument.help)}")
        yield from _rows(argument.choices.items())
    yield from _rows((_names(option), option.help) for option in command.options)
    examples = command.own_examples if isinstance(command, Group) else command.examples
    if not examples:
        return
    yield from (".PP", "Examples:", ".PP", ".RS 4", ".EX")
    for typed, text in examples:
        yield from (escape(f"# {text}"), escape(typed))
    yield from (".EE", ".RE")


def _usage(command: Command | Group) -> str:
    if isinstance(command, Group):
        word = "COMMAND" if command.default is None else "[COMMAND]"
    else:
        word = command.argument.name if command.argument else ""
    return f"\\fI{escape(word)}\\fR [\\fIOPTIONS\\fR]" if word else "[\\fIOPTIONS\\fR]"


def _names(option: Option) -> str:
    names = ", ".join(name for name in (option.short, option.name) if name)
    return f"{names} {option.metavar}".rstrip()


def _rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in rows:
        yield from (".TP", f"\\fB{escape(name)}\\fR", escape(text))


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="ascii")
