"""`nexus-mcp conformance compare`: run the fixtures against several servers, side by side."""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.conformance.options import (
    ASKING,
    JOBS,
    SELECTING,
    is_selection,
    jobs,
    level,
    print_leftovers,
    select_fixtures,
    suite,
    target_options,
)
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import TOOL_PREFIX
from nexus_mcp.errors import HarnessFault, NexusError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.result import RunResult
    from nexus_mcp.conformance.settings import TargetOptions

SERVERS = Option("--server", "CMD", "a command that speaks MCP; once for each server", many=True)
PREFIX = Option(TOOL_PREFIX.name, "PREFIX", "the same for all servers (default: detected)")
JSON = Option("--json", "FILE", "also write the comparison to FILE")


def run(values: Values) -> int:
    """Run the fixtures against each server and print the table.

    Return 0 when no fixture fails on any server and every folder of the runs was deleted, else 1. Fixtures that are not
    run do not count.
    """
    from nexus_mcp.conformance import settings
    from nexus_mcp.conformance.processes.starting import check_platform
    from nexus_mcp.conformance.report import files

    check_platform("conformance compare")
    commands = [settings.parse_command(command, SERVERS.name) for command in values.lists[SERVERS.name]]
    if len(commands) < 2:
        raise UsageError(
            "compare needs at least two --server options.", next_step="To judge one server, use conformance run."
        )
    if JSON.name in values:
        files.check_place(JSON.name, values[JSON.name])
    at_once = jobs(values)
    fixtures = suite(values)
    chosen = select_fixtures(values, fixtures)
    options = target_options(values, fixtures)

    from nexus_mcp.conformance.report.compare import compare, document, show
    from nexus_mcp.conformance.report.json_report import json_text

    comparison = compare([_run(command, options, values, chosen, at_once) for command in commands])
    show(comparison, sys.stdout)
    if JSON.name in values:
        files.write(JSON.name, values[JSON.name], json_text(document(comparison)))
    return exits.OK if all(run.good for run in comparison.runs) else exits.FAILED


def _run(
    command: tuple[str, ...], options: TargetOptions, values: Values, chosen: list[Fixture], at_once: int
) -> RunResult:
    from dataclasses import replace

    from nexus_mcp.conformance.report.terminal import Screen
    from nexus_mcp.conformance.runner import run as run_all
    from nexus_mcp.conformance.settings import mark_run
    from nexus_mcp.conformance.target import stdio

    if PREFIX.name not in values:
        options = replace(options, prefix=_prefix(command, options, chosen))
    screen = Screen(len(chosen), sys.stdout, quiet=True)
    with screen:
        found = run_all(
            chosen,
            stdio(command, options),
            jobs=at_once,
            on_start=screen.show_start,
            on_result=screen.show_result,
            on_left=print_leftovers,
        )
    return mark_run(found, {}, level(values), is_selection=is_selection(values))


def _prefix(command: tuple[str, ...], options: TargetOptions, fixtures: list[Fixture]) -> str:
    """Return the prefix of this server's tool names. Raise HarnessFault when it cannot list its tools."""
    from nexus_mcp.conformance.settings import find_prefix
    from nexus_mcp.conformance.stopping import handle_signals, run_under_signals
    from nexus_mcp.conformance.target import one_session
    from nexus_mcp.conformance.trial.workspace_root import WorkspaceRoot

    async def list_tools(folder: str) -> tuple[str, ...]:
        async with one_session(command, folder, options) as session:
            return session.connection.tools

    with handle_signals() as ending:
        root = WorkspaceRoot()
        try:
            names = ending.run(list_tools(root.sandbox().project))
        except NexusError as error:
            raise HarnessFault([error.message], next_step=error.next_step) from error
        finally:
            print_leftovers(run_under_signals(root.remove, ending) or ())
    return find_prefix(names, {name for fixture in fixtures for name in fixture.tools})


COMMAND = Command(
    "compare",
    "run the fixtures against several servers, side by side",
    "Runs the same fixtures against each server and prints how many pass, tool by\n"
    "tool, and the fixtures on which the servers differ.",
    (SERVERS, PREFIX, *ASKING, *SELECTING, JOBS, JSON),
    run,
    examples=(
        ("nexus-mcp conformance compare --server 'nexus-mcp serve' --server 'node s.js'", "compare two servers"),
    ),
)
