"""The texts of --help and of the bare command on a terminal. Plain strings: they have to be there at once."""

from __future__ import annotations

from nexus_mcp import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.cli.options import Command

WHAT = """\
nexus-mcp {version}
Keeps the plan, the tasks and the history of a project in .nexus/, for coding
agents that speak the Model Context Protocol (MCP)."""

ENVIRONMENT = (
    ("NEXUS_PROJECT_ROOT", "--project", "the project, when --project is not given"),
    ("NEXUS_LOG", "--log-level", "the log level, when --log-level is not given"),
)
GLOBAL_OPTIONS = (("--help", "this text, or that of a command"), ("--version", "the version"))


def overview(commands: Sequence[Command]) -> str:
    """What `nexus-mcp --help` prints."""
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
            "nexus-mcp COMMAND --help tells more about a command.",
        ),
    )


def command_help(command: Command) -> str:
    """What `nexus-mcp COMMAND --help` prints."""
    parts = [f"Usage: nexus-mcp {command.name} [OPTIONS]", "", command.text]
    if command.options:
        rows = [(f"{option.name} {option.metavar}".rstrip(), option.help) for option in command.options]
        parts += ["", "Options:", _table(rows)]
    given = {option.name for option in command.options}
    variables = [(name, text) for name, option, text in ENVIRONMENT if option in given]
    if variables:
        parts += ["", "Environment:", _table(variables)]
    return "\n".join(parts)


def welcome(commands: Sequence[Command]) -> str:
    """What a bare `nexus-mcp` prints on a terminal, where no client can be at the other end."""
    from nexus_mcp.cli.mount import claude_command

    return _page(
        commands,
        (
            "It is started by an MCP client, which talks to it over stdin and stdout; on a",
            "terminal there is nothing to type. To mount it in Claude Code, for example:",
            "",
            f"  {claude_command()}",
        ),
        ("nexus-mcp --help tells the options.",),
    )


def _page(commands: Sequence[Command], before: Sequence[str], after: Sequence[str]) -> str:
    """What this is, some lines, the table of the commands, some lines more."""
    table = _table([(command.name, command.summary) for command in commands])
    return "\n".join((WHAT.format(version=__version__), "", *before, "", "Commands:", table, "", *after))


def _table(rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:{width}}   {text}" for name, text in rows)
