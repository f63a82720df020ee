"""The command line: the table COMMANDS, and `main`, the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys

from nexus_mcp.cli import exits, text_output
from nexus_mcp.errors import CatalogError, HarnessFault, NexusError, UsageError, WaitStopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nexus_mcp.cli.options import Command, Group


def _serve() -> Command:
    from nexus_mcp.cli.serve import COMMAND

    return COMMAND


def _init() -> Command:
    from nexus_mcp.cli.init import COMMAND

    return COMMAND


def _hook() -> Command:
    from nexus_mcp.cli.hook import COMMAND

    return COMMAND


def _log() -> Command:
    from nexus_mcp.cli.log import COMMAND

    return COMMAND


def _undo() -> Command:
    from nexus_mcp.cli.undo import COMMAND

    return COMMAND


def _conformance() -> Group:
    from nexus_mcp.cli.conformance import COMMAND

    return COMMAND


def _doctor() -> Command:
    from nexus_mcp.cli.doctor import COMMAND

    return COMMAND


def _history() -> Group:
    from nexus_mcp.cli.history import COMMAND

    return COMMAND


def _catalog() -> Group:
    from nexus_mcp.cli.catalog import COMMAND

    return COMMAND


def _route() -> Command:
    from nexus_mcp.cli.route import COMMAND

    return COMMAND


def _act() -> Command:
    from nexus_mcp.cli.act import COMMAND

    return COMMAND


def _memory() -> Group:
    from nexus_mcp.cli.memory import COMMAND

    return COMMAND


def _capabilities() -> Group:
    from nexus_mcp.cli.capabilities import COMMAND

    return COMMAND


def _resume() -> Command:
    from nexus_mcp.cli.resume import COMMAND

    return COMMAND


def _brief() -> Command:
    from nexus_mcp.cli.brief import COMMAND

    return COMMAND


def _demo() -> Command:
    from nexus_mcp.cli.demo import COMMAND

    return COMMAND


# Functions, so that starting the server does not import the other commands.
COMMANDS: dict[str, Callable[[], Command | Group]] = {
    "serve": _serve,
    "init": _init,
    "hook": _hook,
    "log": _log,
    "undo": _undo,
    "doctor": _doctor,
    "history": _history,
    "catalog": _catalog,
    "capabilities": _capabilities,
    "resume": _resume,
    "brief": _brief,
    "route": _route,
    "act": _act,
    "memory": _memory,
    "demo": _demo,
    "conformance": _conformance,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (nexus_mcp/cli/exits.py). Print errors as one line on stderr."""
    text_output.ensure_utf8(is_program=argv is None)
    try:
        code = _dispatch(sys.argv[1:] if argv is None else list(argv))
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except SystemExit:
        # A signal ends the command. Its unwritten output may have no reader.
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
        from nexus_mcp.cli.help import overview

        return _print(overview([load() for load in COMMANDS.values()]))
    if first in ("--version", "-V"):
        from nexus_mcp import __version__

        return _print(f"nexus-mcp {__version__}")
    if first and not first.startswith("-"):
        from nexus_mcp.cli import hints

        raise hints.no_command(first, argv[1:], COMMANDS)
    return _bare(argv)


def _run(command: Command | Group, prog: str, argv: list[str]) -> int:
    """Run `command` with the arguments `argv`, or the subcommand that their first word names."""
    from nexus_mcp.cli.options import Group, parse

    first = argv[0] if argv else ""
    if isinstance(command, Group) and first in command.subcommands:
        return _run(command.subcommands[first](), f"{prog} {first}", argv[1:])
    words = argv[: argv.index("--")] if "--" in argv else argv  # words after -- are no options
    if "--help" in words or "-h" in words:
        from nexus_mcp.cli.help import command_help

        return _print(command_help(command, prog))
    if isinstance(command, Group):
        from nexus_mcp.cli import hints

        raise hints.no_subcommand(first, prog, command.subcommands)
    values = parse(argv, command.options, prog, command.argument)
    if prog != "nexus-mcp serve":
        _need_output()
    return command.run(values)


def _bare(argv: list[str]) -> int:
    """Serve when no command is named; on a terminal, where there is no client, print an introduction instead."""
    from nexus_mcp.cli.options import parse

    command = _serve()
    values = parse(argv, command.options, "nexus-mcp")
    if os.isatty(0):
        from nexus_mcp.cli.help import welcome

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

    if sys.stderr is not None:
        print(f"nexus-mcp: {inert(message)}", file=sys.stderr)
    return code


def _drop_stdout() -> None:
    """Point stdout at the null device, so that the interpreter's flush at exit cannot fail."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
    except OSError:  # no descriptor is left, or no /dev
        sys.stdout = None
        return
    os.dup2(null, 1)
    os.close(null)
