"""`nexus-mcp run --dry-run`: show what a run would do, and start no process of an agent."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from nexus_mcp.cli import exits
from nexus_mcp.cli.run.command_line import STATUS_FILE
from nexus_mcp.cli.run.work import choices, make_mount
from nexus_mcp.program import shell_line
from nexus_mcp.quoting import inert
from nexus_mcp.run import routing, triggers
from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.precheck import NO_TASKS
from nexus_mcp.run.preview import TaskPreview, preview
from nexus_mcp.run.projection import RunRecord
from nexus_mcp.run.status import status_file
from nexus_mcp.run.status_writer import StatusPath
from nexus_mcp.state import times

if TYPE_CHECKING:
    from nexus_mcp.cli.run.typed_run import TypedRun
    from nexus_mcp.run.config import RunConfig


def show(typed: TypedRun) -> int:
    """Print the preview; with --status-file write a status with `dryRun: true`. Return the exit code.

    Raise UsageError for an unknown harness, CatalogError, and the errors of `TypedRun.tasks`.
    """
    document = typed.tasks()
    ids = {task["id"] for task in document["tasks"]}
    if unknown := [id_ for id_ in typed.options.tasks or () if id_ not in ids]:
        print(f"There is no task {', '.join(map(str, unknown))}.")
        return exits.BLOCKED
    found = preview(
        document["tasks"],
        typed.config,
        typed.options,
        typed.catalog,
        choices(typed.config, typed.catalog, typed.settings),
        has_tests=routing.has_tests(_files(typed.workspace.root), typed.config),
        mount=partial(make_mount, typed.catalog),
        root=typed.workspace.root,
    )
    wave = -1
    for one in found:
        if one.wave != wave:
            wave = one.wave
            print(f"\nWave {wave}" if wave else "\nCannot start: a task is missing, or tasks depend on each other")
        _show(one)
    if found:
        _show_bounds(found, typed.config)
    else:
        print("All tasks are completed." if document["tasks"] else f"{NO_TASKS[0].upper()}{NO_TASKS[1:]}.")
    if STATUS_FILE.name in typed.values:
        now, chosen = times.stamp(time.time()), typed.options.tasks
        made = status_file(
            RunRecord(run="dry-run", started_at=now),
            [task for task in document["tasks"] if chosen is None or task["id"] in chosen],
            typed.config,
            now,
            feature=document["goal"],
            dry_run=True,
        )
        StatusPath(typed.values[STATUS_FILE.name]).write(made.data())
    return exits.OK


def _show_bounds(found: list[TaskPreview], config: RunConfig) -> None:
    sessions, limit = sum(one.sessions for one in found), config.max_cost_usd
    money = f"the run stops at {limit:g} USD" if limit is not None else "no limit in USD: --max-cost sets one"
    print("\n/WORKTREE, /WORKTREES and /SCRATCH are placeholders for folders of the run.")
    jobs = f"{config.jobs} task{'s' * (config.jobs != 1)} at once"
    print(f"At most {sessions} sessions, if every attempt fails; {jobs}; {money}.")
    asks = [name for name in triggers.ROWS if config.questions.asks(name)]
    if asks:
        questions = ", ".join(f"{name} ({triggers.fallback(name, config.questions)})" for name in asks)
        wait = f"After {config.questions.timeout_s} s it takes the answer in parentheses"
        print(f"The run may ask you. {wait}: {questions}.")


def _show(one: TaskPreview) -> None:
    after = f", after {', '.join(map(str, one.deps))}" if one.deps else ""
    model = f", model {inert(one.model)}" if one.model else ""
    print(f"  {one.id} {inert(one.title)}{after}")
    print(f"    {inert(one.agent) or 'plain session'}, {one.strategy}, tier {one.tier}, {one.harness}{model}")
    variables = [f"{name}={value}" for name, value in one.environ.items()]
    print(f"    {shell_line([*(('env', *variables) if variables else ()), *one.command])}")
    if one.files:
        print(f"    with the files {', '.join(map(inert, one.files))} (server and hooks of nexus-mcp)")
    checks = "; ".join(map(inert, one.checks)) or "none"
    print(f"    checks: {checks}    reviewers: {', '.join(map(inert, one.reviewers)) or 'none'}")


def _files(root: str) -> list[str]:
    try:
        return asyncio.run(Git(root).names("ls-files"))
    except (GitFailed, OSError):
        return []
