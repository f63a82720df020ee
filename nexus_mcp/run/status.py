"""Project the log of a run to its status file, for CI and for people.

The field names are those of the status file of nax, another program that runs agents (specification v0.10.1), so that
tools for nax work; `storyId` is `taskId` as text. schemas/run/status.schema.json is generated from this model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.events import RunStatus, escape
from nexus_mcp.run.projection import AttemptRecord, RunRecord, TaskRecord
from nexus_mcp.state.tasks import COMPLETED

Status = Literal["running", "completed", "failed", "stalled", "paused", "crashed", "precheck-failed"]
_ENDED: dict[RunStatus, Status] = {
    "completed": "completed",
    "failed": "failed",
    "stalled": "stalled",
    "paused": "paused",
    "interrupted": "paused",
    "limit": "paused",
}
_RUNNING = ("running", "merging")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RunInfo(_Part):
    """The run itself. `feature` is the goal of the task list, or the topic of the plan."""

    id: str
    feature: str
    startedAt: str
    status: Status
    dryRun: bool = False
    pid: int
    host: str
    crashedAt: str | None = None
    crashSignal: str | None = None


class Progress(_Part):
    """Numbers of tasks. `pending` is `total` minus all others."""

    total: int
    passed: int
    failed: int
    paused: int
    blocked: int
    skipped: int
    pending: int


class Cost(_Part):
    """USD spent, None where a harness does not report it, and the limit, None without one."""

    spent: float | None
    limit: float | None


class Current(_Part):
    """The attempt that has run longest."""

    taskId: int
    storyId: str
    title: str
    complexity: str
    tddStrategy: str
    model: str
    harness: str
    agent: str
    attempt: int
    tier: str
    phase: str


class Active(_Part):
    """One running attempt."""

    taskId: int
    worktreePath: str
    phase: str


class Parallel(_Part):
    """The maximum number of attempts at once, and the attempts that run now."""

    enabled: bool
    maxConcurrency: int
    active: list[Active]


class OpenQuestion(_Part):
    """A question that waits for an answer."""

    id: str
    taskId: int | None
    summary: str


class StatusFile(_Part):
    """The whole file, version 1."""

    version: Literal[1] = 1
    run: RunInfo
    progress: Progress
    cost: Cost
    current: Current | None
    parallel: Parallel
    questions: list[OpenQuestion]
    iterations: int
    updatedAt: str
    lastHeartbeat: str
    durationMs: int

    def data(self) -> bytes:
        """Return the bytes of the file. Characters that UTF-8 cannot encode, such as lone surrogates, are escaped."""
        return json.dumps(escape(self.model_dump()), ensure_ascii=False, indent=2).encode() + b"\n"


def status_file(
    state: RunRecord,
    tasks: Sequence[Mapping[str, Any]],
    config: RunConfig,
    now: str,
    *,
    feature: str,
    dry_run: bool = False,
    status: Status | None = None,
) -> StatusFile:
    """Return the status file for this state of the run. `tasks` are those that the run works on; `now` is a stamp.

    `status` overrides the status that follows from the log: `crashed` and `precheck-failed` are in no log.
    """
    records = {task["id"]: state.task(task["id"]) for task in tasks}
    active = sorted(
        (record for record in records.values() if record.state in _RUNNING and record.last is not None),
        key=lambda record: _last(record).planned_at,
    )
    titles = {task["id"]: task for task in tasks}
    return StatusFile(
        run=RunInfo(
            id=state.run,
            feature=feature,
            startedAt=state.started_at,
            status=status or _status(state),
            dryRun=dry_run,
            pid=state.pid,
            host=state.host,
            crashedAt=state.updated_at if status == "crashed" else None,
        ),
        progress=progress(records, tasks),
        cost=Cost(spent=round(state.cost_usd, 6) if state.is_cost_known else None, limit=config.max_cost_usd),
        current=_current(active[0], titles[active[0].id]) if active else None,
        parallel=Parallel(
            enabled=config.jobs > 1,
            maxConcurrency=config.jobs,
            active=[Active(taskId=one.id, worktreePath=_last(one).worktree, phase=_last(one).phase) for one in active],
        ),
        questions=[OpenQuestion(id=one.id, taskId=one.task, summary=one.summary) for one in state.open_questions()],
        iterations=sum(len(record.attempts) for record in records.values()),
        updatedAt=now,
        lastHeartbeat=now,
        durationMs=milliseconds(state.started_at, now if state.ended is None else state.updated_at),
    )


def progress(records: Mapping[int, TaskRecord], tasks: Sequence[Mapping[str, Any]]) -> Progress:
    """Return the numbers of tasks by state. A task that is completed in tasks.json counts as passed."""
    done = {task["id"] for task in tasks if task.get("status") == COMPLETED}
    states = ["completed" if id_ in done else record.state for id_, record in records.items()]
    number = {name: states.count(name) for name in ("completed", "failed", "paused", "blocked", "skipped")}
    return Progress(
        total=len(states),
        passed=number["completed"],
        failed=number["failed"],
        paused=number["paused"],
        blocked=number["blocked"],
        skipped=number["skipped"],
        pending=len(states) - sum(number.values()),
    )


def milliseconds(start: str, end: str) -> int:
    """Return the milliseconds between two stamps; 0 if one of them is not a stamp, or if the clock went back."""
    try:
        return max(0, int((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() * 1000))
    except ValueError:
        return 0


def _status(state: RunRecord) -> Status:
    if state.ended is not None:
        return _ENDED[state.ended.status]
    return "running" if state.paused is None else "paused"


def _last(record: TaskRecord) -> AttemptRecord:
    assert record.last is not None
    return record.last


def _current(record: TaskRecord, task: Mapping[str, Any]) -> Current:
    last = _last(record)
    return Current(
        taskId=record.id,
        storyId=str(record.id),
        title=str(task.get("title", "")),
        complexity=last.attempt.tier,
        tddStrategy=last.attempt.strategy,
        model=last.model,
        harness=last.harness,
        agent=last.agent,
        attempt=last.attempt.number,
        tier=last.attempt.tier,
        phase=last.phase,
    )
