"""Find the causes that delay or stop a run, from its log, tasks and processes, without a model. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from nexus_mcp.run import events as ev
from nexus_mcp.run.projection import RunRecord, TaskRecord
from nexus_mcp.run.report import cost_text
from nexus_mcp.state.tasks import COMPLETED
from nexus_mcp.wording import join_first

CODES = (
    *("GREENFIELD", "MAX_TIERS_EXHAUSTED", "ENVIRONMENTAL", "LOCK_STALE", "ORPHANS", "STALLED_ON", "FLAKY_CHECK"),
    *("BUDGET", "VERDICT_MISSING", "CONFLICT", "AUTO_RECOVERED"),
)
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One diagnosis. `evidence` are numbers of events of the log; `command` is what to type next, "" for none."""

    code: str
    message: str
    advice: str
    command: str = ""
    task: int | None = None
    evidence: list[int] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Return the diagnosis as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts that the log lacks. `is_alive`: an executor holds the lock. `orphans`: ids of live processes of the run."""

    is_alive: bool = False
    orphans: Sequence[int] = ()


def diagnose(
    state: RunRecord, log: Sequence[ev.AnyEvent], tasks: Sequence[Mapping[str, Any]], facts: Facts
) -> list[Diagnosis]:
    """Return the diagnoses: of the executor, limits, tasks and checks, and last of faults that needed no person."""
    return [
        *_executor(state, log, facts),
        *_limits(state, log),
        *(finding for task in state.tasks.values() for finding in _task(task, log)),
        *_diagnose_stall(state, tasks),
        *_flaky(log),
        *_diagnose_recovery(state, log),
    ]


def _executor(state: RunRecord, log: Sequence[ev.AnyEvent], facts: Facts) -> Iterator[Diagnosis]:
    if log and state.ended is None and not facts.is_alive:
        yield Diagnosis(
            "LOCK_STALE",
            f"The executor, process {state.pid} on {state.host}, died: the log has no end, and the lock is free.",
            "Continue the run. Nothing is lost: the log has every effect.",
            "nexus-mcp run",
            evidence=[log[-1].seq],
        )
    if facts.orphans and not facts.is_alive:
        yield Diagnosis(
            "ORPHANS",
            f"Processes of a dead executor are alive: {', '.join(map(str, facts.orphans))}.",
            "The next run ends them; nexus-mcp run unlock ends them, too.",
            "nexus-mcp run unlock",
        )


def _limits(state: RunRecord, log: Iterable[ev.AnyEvent]) -> Iterator[Diagnosis]:
    reached = [event for event in log if isinstance(event, ev.LimitReached)]
    if reached:
        last = reached[-1]
        if last.name == "cost" and not state.is_cost_reported:
            yield Diagnosis(
                "BUDGET",
                f"A session reported no cost, so the cost limit cannot be enforced. So far: {cost_text(state)}.",
                "Set run.prices for its model, or continue without a cost limit.",
                "nexus-mcp run",
                evidence=[event.seq for event in reached],
            )
            return
        yield Diagnosis(
            "BUDGET",
            f"The limit of {last.name} is reached: {last.value:g}.",
            "Raise the limit, if the work is worth more.",
            f"nexus-mcp run --max-{last.name} N",
            evidence=[event.seq for event in reached],
        )


def _task(task: TaskRecord, log: Sequence[ev.AnyEvent]) -> Iterator[Diagnosis]:
    mine = [event for event in log if event.task == task.id]
    judged = [event for event in mine if isinstance(event, ev.Judged) and not event.ok]
    if task.state in ("failed", "paused") and len(task.attempts) > 1 and judged:
        yield Diagnosis(
            "MAX_TIERS_EXHAUSTED",
            f"Task {task.id} used up its attempts: {', '.join(str(event.category) for event in judged)}.",
            "Split the task or make its acceptance clearer; then give it new attempts.",
            f"nexus-mcp run retry {task.id} --tier high",
            task.id,
            [event.seq for event in judged],
        )
    environment = [event for event in judged if event.category == "environment"]
    if environment and task.state != "completed":
        yield Diagnosis(
            "ENVIRONMENTAL",
            f"Task {task.id}: {environment[-1].reason[:_SHOWN]}",
            "Correct the setup, the disk or the login of the harness; attempts with this failure do not count.",
            f"nexus-mcp run retry {task.id}",
            task.id,
            [event.seq for event in environment],
        )
    missing = [event for event in mine if isinstance(event, ev.VerdictGiven) and event.verdict is None]
    if missing and task.state != "completed":
        yield Diagnosis(
            "VERDICT_MISSING",
            f"Task {task.id}: {missing[-1].agent} gave no readable verdict.",
            "Look at its transcript; judge the work yourself, or try again.",
            f"nexus-mcp run attach {task.id}",
            task.id,
            [event.seq for event in missing],
        )
    conflicts = [event for event in mine if isinstance(event, ev.Conflict)]
    if conflicts and task.state != "completed":
        yield Diagnosis(
            "CONFLICT",
            f"Task {task.id} conflicts with merged work in {join_first(conflicts[-1].files, 10)}.",
            "Resolve it on its branch, or begin the task anew at the merged work.",
            f"nexus-mcp run retry {task.id} --fresh",
            task.id,
            [event.seq for event in conflicts],
        )
    green = [event for event in mine if isinstance(event, ev.Judged) and "no test file" in event.reason]
    if green and task.state != "completed":
        yield Diagnosis(
            "GREENFIELD",
            f"Task {task.id}: the test session made no test file.",
            "Set run.tests to the paths of this project's tests, or give the task the strategy test-after.",
            "nexus-mcp run --strategy test-after",
            task.id,
            [event.seq for event in green],
        )


def _diagnose_stall(state: RunRecord, tasks: Sequence[Mapping[str, Any]]) -> Iterator[Diagnosis]:
    blocked = [record for record in state.tasks.values() if record.state == "blocked"]
    done = {task["id"] for task in tasks if task.get("status") == COMPLETED}
    for record in blocked:
        if record.id not in done:
            yield Diagnosis(
                "STALLED_ON",
                f"Task {record.id} waits: {record.reason}.",
                "First complete or retry the task that it waits for.",
                task=record.id,
            )


def _flaky(log: Iterable[ev.AnyEvent]) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each result of a check that differs from its first result for the same commit."""
    commits: dict[int | None, str] = {}
    seen: dict[tuple[str, str], ev.Check] = {}
    for event in log:
        if isinstance(event, ev.Collected) and event.commit:
            commits[event.task] = event.commit
        if not isinstance(event, ev.Check) or not commits.get(event.task):
            continue
        before = seen.setdefault((commits[event.task], event.name), event)
        if before.ok != event.ok:
            yield Diagnosis(
                "FLAKY_CHECK",
                f"The check {event.name} passed and failed at the same commit.",
                "Make the check reliable: the run relies on its result.",
                task=event.task,
                evidence=[before.seq, event.seq],
            )


def _diagnose_recovery(state: RunRecord, log: Iterable[ev.AnyEvent]) -> Iterator[Diagnosis]:
    found = [event for event in log if isinstance(event, ev.OrphanEnded | ev.Mended | ev.Escalated)]
    solved = [event for event in found if event.task is None or state.task(event.task).state == "completed"]
    if solved:
        yield Diagnosis(
            "AUTO_RECOVERED",
            f"{len(solved)} faults needed no person: processes were ended, sessions resumed or tiers raised.",
            "You need not do anything.",
            evidence=[event.seq for event in solved],
        )
