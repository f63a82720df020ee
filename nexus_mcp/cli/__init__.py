"""The command line: the table COMMANDS, and `main`, which turns the errors that a command raises into exit codes."""

from __future__ import annotations

import os
import sys

from nexus_mcp import log as log_lines  # nexus_mcp.cli.log, a command, takes the name `log` here
from nexus_mcp.cli import exits, text_output
from nexus_mcp.errors import CatalogError, HarnessFault, NexusError, UsageError, WaitStopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nexus_mcp.cli.options import Command, Group


def _loader(name: str) -> Callable[[], Command | Group]:
    """Return a function that imports the module of a command and returns the command."""

    def load() -> Command | Group:
        command: Command | Group = __import__(f"nexus_mcp.cli.{name}", fromlist=("COMMAND",)).COMMAND
        return command

    return load


# Each command has a module of the same name, which is imported only to run the command or to describe it.
COMMANDS = {
    name: _loader(name)
    for name in (
        "serve",
        "token",
        "init",
        "install",
        "uninstall",
        "package",
        "hook",
        "status",
        "board",
        "tasks",
        "task",
        "log",
        "undo",
        "doctor",
        "history",
        "decisions",
        "graph",
        "report",
        "export",
        "catalog",
        "capabilities",
        "resume",
        "brief",
        "route",
        "act",
        "memory",
        "run",
        "verdict",
        "demo",
        "conformance",
        "help",
        "completion",
    )
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (nexus_mcp/cli/exits.py). Print errors on stderr, one line each.

    Raise SystemExit if a command raises it after a signal.
    """
    text_output.ensure_utf8(is_program=argv is None)
    try:
        code = _dispatch(sys.argv[1:] if argv is None else list(argv))
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except SystemExit:
        # A signal ends the command. Drop its unwritten output, which may have no reader.
        _drop_stdout()
        raise
    except BrokenPipeError:
        _drop_stdout()
        return exits.OUTPUT_CLOSED
    except UsageError as error:
        return _complain(str(error), exits.USAGE)
    except (HarnessFault, CatalogError) as error:
        code = exits.USAGE if isinstance(error, HarnessFault) else exits.FAILED
        for fault in error.faults:
            _complain(fault, code)
        return _complain(error.next_step, code) if error.next_step else code
    except WaitStopped:  # by Ctrl-C: nothing else stops a command that waits
        return _complain("Interrupted; nothing was changed.", exits.INTERRUPTED)
    except NexusError as error:
        return _complain(str(error), exits.FAILED)
    except OSError as error:
        _drop_stdout()
        return _complain(f"{error.filename or 'The output'}: {error.strerror or error}.", exits.FAILED)
    return exits.exit_now(code) if argv is None else code


def _dispatch(argv: list[str]) -> int:
    first = argv[0] if argv else ""
    if first in COMMANDS:
        return _run(COMMANDS[first](), f"nexus-mcp {first}", argv[1:])
    if first in ("--help", "-h"):
        if argv[1:2] and argv[1] in COMMANDS:
            return _run(COMMANDS["help"](), "nexus-mcp help", argv[1:])
        from nexus_mcp.cli.help_texts import overview

        return _print(overview([load() for load in COMMANDS.values()]))
    if first in ("--version", "-V"):
        from nexus_mcp import __version__

        return _print(f"nexus-mcp {__version__}")
    if first and not first.startswith("-"):
        from nexus_mcp.cli import hints

        raise hints.no_command(first, argv[1:], COMMANDS)
    return _bare(argv)


def _run(command: Command | Group, prog: str, argv: list[str]) -> int:
    """Run `command` with the arguments `argv`; of a group, run the subcommand that the first word names, or the default
    command. With --help, print the help.
    """
    from nexus_mcp.cli.options import Group, parse

    first = argv[0] if argv else ""
    if isinstance(command, Group) and first in command.subcommands:
        return _run(command.subcommands[first](), f"{prog} {first}", argv[1:])
    words = argv[: argv.index("--")] if "--" in argv else argv  # words after -- are no options
    if "--help" in words or "-h" in words:
        from nexus_mcp.cli.help_texts import command_help

        return _print(command_help(command, prog))
    if isinstance(command, Group):
        if command.default is None or not command.takes(first):
            from nexus_mcp.cli import hints

            raise hints.no_subcommand(first, prog, command.subcommands)
        command = command.default()
    values = parse(argv, command.options, prog, command.argument)
    values.commands = COMMANDS
    if prog != "nexus-mcp serve":
        _need_output()
    return command.run(values)


def _bare(argv: list[str]) -> int:
    """Serve when no command is named; on a terminal, where there is no client, print an introduction instead."""
    from nexus_mcp.cli.options import parse
    from nexus_mcp.cli.serve import COMMAND as command

    values = parse(argv, command.options, "nexus-mcp")
    if os.isatty(0):
        from nexus_mcp.cli.help_texts import welcome

        return _print(welcome([load() for load in COMMANDS.values()]))
    return command.run(values)


def _print(text: str) -> int:
    _need_output()
    print(text)
    return exits.OK


def _need_output() -> None:
    """Raise NexusError when stdout was closed before the start: a command changes nothing that it cannot report."""
    if sys.stdout is None:
        raise NexusError("There is no output to print to.", next_step="Start it again without closing stdout.")


def _complain(message: str, code: int) -> int:
    from nexus_mcp.quoting import inert

    if log_lines.is_json():
        log_lines.error(message, exit_code=code)
    elif sys.stderr is not None:
        print(f"nexus-mcp: {inert(message)}", file=sys.stderr)
    return code


def _drop_stdout() -> None:
    """Point stdout at the null device, so that the interpreter's flush at exit cannot fail."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
    except OSError:  # no free descriptor, or no /dev
        sys.stdout = None
        return
    os.dup2(null, 1)
    os.close(null)
