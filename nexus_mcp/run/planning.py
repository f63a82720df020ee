"""Plan an attempt: its tier, agent, model and findings, and the commit at which its work begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.run import events as ev

if TYPE_CHECKING:
    from nexus_mcp.run.attempts import Attempts
    from nexus_mcp.run.decide import Start
    from nexus_mcp.run.outcome import Category
    from nexus_mcp.run.projection import TaskRecord
    from nexus_mcp.run.setup import Run

_REASON_SHOWN = 500
_FORBIDDEN: tuple[Category, ...] = ("capability-violation", "isolation-violation")
"""Categories of attempts that broke a restriction. The next attempt must not begin with their changes: only its own
changes are judged, so inherited ones would be accepted.
"""


async def plan_attempt(run: Run, attempts: Attempts, record: TaskRecord, action: Start) -> None:
    """Log the plan of a new attempt; before it, log a change of tier or strategy, but not after a person's retry.

    Raise GitFailed, StorageError.
    """
    last, number = record.last, record.next_number
    tier = record.forced_tier or action.tier

    def emit(event: ev.Event) -> None:
        run.emit(event.model_copy(update={"task": attempts.id, "attempt": number}))

    reason = _reason(record)
    if last is not None and not record.is_retried:  # a person's retry chooses the tier anew
        if last.attempt.tier != tier:
            emit(ev.Escalated(before=last.attempt.tier, after=tier, why=reason[:_REASON_SHOWN]))
        if last.attempt.strategy != action.strategy:
            emit(ev.Downgraded(strategy=action.strategy))
    base = first_commit(record, action)
    findings = [reason] if base and record.is_retried and reason else list(action.findings)
    harness = run.config.harness_for("do")
    repository = run.repository
    emit(
        ev.AttemptPlanned(
            tier=tier,
            strategy=action.strategy,
            harness=harness,
            model=run.model(harness, attempts.owner or "", tier),
            agent=attempts.owner or "",
            base=base or await repository.head(f"refs/heads/{repository.integration}"),
            advise=action.advise,
            findings=findings,
        )
    )


def first_commit(record: TaskRecord, action: Start) -> str:
    """Return the commit of the previous attempt if the new one begins there, "" for the integration branch.

    `run retry` continues the previous work, unless `--fresh` is set. After an attempt that broke a restriction, the
    next one begins at the integration branch.
    """
    last = record.last
    if last is None or record.fresh:
        return ""
    outcome = last.attempt.outcome
    if outcome is not None and outcome.category in _FORBIDDEN:
        return ""
    return last.commit if action.base == "previous" or record.is_retried else ""


def _reason(record: TaskRecord) -> str:
    last = record.last
    return "" if last is None or last.attempt.outcome is None else last.attempt.outcome.reason
