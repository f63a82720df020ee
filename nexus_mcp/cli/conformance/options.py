"""Options that several conformance commands share, and the fixtures and the target that they describe.

The target is nexus-mcp itself in memory, a command, or a URL.
"""

from __future__ import annotations

from nexus_mcp.cli.options import Option, parse_count
from nexus_mcp.cli.workspace_options import HARNESS_ID, PROJECT, TOOL_PREFIX, check_prefix
from nexus_mcp.errors import UsageError
from nexus_mcp.log import set_level

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.conformance.fixture import Fixture
    from nexus_mcp.conformance.result import Leftover
    from nexus_mcp.conformance.settings import TargetOptions
    from nexus_mcp.conformance.target import Target

# As in conformance.fixture, whose import would take too long while a command line is parsed.
LEVELS = ("basic", "full", "robust")

TOOL_MAP = Option("--tool-map", "FILE", "YAML: the server's name for each tool")
ENV = Option("--env", "KEY=VALUE", "a variable for the server; may be repeated", many=True)
PROJECT_ENV = Option("--project-env", "NAME", "variable of the project (NEXUS_PROJECT_ROOT)")
EVENT_COMMAND = Option("--event-command", "CMD", "handles an event; {type} is its name")
RUN_COMMAND = Option("--run-command", "CMD", "does the tasks; {status}: its status file")
RUN_TIMEOUT = Option("--run-timeout", "SECONDS", "time limit of a run (default: 120)")
TIMEOUT = Option("--timeout", "SECONDS", "time limit of a call (default: 10)")
START_TIMEOUT = Option("--start-timeout", "SECONDS", "time limit of a start (default: 30)")
FIXTURES = Option("--fixtures", "PATH", "a file or a folder; may be repeated", many=True)
ONLY = Option("--only", "GLOB", "run fixtures whose id matches; repeatable", many=True)
TOOL = Option("--tool", "NAME", "run fixtures that call this tool; repeatable", many=True)
LEVEL = Option("--level", "LEVEL", "basic, full or robust (default)", LEVELS)
ALL_TOOLS = Option("--require-all-tools", "", "fail fixtures of tools that the server lacks")
JOBS = Option("--jobs", "N", "fixtures at once (default: cores, at most 8)", short="-j")
MOST_JOBS = 9999

ASKING = (
    TOOL_MAP,
    ENV,
    PROJECT_ENV,
    HARNESS_ID,
    EVENT_COMMAND,
    TIMEOUT,
    START_TIMEOUT,
    ALL_TOOLS,
    RUN_COMMAND,
    RUN_TIMEOUT,
)
SELECTING = (LEVEL, FIXTURES, ONLY, TOOL)

SERVER = Option("--server", "CMD", "a command that speaks MCP on stdio, or HTTP")
URL = Option("--url", "URL", "its URL; without --server needs --project")
SERVED = Option(PROJECT.name, "DIR", "with --url: the empty folder it serves")


def suite(values: Values) -> list[Fixture]:
    """Return the fixtures that --fixtures names, else all fixtures of the package. Raise HarnessFault."""
    from nexus_mcp.conformance.loading import load

    return load(values.lists[FIXTURES.name])


def select_fixtures(values: Values, fixtures: list[Fixture]) -> list[Fixture]:
    """Return the fixtures that --level, --only and --tool select. Raise HarnessFault if they select none."""
    from nexus_mcp.conformance.settings import select

    return select(fixtures, values.lists[ONLY.name], values.lists[TOOL.name], level(values))


def level(values: Values) -> str:
    """Return the level of the run: without --level the highest one, with which the fixtures of all levels run."""
    return values.get(LEVEL.name, LEVELS[-1])


def is_selection(values: Values) -> bool:
    """Return whether the options choose fixtures by path, id or tool, instead of all packaged ones of a level."""
    return any(values.lists[option.name] for option in (FIXTURES, ONLY, TOOL))


def jobs(values: Values) -> int:
    """Return how many fixtures run at once, 0 for the runner's default. Raise UsageError."""
    return parse_count(values[JOBS.name], JOBS.name, MOST_JOBS) if JOBS.name in values else 0


def target_options(values: Values, fixtures: list[Fixture]) -> TargetOptions:
    """Return how to treat the target. Raise HarnessFault for a value that cannot be used."""
    from dataclasses import replace

    from nexus_mcp.conformance.settings import read_target_options

    options = read_target_options(values.get, values.lists[ENV.name], fixtures)
    return replace(options, require_all_tools=ALL_TOOLS.name in values)


def print_leftovers(left: Sequence[Leftover]) -> None:
    """Print on stderr the paths that a run without a result could not delete."""
    from nexus_mcp.conformance.report.texts import format_leftovers
    from nexus_mcp.log import error

    for line in format_leftovers(left):
        error(line)


def check(values: Values) -> None:
    """Raise UsageError for options that exclude each other, for an option without the one that it needs, and for a
    missing placeholder of the port.
    """
    if SERVER.name in values and URL.name in values:
        _check_started(values)
    elif (URL.name in values) != (SERVED.name in values):
        raise UsageError("--url and --project belong together: --project is the empty folder that the server serves.")
    for option in (ENV, PROJECT_ENV):
        if option.name in values and SERVER.name not in values and RUN_COMMAND.name not in values:
            raise UsageError(f"{option.name} needs --server or --run-command: it applies to what this command starts.")
    if RUN_TIMEOUT.name in values and RUN_COMMAND.name not in values:
        raise UsageError(f"{RUN_TIMEOUT.name} needs {RUN_COMMAND.name}: it bounds a run of that command.")


def target(values: Values, options: TargetOptions) -> Target:
    """Return the target that the options name, or our own tools in memory. Raise UsageError, HarnessFault."""
    from nexus_mcp.conformance import settings
    from nexus_mcp.conformance.target import in_memory, over_http, started_over_http, stdio

    if SERVER.name in values and URL.name in values:
        return started_over_http(settings.parse_command(values[SERVER.name], SERVER.name), values[URL.name], options)
    if SERVER.name in values:
        return stdio(settings.parse_command(values[SERVER.name], SERVER.name), options)
    if URL.name in values:
        _check_url(values[URL.name], values[SERVED.name])
        return over_http(values[URL.name], values[SERVED.name], options)
    prefix = check_prefix(values.get(TOOL_PREFIX.name, ""))
    # Fixtures contain corrupt files on purpose; our own warnings about them would disturb the progress bar.
    set_level("error")

    def make(root: str) -> Any:
        from nexus_mcp.server.app import App
        from nexus_mcp.server.sdk import build_server
        from nexus_mcp.workspace import Workspace

        return build_server(App(Workspace(root, options.harness_id), prefix))

    return in_memory(make, options)


def _check_started(values: Values) -> None:
    """Raise UsageError for --project, or if --server or --url lacks the placeholder for the port, which differs for
    each server.
    """
    from nexus_mcp.conformance.target import PORT, PROJECTS_FILE

    if SERVED.name in values:
        raise UsageError("--project is for a server that runs already.", next_step="Leave out --project or --server.")
    if PORT not in values[SERVER.name] or PORT not in values[URL.name]:
        raise UsageError(
            f"--server and --url together need {PORT} in both: the run replaces it by a free port.",
            next_step=f"Example: --server 'nexus-mcp serve --http 127.0.0.1:{PORT} --projects {PROJECTS_FILE}' "
            f"--url http://127.0.0.1:{PORT}/p/{{project}}/mcp",
        )


def _check_url(url: str, folder: str) -> None:
    import os
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise UsageError("--url needs an http or https address.", next_step="Example: --url http://127.0.0.1:8000/mcp")
    if not os.path.isdir(folder):
        raise UsageError(f"--project: {folder!r} is not a folder. Name the folder that the server serves.")
