"""Merge accepted attempts into the integration branch, one at a time, and bring that branch into an attempt's worktree.

With `regression: each` the checks run on the merged tree before it counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from nexus_mcp.run import events as ev
from nexus_mcp.run.attempts import Attempts, judged_event
from nexus_mcp.run.checkout_guard import CheckoutChanged
from nexus_mcp.run.checks import CheckResult
from nexus_mcp.run.commits import conflicts_of
from nexus_mcp.run.environment_faults import is_full
from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.outcome import Outcome
from nexus_mcp.run.projection import AttemptRecord
from nexus_mcp.wording import join_first

_HALF = "half-merged"


async def merge(attempts: Attempts) -> None:
    """Merge the last attempt of a task, and record it as merged, or as failed by a conflict or a regression.

    With `regression: each` the integration branch moves only if no check has a new failure on the merged tree. If the
    branch contains the commit already, for example because an earlier executor moved it, only log that. Raise
    CheckoutChanged if another program moved the branch, GitFailed, StorageError.
    """
    run, record = attempts.run, attempts.record
    repository = run.repository
    about = {"task": attempts.id, "attempt": record.attempt.number}

    def emit(event: ev.Event) -> None:
        run.emit(event.model_copy(update=about))

    async with run.merging:
        old = await repository.head(f"refs/heads/{repository.integration}")
        expected = run.state.integration or run.state.base
        # An earlier executor may have died after it moved the branch and before it logged that. No other program may
        # move the branch.
        if old != expected and not await repository.is_merge_of(old, expected, record.commit):
            raise CheckoutChanged(["integration branch"])
        if record.phase != "merge":
            emit(ev.PhaseBegun(phase="merge"))
        new, files = await repository.merge(record.commit, _message(attempts, record))
        if files:
            emit(ev.Conflict(files=files))
            reason = f"The merge into the integration branch conflicts in {join_first(files, 20)}."
            emit(judged_event(Outcome("merge-conflict", reason)))
            return
        if new == old:
            emit(ev.Merged(commit=old))
            return
        if run.config.regression == "each" and attempts.has_checks(record):
            results = await attempts.check(await repository.check_out(new))
            failing = [result for result, known in results if not result.ok and not known]
            if failing:
                reason = "\n\n".join(f"{one.name} fails after the merge:\n{one.output}" for one in failing)
                emit(judged_event(Outcome("regression", reason)))
                return
            _ratchet(run.baseline, [result for result, _ in results])
        await run.log.flush()

        async def move() -> None:
            await repository.publish(old, new)
            emit(ev.Merged(commit=new))

        # If this task is cancelled now, for example because a person skips it, complete both steps of `move` first:
        # without the event, the next merge would conclude that another program moved the branch.
        moving = asyncio.ensure_future(move())
        try:
            await asyncio.shield(moving)
        except asyncio.CancelledError:
            await asyncio.wait({moving})
            raise


async def take_integration(attempts: Attempts) -> list[str]:
    """Merge the integration branch into the attempt's worktree: there the author resolves conflicts and regressions.

    Return the files in conflict. If the merge fails because git was killed during an earlier one, commit the changes in
    the worktree to a separate branch, and merge again. Raise GitFailed, StorageError, WorktreeGone.
    """
    repository, record = attempts.run.repository, attempts.record
    git = Git(record.worktree)
    head = await repository.head(f"refs/heads/{repository.integration}")
    words = ("--no-ff", "--no-verify", "--quiet", "--no-edit", head)
    try:
        return await conflicts_of(git, *words)
    except GitFailed as error:
        if is_full(error) or not await attempts.is_touched(record):
            raise
    await attempts.set_aside(record, _HALF)
    return await conflicts_of(git, *words)


def _ratchet(baseline: dict[str, CheckResult], results: Iterable[CheckResult]) -> None:
    """Replace results in the baseline by better ones on the merged tree: later attempts are compared with these."""
    for result in results:
        before = baseline.get(result.name)
        if result.ok or (before is not None and _has_fewer(result, before)):
            baseline[result.name] = result


def _has_fewer(result: CheckResult, before: CheckResult) -> bool:
    """Return whether both numbers of failures are known, and that of `result` is smaller."""
    return result.failures is not None and before.failures is not None and result.failures < before.failures


def _message(attempts: Attempts, record: AttemptRecord) -> str:
    title = " ".join(str(attempts.task.get("title", "")).split())[:60]
    head = f"nexus: merge task {attempts.id}, attempt {record.attempt.number}: {title}"
    return f"{head}\n\nNexus-Run: {attempts.run.state.run}\n"
