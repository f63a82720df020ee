"""`nexus-mcp run`: let real agents do the task list, verified, in parallel, resumable (docs/run.md)."""

from __future__ import annotations

from nexus_mcp.cli.options import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.cli.options import Command


def _loader(module: str, name: str = "COMMAND") -> Callable[[], Command]:
    """Return a function that imports a module of this folder and returns its command `name`."""

    def load() -> Command:
        command: Command = getattr(__import__(f"nexus_mcp.cli.run.{module}", fromlist=(name,)), name)
        return command

    return load


COMMAND = Group(
    "run",
    "let agents do the task list, verified and in parallel",
    "Works through the task list of the project. An agent of your harness does each\n"
    "task in a git worktree of its own. The project's own tests check the work,\n"
    "another agent judges it, and it is merged into nexus/RUN/integration. Your\n"
    "checkout stays as it is until you agree to the merge. If a run is unfinished,\n"
    "the command continues it. nexus-mcp run 3 5 works on tasks 3 and 5 only.",
    {
        "precheck": _loader("precheck"),
        "status": _loader("status"),
        "list": _loader("listing"),
        "show": _loader("show"),
        "log": _loader("log"),
        "pause": _loader("control", "PAUSE"),
        "resume": _loader("control", "RESUME"),
        "stop": _loader("control", "STOP"),
        "skip": _loader("control", "SKIP"),
        "retry": _loader("control", "RETRY"),
        "answer": _loader("control", "ANSWER"),
        "diagnose": _loader("diagnose"),
        "merge": _loader("merge"),
        "clean": _loader("clean"),
        "unlock": _loader("unlock"),
        "attach": _loader("attach"),
    },
    default=_loader("start"),
)
