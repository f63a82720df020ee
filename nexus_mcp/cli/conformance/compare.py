"""`nexus-mcp conformance compare`: several servers side by side."""

from __future__ import annotations

import sys

from nexus_mcp.cli import exits
from nexus_mcp.cli.conformance.options import ASKING, JOBS, SELECTING, jobs, selected, suite, target_options, tell_left
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.cli.workspace_options import TOOL_PREFIX
from nexus_mcp.errors import HarnessFault, NexusError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.result import RunResult
    from nexus_mcp.conformance.target import TargetOptions

SERVERS = Option("--server", "CMD", "a command that speaks MCP; give it for each server", many=True)
PREFIX = Option(TOOL_PREFIX.name, "PREFIX", "for all (default: as each one lists its tools)")
JSON = Option("--json", "FILE", "write the comparison there, too")


def run(values: Values) -> int:
    """Runs the fixtures against each server and prints the table. 0: all pass everywhere; 1: not so."""
    from nexus_mcp.conformance.platform import check_platform
    from nexus_mcp.conformance.report import files
    from nexus_mcp.conformance.settings import given

    check_platform("conformance compare")
    commands = [given.command(command, SERVERS.name) for command in values.lists[SERVERS.name]]
    if len(commands) < 2:
        raise UsageError("compare needs --server twice or more.", next_step="conformance run judges a single one.")
    if JSON.name in values:
        files.check_place(JSON.name, values[JSON.name])
    at_once = jobs(values)
    fixtures = suite(values)
    chosen = selected(values, fixtures)
    options = target_options(values, fixtures, values.get(PREFIX.name, ""))

    from nexus_mcp.conformance.report.compare import compared, document
    from nexus_mcp.conformance.report.json_report import json_text
    from nexus_mcp.conformance.report.side_by_side import show

    comparison = compared([_run(command, options, values, chosen, at_once) for command in commands])
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
    from nexus_mcp.conformance.target import stdio

    if PREFIX.name not in values:
        options = replace(options, prefix=_prefix(command, options, chosen))
    screen = Screen(len(chosen), sys.stdout, quiet=True)
    with screen:
        return run_all(
            chosen,
            stdio(command, options),
            jobs=at_once,
            on_start=screen.started,
            on_result=screen.ended,
            on_left=tell_left,
        )


def _prefix(command: tuple[str, ...], options: TargetOptions, fixtures: list[Fixture]) -> str:
    """What this server puts before the names of its tools. Raises HarnessFault when it cannot be asked."""
    from nexus_mcp.conformance.processes.endings import carried_out, orderly
    from nexus_mcp.conformance.settings.prefix import find_prefix
    from nexus_mcp.conformance.single import one_session
    from nexus_mcp.conformance.trial.ground import Ground

    async def listed(folder: str) -> tuple[str, ...]:
        async with one_session(command, folder, options) as session:
            return session.connection.tools

    with orderly() as ending:
        ground = Ground()
        try:
            names = ending.run(listed(ground.sandbox().project))
        except NexusError as error:
            raise HarnessFault([error.message], next_step=error.next_step) from error
        finally:
            tell_left(carried_out(ground.remove, ending) or ())
    return find_prefix(names, {name for fixture in fixtures for name in fixture.tools})


COMMAND = Command(
    "compare",
    "run the fixtures against several servers, side by side",
    "Runs the same fixtures against each server and prints how many pass, tool by\n"
    "tool, and the fixtures on which the servers differ.",
    (SERVERS, PREFIX, *ASKING, *SELECTING, JOBS, JSON),
    run,
)
