"""Execute an opened run from start to end: orphans, baseline, engine, last checks, merge into the user's branch,
report.

The command line passes in the functions that show events and ask questions. Everything else is here, so that every
front end executes a run in the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from nexus_mcp.errors import NexusError
from nexus_mcp.run import dead_executor, final_merge, report, report_files, routing, sandbox
from nexus_mcp.run import events as ev
from nexus_mcp.run.begin import measure_baseline
from nexus_mcp.run.checkout_guard import UNSEEN, CheckoutChanged, changed_unseen
from nexus_mcp.run.checks import CheckResult, environment, is_new, run_check
from nexus_mcp.run.child_watcher import watch_children
from nexus_mcp.run.cleaning import drop_old_runs
from nexus_mcp.run.engine import LocalEngine
from nexus_mcp.run.leases import Leases
from nexus_mcp.run.precheck import Item, of_checks
from nexus_mcp.run.registry import Registry
from nexus_mcp.run.run_folder import HEADER, read_json
from nexus_mcp.run.setup import CLIENT, Run
from nexus_mcp.run.status_writer import StatusPath, StatusWriter
from nexus_mcp.state.oplog import By
from nexus_mcp.state.tasks import COMPLETED
from nexus_mcp.store.folder import Folder

NOT_ASKED = "a run without a terminal does not ask (--merge auto merges without a question)"
NOT_AGREED = "you did not agree to the merge"
HEARTBEAT_S = 60.0


@dataclass(frozen=True, slots=True)
class Front:
    """The functions of a run that show something to people or ask them. `event` gets each event, `baseline` the results
    of the checks before the work. `confirm` asks whether to merge and returns the answer; it is None without a
    terminal. `status_paths` are paths for copies of the status file.
    """

    event: Callable[[ev.AnyEvent], object] = lambda _: None
    baseline: Callable[[Sequence[Item]], object] = lambda _: None
    confirm: Callable[[str], Awaitable[bool]] | None = None
    status_paths: Sequence[StatusPath] = ()


@dataclass(slots=True)
class Result:
    """How a run ended. `is_merged`: the user's branch has all merged tasks. `merge_is_open`: the branch should have
    them, but lacks some, and `merge` is the reason. `report` is the path of the report, "" without one.
    `removed` has the ids of old runs that were deleted.
    """

    status: ev.RunStatus
    merge: str = ""
    merge_is_open: bool = False
    is_merged: bool = False
    report: str = ""
    problems: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


async def execute(run: Run, front: Front, *, signalled: Callable[[], bool] = bool) -> Result:
    """Execute the run and return how it ended. Raise NexusError as the store, git and the log do.

    `signalled` returns whether a signal ended the run: then nothing is merged.
    """
    run.listeners.append(front.event)
    with run.store.state() as state:
        assert state is not None
        return await _execute(run, front, state, signalled)


async def _execute(run: Run, front: Front, state: Folder, signalled: Callable[[], bool]) -> Result:
    watch_children()
    registry, leases = Registry(state, run), Leases(state, run)
    await registry.end_orphans()
    for pid in await dead_executor.end_processes(run.repository):
        run.emit(ev.OrphanEnded(pid=pid))
    await dead_executor.remove_locks(run.repository)
    leases.begin()
    run.listeners += [registry.take, leases.take]
    files = await run.repository.git.names("ls-files")
    engine = LocalEngine(run, has_tests=routing.has_tests(files, run.config))
    status = StatusWriter(run)
    status.paths += front.status_paths
    run.listeners.append(status.take)
    engine.more_files = leases.files
    status.write()
    async with _beating(status):
        try:
            return await _work(run, front, state, engine, signalled)
        finally:
            status.close()
            leases.write()


@asynccontextmanager
async def _beating(status: StatusWriter) -> AsyncIterator[None]:
    """Write the status every HEARTBEAT_S seconds within the block, so that a reader sees that the executor is alive."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            status.write()

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)


async def _work(run: Run, front: Front, state: Folder, engine: LocalEngine, signalled: Callable[[], bool]) -> Result:
    changed = await changed_unseen(run) if run.state.was_killed else []
    if changed:
        run.emit(ev.Paused(reason=str(CheckoutChanged(changed, UNSEEN))))
    else:  # with a changed configuration, git and the checks could run other programs
        left = [task for task in run.tasks()["tasks"] if task["status"] != COMPLETED]
        await run.pool.begin(min(run.config.jobs, len(left)))
        await _unless_stopped(run, asyncio.create_task(measure_baseline(run)))
        front.baseline(of_checks(run.baseline, run.config))
    await user_hook(run, "on-start", {})
    status = await engine.work()
    result = Result(status)
    if status == "interrupted" and (changed := await changed_unseen(run)):
        result.problems.append(str(CheckoutChanged(changed)))
    if not signalled():
        await _check_all(run, result)
    if not signalled():
        await _merge(run, front, result)
    reason = run.state.unverified if result.status == "failed" and run.config.regression == "end" else ""
    run.emit(ev.RunEnded(status=result.status, reason=reason))
    result.report = _report(run, result)
    await user_hook(run, "on-complete", {"NEXUS_STATUS": result.status})
    if not signalled():
        await _drop_old_runs(run, state, result)
    result.problems += [f"Not written: {one.path}: {one.problem}" for one in front.status_paths if one.problem]
    return result


async def _drop_old_runs(run: Run, state: Folder, result: Result) -> None:
    try:
        result.removed = await drop_old_runs(state, run.repository.root, run.repository.worktrees)
    except NexusError as error:
        result.problems.append(f"old runs are kept: {error}")


async def _unless_stopped(run: Run, working: asyncio.Task[Any]) -> bool:
    """Wait for an asyncio task, but cancel it when the run is stopped. Return whether it ended by itself, or raise the
    exception with which it ended.
    """
    stopping = asyncio.create_task(run.stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not working.done():
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        return False
    await working
    return True


async def _check_all(run: Run, result: Result) -> None:
    """With `regression: end`, run the checks on the whole integration branch, so that it may be merged.

    Check a stalled or paused run, too: a person may merge its work. A run whose checks fail is not completed.
    """
    commit = run.state.integration
    if run.config.regression != "end" or not commit or run.state.verified == commit or run.stop.is_set():
        return
    if run.state.is_checkout_changed or await _is_moved(run):
        return  # the branch is not merged then, and checks could run files that another program wrote
    checking = asyncio.create_task(_last_checks(run, commit))
    if not await _unless_stopped(run, checking):
        return
    reason = checking.result()
    run.emit(ev.Verified(commit=commit, reason=reason))
    if reason and result.status == "completed":
        result.status = "failed"


async def _is_moved(run: Run) -> bool:
    return await run.repository.head(f"refs/heads/{run.repository.integration}") != run.state.integration


async def _last_checks(run: Run, commit: str) -> str:
    """Return a sentence that names the first check with a new failure on a commit, "" if there is none."""
    repository = run.repository
    path = await repository.check_out(commit)
    environ = environment(tuple(run.config.strip_env), NEXUS_RUN=run.state.run)
    wrap = await sandbox.around(repository, run.config, path)
    for name, command in run.config.active_checks().items():
        found: CheckResult = await run_check(name, command, path, environ, run.config.check_timeout_s, wrap)
        if is_new(found, run.baseline.get(name)):
            return f"{name} fails on the integration branch."
    return ""


async def _merge(run: Run, front: Front, result: Result) -> None:
    """Bring the merged tasks into the user's branch, as `--merge` says; if that does not happen, put the reason into
    the result.

    Do nothing with `--merge never`, or if no task is merged. All merged tasks are verified, so a run that stalled may
    be merged, too, but only after a person agreed.
    """
    mode, repository, commit = run.options.merge, run.repository, run.state.integration
    if mode == "never" or not commit:
        return
    result.merge_is_open = True
    if run.state.is_checkout_changed:
        result.merge = "your checkout changed, so look at it first"
        return
    if await _is_moved(run):
        result.merge = f"{repository.integration} is not where the run left it"
        return
    branch = str(read_json(run.folder, HEADER).get("branch", ""))
    result.merge = await final_merge.go_on(repository, run.folder)
    if result.merge:
        return
    found = await final_merge.readiness(repository, branch, commit)
    if not found.commits and not found.problem:
        result.merge_is_open, result.is_merged = False, True
        return
    result.merge = found.problem or final_merge.why_unverified(run.config, run.state)
    if result.merge:
        return
    if mode == "ask":
        question = f"Move {found.branch} to the {found.commits} commits of this run?"
        if front.confirm is None or not await front.confirm(question):
            result.merge = NOT_ASKED if front.confirm is None else NOT_AGREED
            return
        # The person may have changed files or the branch before the answer.
        result.merge = (await final_merge.readiness(repository, branch, commit)).problem
        if result.merge:
            return
    elif result.status != "completed":
        result.merge = "not every task is completed"
        return
    result.merge = await final_merge.fast_forward(repository, commit, run.folder)
    result.merge_is_open, result.is_merged = bool(result.merge), not result.merge


def _report(run: Run, result: Result) -> str:
    """Write the report as an artifact and beside the log; return the path of the artifact, "" if one of
    them could not be written.
    """
    from nexus_mcp.store import artifacts

    tasks = run.redactor.value(run.tasks())
    text = report.markdown(run.state, tasks, run.log.events, merge=result.merge)
    try:
        report_files.write(run.folder, text, run.state, tasks, run.log.events, merge=result.merge)
        by = By("artifact_write", run.workspace.harness_id, CLIENT)
        return artifacts.write(run.store, f"runs/{run.state.run}.md", text, by)
    except NexusError as error:
        result.problems.append(str(error))
        return ""


async def user_hook(run: Run, name: str, more: Mapping[str, str]) -> None:
    """Run a command of the user at an event of the run; its failure is no fault of the run."""
    hook = run.config.hooks.get(name)  # type: ignore[call-overload]
    if hook is None:
        return
    environ = environment(tuple(run.config.strip_env), NEXUS_RUN_ID=run.state.run, NEXUS_EVENT=name, **more)
    await run_check(name, hook.command, run.workspace.root, environ, hook.timeout_ms / 1000)
