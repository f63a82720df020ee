"""Begin a run, or continue the unfinished run of the project: its header, log, integration branch and baseline."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import psutil

from nexus_mcp.errors import UsageError
from nexus_mcp.quoting import inert
from nexus_mcp.run import control, dead_executor, sandbox
from nexus_mcp.run import events as ev
from nexus_mcp.run.checks import environment, run_check
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.git import Git
from nexus_mcp.run.projection import RunRecord, project
from nexus_mcp.run.redaction import Redactor
from nexus_mcp.run.run_folder import (
    HEADER,
    EventLog,
    RunBusy,
    RunLock,
    read_json,
    read_log,
    run_folder,
    run_id,
    write_file,
    write_json,
)
from nexus_mcp.run.setup import Options, Run
from nexus_mcp.run.status import status_file
from nexus_mcp.run.worktrees import Repository
from nexus_mcp.state import times
from nexus_mcp.store.run_files import STATUS, run_ids

if TYPE_CHECKING:
    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace

VERSION = 1
_PROGRAM = "nexus"
_CLOCK_ERROR_S = 1.0
_NEXT = "Continue it with nexus-mcp run; nexus-mcp run --new begins another run."


def unfinished_run(state: Folder) -> str:
    """Return the id of the newest run if it is unfinished, else "".

    A run that was completed or failed is finished, unless a request such as `run retry` waits for it. A run that was
    killed, interrupted, paused, stalled or stopped by a limit is unfinished. A run without a readable header does not
    count. Raise StateError, PathRefused, StorageError.
    """
    for run in reversed(run_ids(state)):
        with run_folder(state, run) as folder:
            if folder is None or read_json(folder, HEADER) is None:
                continue
            record = project(read_log(folder)[0])
            is_retried = control.has_requests(folder)
        is_over = record.ended is not None and record.ended.status in ("completed", "failed")
        return "" if is_over and not is_retried else run
    return ""


@asynccontextmanager
async def open_run(
    *, workspace: Workspace, store: Store, config: RunConfig, options: Options, catalog: Catalog, is_new: bool = False
) -> AsyncIterator[Run]:
    """Hold the lock of runs and open a run: the unfinished one unless `is_new`, else a new one from `options.base` or
    HEAD.

    Raise RunBusy if another executor holds the lock or works on the run. Raise UsageError if the unfinished run cannot
    continue: `options` name other tasks or another base commit, a newer version made the run, or its task list was
    closed. Raise UsageError also if there is no commit to begin at. Raise GitFailed, GitAtWork, StateError,
    StorageError, PathRefused.
    """
    async with AsyncExitStack() as stack:
        with store.locked_state():
            pass  # makes the folders
        state = stack.enter_context(store.state())
        assert state is not None
        lock = stack.enter_context(RunLock(state))
        left = unfinished_run(state)
        if left:
            _check_dead(state, left)
        known = "" if is_new else left
        run_name = known or run_id(time.time())
        folder = stack.enter_context(run_folder(state, run_name, create=True))
        assert folder is not None
        repository = Repository(workspace.root, run_name, os.path.expanduser(config.worktrees))
        if known:
            header = read_json(folder, HEADER)
            _check_readable(run_name, header, store)
            await _check_same(header, options, repository)
        else:
            await _write_header(folder, repository, store, config, options)
        log = stack.enter_context(EventLog(folder))
        if log.unknown:
            raise _newer(run_name, f"events that this version does not know: {', '.join(map(inert, log.unknown))}")
        lock.name(run_name)
        run = Run(workspace, store, repository, config, options, folder, log, catalog)
        base = read_json(folder, HEADER)["base"]
        if not await repository.head(f"refs/heads/{repository.integration}"):
            await dead_executor.remove_locks(repository)
            await repository.publish("", base)
        if run.state.run and run.state.ended is None:
            _write_crashed(run)
        as_typed = dict(options.as_typed)
        run.emit(ev.RunStarted(run=run_name, pid=os.getpid(), host=socket.gethostname(), base=base, options=as_typed))
        yield run


def _check_dead(state: Folder, run: str) -> None:
    """Raise RunBusy if the last executor of a run is alive: then its lock file was removed, and we hold a new one.

    A process that got the same id later does not count: it began after the executor's start in the log.
    """
    with run_folder(state, run) as folder:
        record = RunRecord() if folder is None else project(read_log(folder)[0])
    if not record.run or record.ended is not None or record.pid == os.getpid() or record.host != socket.gethostname():
        return
    began = datetime.fromisoformat(record.executor_since).timestamp()
    with suppress(psutil.Error):
        process = psutil.Process(record.pid)
        is_older = process.status() != psutil.STATUS_ZOMBIE and process.create_time() < began + _CLOCK_ERROR_S
        if is_older and any(_PROGRAM in word for word in process.cmdline()):
            raise RunBusy(
                f"Process {record.pid} works on {record.run}, although its lock file was removed.",
                next_step="Wait for its end, or end it by Ctrl-C; then continue with nexus-mcp run.",
            )


def _write_crashed(run: Run) -> None:
    """Write the status `crashed` of a run whose executor died: its status file may still say `running`."""
    document, chosen = run.redactor.value(run.tasks()), run.options.tasks
    tasks = [task for task in document["tasks"] if chosen is None or task["id"] in chosen]
    now = times.stamp(time.time())
    made = status_file(run.state, tasks, run.config, now, feature=document["goal"], status="crashed")
    write_file(run.folder, STATUS, made.data())


def _newer(run: str, what: str) -> UsageError:
    return UsageError(
        f"The run {run} is of a newer version of nexus-mcp, or damaged: it has {what}.",
        next_step="Update nexus-mcp. nexus-mcp run --new begins another run; the work of this one stays.",
    )


def _check_readable(run: str, header: Any, store: Store) -> None:
    """Raise UsageError if the run is of a newer version or damaged, or if it worked on a task list that was closed."""
    version = header.get("version") if isinstance(header, dict) else None
    if version != VERSION:
        raise _newer(run, f"version {inert(str(version))[:20]} in its {HEADER}")
    made = {task["id"]: task.get("created_at") for task in (header.get("tasks") or {}).get("tasks", ())}
    other = [task["id"] for task in (store.tasks() or {}).get("tasks", ()) if _is_other(task, made)]
    if other:
        raise UsageError(
            f"The run {run} worked on another task list, which was closed: task {other[0]} is a different task now.",
            next_step="nexus-mcp run --new begins a run on the new list; the work of the old one stays.",
        )


def _is_other(task: dict[str, Any], made: dict[int, Any]) -> bool:
    """Return whether a task reuses the id of an older task of the run; its creation time then differs."""
    return task["id"] in made and task.get("created_at") != made[task["id"]]


async def _check_same(header: dict[str, Any], options: Options, repository: Repository) -> None:
    """Raise UsageError if the options name other tasks or another base commit than those of the unfinished run."""
    theirs = header["options"]["tasks"]
    mine = None if options.tasks is None else list(options.tasks)
    if mine is not None and mine != theirs:
        raise UsageError(
            f"The run {header['id']} is not finished, and works on {_name_tasks(theirs)}.",
            next_step=_NEXT,
        )
    if options.base and await repository.head(options.base) != header["base"]:
        raise UsageError(f"The run {header['id']} is not finished, and began at another commit.", next_step=_NEXT)


def _name_tasks(tasks: Sequence[int] | None) -> str:
    return "all tasks" if tasks is None else f"the tasks {', '.join(map(str, tasks))}"


async def _write_header(
    folder: Folder, repository: Repository, store: Store, config: RunConfig, options: Options
) -> None:
    base = await repository.head(options.base or "HEAD")
    if not base and options.base:
        raise UsageError(f"--base: {options.base!r} names no commit.")
    if not base:
        raise UsageError("The repository has no commit yet.", next_step="Commit something first: attempts start there.")
    redactor = Redactor(root=repository.root, links=config.link)
    drivers = redactor.value(config.model_dump(mode="json")["drivers"])
    header = {
        "version": VERSION,
        "id": repository.run,
        "started_at": times.stamp(time.time()),
        "base": base,
        "branch": (await Git(repository.root).run("symbolic-ref", "--quiet", "--short", "HEAD", check=False))[
            1
        ].strip(),
        "options": {
            "tasks": None if options.tasks is None else list(options.tasks),
            "merge": options.merge,
            "strategy": options.strategy,
        },
        "config": {**config.model_dump(mode="json"), "drivers": drivers},
        "tasks": redactor.value(store.tasks()),
    }
    write_json(folder, HEADER, header)


async def measure_baseline(run: Run) -> None:
    """Run the checks on the integration branch before the work, so that known failures do not count later.

    In a new run the branch is at the base commit. Log the results, and keep them as the baseline. A check that passed
    when an earlier executor began, and has the same command as at the start of the run, counts as passed in the
    baseline even if it fails now, for example because the machine is under load: its later failures have to count.
    Raise GitFailed, StorageError.
    """
    path = await run.repository.integration_worktree(run.config.link)
    git = Git(path)
    await git.run("reset", "--quiet", "--hard", await run.repository.head(f"refs/heads/{run.repository.integration}"))
    environ = environment(tuple(run.config.strip_env), NEXUS_RUN=run.state.run)
    wrap = await sandbox.around(run.repository, run.config, path)
    await _set_up(run, path, environ, wrap)
    before = ((read_json(run.folder, HEADER) or {}).get("config") or {}).get("checks") or {}
    for name, command in run.config.active_checks().items():
        result = await run_check(name, command, path, environ, run.config.check_timeout_s, wrap)
        has_passed = name in run.state.passing and before.get(name) == command
        run.emit(
            ev.Check(
                name=name,
                ok=result.ok,
                code=result.code,
                seconds=result.seconds,
                summary="" if result.ok else result.output,
                failures=result.failures,
            )
        )
        run.baseline[name] = replace(result, ok=True) if has_passed else result


async def _set_up(run: Run, path: str, environ: dict[str, str], wrap: sandbox.Wrap) -> None:
    """Run the setup commands in the integration worktree, once. A failure is not reported here: it shows in the checks
    and at each attempt.
    """
    mark = os.path.join(await run.repository.admin_of(path), "nexus-setup")
    if os.path.exists(mark):
        return
    for command in run.config.setup:
        await run_check("setup", command, path, environ, run.config.setup_timeout_s, wrap)
    with open(mark, "w", encoding="utf-8"):
        pass
