"""`nexus-mcp run --demo`: show a run in a temporary repository with a scripted agent, and the three faults that it
handles.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time

from nexus_mcp.catalog.load import load
from nexus_mcp.cli import exits
from nexus_mcp.cli.run.screen import Screen
from nexus_mcp.errors import NexusError
from nexus_mcp.run import events as ev
from nexus_mcp.run.begin import open_run
from nexus_mcp.run.demo import project
from nexus_mcp.run.execute import Front, Result, execute
from nexus_mcp.run.setup import Options, Run
from nexus_mcp.store.store import Store

INTRODUCTION = """\
A repository with a failing test, a list of three tasks, and an agent that is a script.
Two tasks run at once, each in its own worktree. Three things go wrong on the way."""


def show() -> int:
    """Show the demo. Return 0 if the tests on main pass at the end, else 1.

    Raise NexusError if the run does not complete and merge all tasks, or if one of the three faults does not occur.
    """
    print(INTRODUCTION, flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="nexus-run-demo-") as folder:
        root = os.path.join(folder, "shop")
        os.mkdir(root)
        asyncio.run(_run(root, os.path.join(folder, "worktrees")))
        is_green = project.is_green(root)
        print("\nThe branch main now:")
        print(project.log(root), end="")
    print(f"\nThe tests on main {'pass' if is_green else 'fail'}. It took {time.monotonic() - began:.1f} s.")
    print("In your own repository: nexus-mcp run --dry-run, then nexus-mcp run.")
    return exits.OK if is_green else exits.FAILED


async def _run(root: str, worktrees: str) -> None:
    workspace = project.make(root)
    print()
    for number, task in enumerate(project.TASKS, 1):
        after = f" (after {', '.join(map(str, task['deps']))})" if task.get("deps") else ""
        print(f"  task {number}: {task['title']}{after}")
    print(flush=True)
    opened = open_run(
        workspace=workspace,
        store=Store(workspace),
        config=project.config(worktrees),
        options=Options(merge="auto"),
        catalog=load(root),
    )
    with Screen(sys.stdout, is_live=False) as screen:
        async with opened as run:
            result = await execute(run, Front(screen.event))
            _explain(screen, run, result)


def _explain(screen: Screen, run: Run, result: Result) -> None:
    log = run.log.events
    crash = [one for one in log if isinstance(one, ev.ProcessEnded) and one.signal is not None]
    rejected = [one for one in log if isinstance(one, ev.VerdictGiven) and one.verdict and not one.verdict["approved"]]
    conflicts = [one for one in log if isinstance(one, ev.Conflict)]
    if result.status != "completed" or result.merge or not (crash and rejected and conflicts):
        raise NexusError(f"The demo did not end as it should: {result.status}, {result.merge or 'merged'}.")
    screen.line()
    screen.line("What went wrong, and how the run handled it:", "bold")
    screen.line(
        f"  crash: the agent of task {crash[0].task} died in the middle of an edit. Its half-done work was committed "
        "to its branch, and a second attempt continued from there."
    )
    screen.line(
        f"  rejected: the tests passed, but the reviewer of task {rejected[0].task} missed a test. The same session "
        "continued with the reviewer's words, and the second verdict was good."
    )
    screen.line(
        f"  conflict: the merge of task {conflicts[0].task} met other changes in {', '.join(conflicts[0].files)}. Its "
        "agent resolved the conflict in its worktree; the checks ran again before the merge counted."
    )
