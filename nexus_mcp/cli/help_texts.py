"""Compose the texts of --help, and of `nexus-mcp` without a command on a terminal, from plain strings, without a
library.
"""

from __future__ import annotations

from nexus_mcp import __version__
from nexus_mcp.cli.options import Group
from nexus_mcp.cli.remote_options import TOKEN_ENV, URL
from nexus_mcp.cli.serve import LOG_FORMAT, LOG_LEVEL
from nexus_mcp.cli.workspace_options import PROJECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.cli.options import Command, Option

    AnyCommand = Command | Group

WHAT = """\
nexus-mcp {version}
Keeps the plan, the tasks and the history of a project in .nexus/, for coding
agents that speak the Model Context Protocol (MCP)."""

ENVIRONMENT = (
    ("NEXUS_PROJECT_ROOT", PROJECT, "the project, if --project is absent"),
    ("CLAUDE_PROJECT_DIR", PROJECT, "replaces the working directory in a folder of plugins"),
    ("NEXUS_LOG", LOG_LEVEL, "the log level, if --log-level is absent"),
    ("NEXUS_LOG_FORMAT", LOG_FORMAT, "the log format, if --log-format is absent"),
    ("NEXUS_URL", URL, "the server that hooks ask, if --url is absent"),
    ("NEXUS_TOKEN", TOKEN_ENV, "the token of a server over HTTP"),
    ("NEXUS_CA", TOKEN_ENV, "a file of certificates for https:// URLs"),
)
GLOBAL_OPTIONS = (("--help", "show this text, or the help of a command"), ("--version", "show the version"))


def overview(commands: Sequence[AnyCommand]) -> str:
    """Return the text of `nexus-mcp --help`."""
    return _page(
        commands,
        ("Usage: nexus-mcp [COMMAND] [OPTIONS]",),
        (
            "Options:",
            _table(GLOBAL_OPTIONS),
            "Without a command nexus-mcp serves, and takes the options of serve.",
            "",
            "Environment:",
            _table([(name, text) for name, _, text in ENVIRONMENT]),
            "",
            "nexus-mcp help COMMAND explains one command, with examples.",
        ),
    )


def command_help(command: AnyCommand, prog: str) -> str:
    """Return the text of `prog --help`; `prog` is the command as typed, e.g. nexus-mcp init."""
    if isinstance(command, Group):
        rows = [(name, load().summary) for name, load in command.subcommands.items()]
        word = "COMMAND" if command.default is None else "[COMMAND]"
        parts = [f"Usage: {prog} {word} [OPTIONS]", "", command.text, "", "Commands:", _table(rows)]
        parts += [*_options(command.options), *_variables(command.options)]
        return "\n".join((*parts, *_examples(command), "", f"{prog} COMMAND --help explains one command."))
    argument = command.argument
    word = f" {argument.name}" if argument else ""
    parts = [f"Usage: {prog}{word} [OPTIONS]", "", command.text]
    if argument:
        parts += ["", f"{argument.word}: {argument.help}"]
        parts += [_table(list(argument.choices.items()))] if argument.choices else []
    parts += _options(command.options)
    return "\n".join([*parts, *_variables(command.options), *_examples(command)])


def welcome(commands: Sequence[AnyCommand]) -> str:
    """Return the text of `nexus-mcp` without a command on a terminal, where no client sends requests."""
    from nexus_mcp.cli.mount import claude_command

    return _page(
        commands,
        (
            "It is started by an MCP client, which talks to it over stdin and stdout; on a",
            "terminal there is nothing to type. To mount it in Claude Code, for example:",
            "",
            f"  {claude_command()}",
        ),
        ("nexus-mcp --help lists the options.",),
    )


def _page(commands: Sequence[AnyCommand], before: Sequence[str], after: Sequence[str]) -> str:
    """Return the introduction, `before`, the table of commands and `after`, as one text."""
    table = _table([(command.name, command.summary) for command in commands])
    return "\n".join((WHAT.format(version=__version__), "", *before, "", "Commands:", table, "", *after))


def _options(options: Sequence[Option]) -> list[str]:
    """Return the lines about the options of a command."""
    rows = [(f"{option.name} {option.metavar}".rstrip(), option.help) for option in options]
    return ["", "Options:", _table(rows)] if rows else []


def _variables(options: Sequence[Option]) -> list[str]:
    """Return the lines about the environment variables that the options read."""
    # Compare option objects, not names: an option of another command may have the same name but read no variable.
    rows = [(name, text) for name, option, text in ENVIRONMENT if option in options]
    return ["", "Environment:", _table(rows)] if rows else []


def _examples(command: AnyCommand) -> list[str]:
    """Return the lines about the examples of a command; the lines without `#` can be pasted into a shell."""
    rows = [line for typed, text in command.examples for line in (f"  # {text}", f"  {typed}")]
    return ["", "Examples:", *rows] if rows else []


def _table(rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:{width}}   {text}" for name, text in rows)
