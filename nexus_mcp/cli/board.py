"""`nexus-mcp board`: show projects on a web page of this machine, live and read-only, or export them as files."""

from __future__ import annotations

import os
import signal

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command, Option, parse_count
from nexus_mcp.cli.workspace_options import shared_state
from nexus_mcp.errors import UsageError
from nexus_mcp.workspace import Workspace, find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Never

    from nexus_mcp.cli.options import Values

_LAST_PORT = 65535
MOST_PROJECTS = 100
PORT = Option("--port", "N", "the port on 127.0.0.1 (default: 8737; 0 takes any free one)")
OPEN = Option("--open", "", "open the page in your browser")
PROJECTS = Option("--projects", "FILE", "show the projects in FILE, one path a line")
EXPORT = Option("--export", "DIR", "write the pages to DIR (empty, or an older export) and end")
DIRS = Argument("[DIR...]", "project folders (default: the git repository around you)", count=MOST_PROJECTS, least=0)


def run(values: Values) -> int:
    """Serve or export the board. Raise UsageError for a wrong DIR or option, too many projects, or a port in use;
    NexusError if the export cannot be written.
    """
    port = _port(values)
    workspaces = [_workspace(path, source) for path, source in _projects_of(values)]
    if len(workspaces) > MOST_PROJECTS:
        raise UsageError(f"A board shows at most {MOST_PROJECTS} projects.", next_step="Name fewer of them.")
    from nexus_mcp.board.cache_folder import cache_folder
    from nexus_mcp.board.projects import open_projects
    from nexus_mcp.board.serve import bind, serve
    from nexus_mcp.web.listening import end_signals

    for number in end_signals():
        signal.signal(number, _end)
    with cache_folder() as cache:
        projects = open_projects(workspaces, cache)
        if EXPORT.name in values:
            from nexus_mcp.board.export import export

            print(export(projects, values[EXPORT.name]))
            return exits.OK
        serve(projects, bind(port), opens=OPEN.name in values)
    return exits.OK


def _end(number: int, frame: object) -> Never:  # noqa: ARG001
    """End the command with exit code 0, because a signal is the usual end of a board."""
    raise SystemExit(exits.OK)


def _port(values: Values) -> int:
    from nexus_mcp.board.serve import DEFAULT_PORT

    return parse_count(values.get(PORT.name, str(DEFAULT_PORT)), PORT.name, _LAST_PORT, least=0)


def _projects_of(values: Values) -> list[tuple[str | None, str]]:
    """Return (path, name of the option or argument that names it) of each project; (None, "") is the project that
    find_root finds. Raise UsageError.
    """
    found: list[tuple[str | None, str]] = [(path, DIRS.word) for path in values.lists[DIRS.name]]
    if PROJECTS.name in values:
        from nexus_mcp.web.projects_file import read

        found += [(entry.path, PROJECTS.name) for entry in read(values[PROJECTS.name])]
    return found or [(None, "")]


def _workspace(path: str | None, source: str) -> Workspace:
    try:
        here = os.getcwd()
    except OSError:
        raise UsageError("The working directory is gone.", next_step="Change to a folder that exists.") from None
    if path is None:
        root = find_root(None, os.environ, here)
    elif source == PROJECTS.name and "\0" not in path and not os.path.isdir(path):
        root = os.path.abspath(path)  # show the others now, and this project as soon as its folder exists
    elif "\0" in path or not os.path.isdir(path):
        raise UsageError(f"{path!r} is not a folder.", next_step="Name an existing project folder.")
    else:
        root = os.path.realpath(path)
    return Workspace(root, state_root=shared_state(root) if os.path.isdir(root) else "")


COMMAND = Command(
    "board",
    "show plan, tasks, history and decisions on a web page",
    "Shows plan, tasks, agents, history, decisions and charts on a web page of this\n"
    "machine. It changes nothing in a project, and shows changes as they happen. It\n"
    "prints the address, whose last part is a secret of this run, and runs until\n"
    "Ctrl-C. With several projects it begins with an overview.",
    (PORT, OPEN, PROJECTS, EXPORT),
    run,
    argument=DIRS,
    examples=(
        ("nexus-mcp board", "show the project around you"),
        ("nexus-mcp board --port 0 ../shop ../api", "show two projects, on any free port"),
        ("nexus-mcp board --export site", "write the pages as files"),
    ),
)
