"""The options that several of the conformance commands take, and what their values mean."""

from __future__ import annotations

from nexus_mcp.cli.numbers import from_one
from nexus_mcp.cli.options import Option
from nexus_mcp.cli.workspace_options import HARNESS_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.result import Left
    from nexus_mcp.conformance.target import TargetOptions

TOOL_MAP = Option("--tool-map", "FILE", "YAML: the contract's name of a tool, its name here")
ENV = Option("--env", "KEY=VALUE", "a variable for the server; may be given again", many=True)
PROJECT_ENV = Option("--project-env", "NAME", "the variable with the project (NEXUS_PROJECT_ROOT)")
EVENT_COMMAND = Option("--event-command", "CMD", "takes an event; {type} is its name")
TIMEOUT = Option("--timeout", "SECONDS", "how long a call may take (default: 10)")
START_TIMEOUT = Option("--start-timeout", "SECONDS", "how long a start may take (default: 30)")
FIXTURES = Option("--fixtures", "PATH", "a file or a folder; may be given again", many=True)
ONLY = Option("--only", "GLOB", "fixtures with such an id; may be given again", many=True)
TOOL = Option("--tool", "NAME", "fixtures that ask this tool; may be given again", many=True)
JOBS = Option("--jobs", "N", "fixtures at once, also -j N (default: a core each)", short="-j")
MOST_JOBS = 9999

ASKING = (TOOL_MAP, ENV, PROJECT_ENV, HARNESS_ID, EVENT_COMMAND, TIMEOUT, START_TIMEOUT)
SELECTING = (FIXTURES, ONLY, TOOL)


def suite(values: Values) -> list[Fixture]:
    """All fixtures, those of the package unless --fixtures names others. Raises HarnessFault."""
    from nexus_mcp.conformance.loading import load

    return load(values.lists[FIXTURES.name])


def selected(values: Values, fixtures: list[Fixture]) -> list[Fixture]:
    """The fixtures that --only and --tool leave. Raises HarnessFault when they leave none."""
    from nexus_mcp.conformance.settings.selection import select

    return select(fixtures, values.lists[ONLY.name], values.lists[TOOL.name])


def jobs(values: Values) -> int:
    """How many fixtures at once, 0 when the runner is to decide. Raises UsageError."""
    return from_one(values[JOBS.name], JOBS.name, MOST_JOBS) if JOBS.name in values else 0


def target_options(values: Values, fixtures: list[Fixture], prefix: str) -> TargetOptions:
    """How the target is to be asked. Raises HarnessFault for what cannot be used."""
    from dataclasses import replace

    from nexus_mcp.conformance.settings import given
    from nexus_mcp.conformance.target import TargetOptions

    options = TargetOptions(prefix=prefix, environment=given.environment(values.lists[ENV.name], ENV.name))
    readers: tuple[tuple[Option, str, Callable[[str, str], Any]], ...] = (
        (TOOL_MAP, "names", lambda path, _: given.tool_names(path, fixtures)),
        (PROJECT_ENV, "project_env", given.variable),
        (HARNESS_ID, "harness_id", given.harness_id),
        (EVENT_COMMAND, "event_command", given.event_command),
        (TIMEOUT, "timeout", given.seconds),
        (START_TIMEOUT, "start_timeout", given.seconds),
    )
    changes = {
        member: read(values[option.name], option.name) for option, member, read in readers if option.name in values
    }
    return replace(options, **changes)


def tell_left(left: Sequence[Left]) -> None:
    """Say on stderr what a run that ends without a result could not delete."""
    from nexus_mcp.conformance.report.left import told
    from nexus_mcp.log import error

    for line in told(left):
        error(line)
