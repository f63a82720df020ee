"""`nexus-mcp demo`: drive one whole cycle on a temporary project with the official MCP client."""

from __future__ import annotations

import os
import sys

from nexus_mcp import __version__
from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, Option
from nexus_mcp.errors import NexusError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.demo.screen import Screen
    from nexus_mcp.cli.options import Values

KEEP = Option("--keep", "", "keep the temporary project")


def run(values: Values) -> int:
    """Print the demo and return 0. Raise NexusError when a response of the server is not the expected one."""
    from nexus_mcp.conformance.processes.starting import check_platform

    check_platform("demo")
    # Print before the slow imports: the client library alone takes a second to load.
    print(f"nexus-mcp {__version__} at work on a new project", flush=True)
    from nexus_mcp.cli.demo.project import temporary_folder

    with temporary_folder(keep=KEEP.name in values) as folder:
        screen = _show(folder)
    _mount(screen)
    return exits.OK


def _show(folder: str) -> Screen:
    from nexus_mcp.cli.demo.project import FILES, make_project
    from nexus_mcp.cli.demo.screen import Screen

    make_project(folder)
    screen = Screen()
    screen.verbatim(f"{folder}: a git repository, branch main, {len(FILES)} files, one commit")
    sys.stdout.flush()

    from nexus_mcp.conformance.stopping import handle_signals

    with handle_signals(instead=True) as ending:
        ending.run(_drive(screen, folder))
    _files(screen, folder)
    return screen


async def _drive(screen: Screen, folder: str) -> None:
    from nexus_mcp.cli.demo.script import CYCLE
    from nexus_mcp.cli.mount import serve_command
    from nexus_mcp.conformance.target import one_session
    from nexus_mcp.program import shell_line

    command = serve_command()
    async with one_session(command, folder) as session:
        server = session.connection
        head = f"{shell_line(command)}: {server.server}, MCP {server.protocol}, {len(server.tools)} tools"
        screen.verbatim(head)
        screen.line("… marks text that the demo leaves out.", "dim")
        for chapter in CYCLE:
            screen.title(chapter.title)
            for step in chapter.steps:
                reply = await session.call(step.tool, step.arguments)
                if not isinstance(reply.payload, dict):
                    raise NexusError(f"{step.tool} gave an answer without an object in it.")
                screen.exchange(step, reply)
                if reply.is_failure != step.fails:
                    raise NexusError(f"{step.tool} did not answer as the demo expects.")


def _files(screen: Screen, folder: str) -> None:
    from nexus_mcp.cli.demo.project import git, tree

    screen.title("What is left on disk")
    for name, size in tree(folder, ".nexus"):
        screen.line(name if size is None else f"{name:40} {size:6} bytes")
    screen.line()
    screen.line("git status --short --untracked-files=all    (state/ is ignored)", "bold cyan")
    screen.verbatim(git(folder, "status", "--short", "--untracked-files=all").rstrip("\n"))
    screen.line()
    screen.line(".nexus/history.json", "bold cyan")
    with open(os.path.join(folder, ".nexus", "history.json"), encoding="utf-8") as file:
        screen.excerpt(file.read())


def _mount(screen: Screen) -> None:
    from nexus_mcp.cli.mount import snippets

    screen.title("Mount it")
    for place, text in snippets():
        screen.line()
        screen.line(place, "bold cyan")
        screen.verbatim(text)


COMMAND = Command(
    "demo",
    "run one whole cycle on a temporary project",
    "Creates a temporary git repository, starts the server there, sends it the calls\n"
    "of a whole cycle with the official MCP client, and shows the resulting files.",
    (KEEP,),
    run,
    examples=(("nexus-mcp demo --keep", "run the demo, and look at its files afterwards"),),
)
