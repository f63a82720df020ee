"""Show events of a run as log entries: `{timestamp, level, stage, taskId?, message, data}`, and as lines of text.

The format is the LogEntry of nax, another program that runs agents, so that tools for nax work.
"""

from __future__ import annotations

from typing import Any, Literal

from nexus_mcp.quoting import inert
from nexus_mcp.run import events as ev
from nexus_mcp.wording import and_more

Level = Literal["debug", "info", "warn", "error"]
LEVELS: tuple[Level, ...] = ("debug", "info", "warn", "error")
_BASE = frozenset(("seq", "at", "task", "attempt", "type"))
_LEVELS: dict[str, Level] = {
    **dict.fromkeys(("usage", "session", "phase", "worktree_made", "process_started", "checkout"), "debug"),
    **dict.fromkeys(("guard", "mended", "escalated", "downgraded", "conflict", "task_blocked", "question"), "warn"),
    **dict.fromkeys(("cost_warning", "limit", "orphan_ended", "paused", "task_paused", "task_skipped"), "warn"),
    "task_failed": "error",
}
_LONGEST = 200
_LONGEST_QUESTION = 4000
"""Characters of a question that are shown. The accepted answers are at the end of the question."""


def entry(event: ev.AnyEvent) -> dict[str, Any]:
    """Return the log entry of an event."""
    found: dict[str, Any] = {"timestamp": event.at, "level": level(event), "stage": event.type}
    if event.task is not None:
        found["taskId"] = event.task
    data = {
        name: value for name, value in event.model_dump(mode="json", exclude_none=True).items() if name not in _BASE
    }
    extra = {"seq": event.seq, **({"attempt": event.attempt} if event.attempt is not None else {}), **data}
    return {**found, "message": message(event), "data": extra}


def level(event: ev.AnyEvent) -> Level:
    """Return the level of an event."""
    if isinstance(event, ev.RunEnded):
        return "info" if event.status == "completed" else "error" if event.status == "failed" else "warn"
    if isinstance(event, ev.Judged) and not event.ok:
        return "warn"
    if isinstance(event, ev.Check) and not event.ok:
        return "warn"
    if isinstance(event, ev.Check) and event.task is None:
        return "debug"
    if isinstance(event, ev.Verified) and event.reason:
        return "error"
    return _LEVELS.get(event.type, "info")


def line(event: ev.AnyEvent) -> str:
    """Return the event as one line of text without control characters: time in UTC, task, message."""
    where = f"task {event.task}: " if event.task is not None else ""
    return f"{event.at[11:19]} {where}{message(event)}"


def message(event: ev.AnyEvent) -> str:  # noqa: PLR0912 - a case for each event
    """Return what happened, in one line without control characters."""
    match event:
        case ev.RunStarted():
            return f"run {event.run} by process {event.pid} on {_short(event.host)}"
        case ev.TaskReady():
            return "ready"
        case ev.AttemptPlanned():
            by = f"{event.agent or 'a plain session'} ({event.harness}{_model(event.model)})"
            return f"attempt {event.attempt} by {_short(by)}, tier {event.tier}, {event.strategy}"
        case ev.WorktreeMade():
            return f"worktree {_short(event.path)}"
        case ev.PhaseBegun():
            return f"phase {event.phase}"
        case ev.ProcessStarted():
            return f"{_short(event.agent or event.role)} at work ({event.role}, process {event.pid})"
        case ev.Session():
            return f"session {_short(event.id)}"
        case ev.Usage():
            cost = ", unknown cost" if event.cost_usd is None else f", {event.cost_usd:.4f} USD"
            return f"{event.input} tokens in, {event.output} out{cost}"
        case ev.Checkout():
            return "the checkout is recorded"
        case ev.Guard():
            return f"guard {event.name}: {_short(str(event.value))}"
        case ev.ProcessEnded():
            return _describe_end(event)
        case ev.Collected():
            return _describe_collection(event)
        case ev.Check():
            return f"{'on the merged work so far, ' if event.task is None else ''}{_check(event)}"
        case ev.VerdictGiven():
            return _verdict(event)
        case ev.Judged():
            return "accepted" if event.ok else f"not accepted: {event.category}: {_short(event.reason)}"
        case ev.Mended():
            return f"the session goes on with findings: {_short(event.findings)}"
        case ev.Escalated():
            return f"escalated from {event.before} to {event.after}"
        case ev.Downgraded():
            return f"next strategy: {event.strategy}"
        case ev.Merged():
            return f"merged at {event.commit[:10]}"
        case ev.Verified():
            why = f"{_short(event.reason)}" if event.reason else "the checks pass"
            return f"integration branch at {event.commit[:10]}: {why}"
        case ev.Conflict():
            return f"merge conflict in {_short(', '.join(event.files))}"
        case ev.TaskDone():
            return "completed by hand" if event.by_hand else "completed"
        case ev.TaskFailed():
            return f"failed: {_short(event.reason)}"
        case ev.TaskPaused():
            return f"paused, a person is needed: {_short(event.reason)}"
        case ev.TaskBlocked():
            return f"blocked: {_short(event.reason)}"
        case ev.TaskSkipped():
            return f"skipped: {_short(event.reason)}"
        case ev.TaskRetried():
            return f"a person wants another attempt{f' at tier {event.tier}' if event.tier else ''}"
        case ev.Question():
            return f"question {_short(event.id)} ({event.trigger}): {_short(event.summary, _LONGEST_QUESTION)}"
        case ev.Answered():
            return f"question {_short(event.id)} answered by {_short(event.by)}: {_short(event.answer)}"
        case ev.Paused():
            return f"the run pauses: {_short(event.reason)}"
        case ev.Resumed():
            return "goes on"
        case ev.CostWarning():
            return f"{event.spent_usd:.2f} of {event.limit_usd:.2f} USD are spent"
        case ev.LimitReached():
            return f"limit of {event.name} reached: {event.value:g}"
        case ev.LimitRaised():
            after = "none" if event.after is None else f"{event.after:g}"
            return f"limit of {event.name} raised from {event.before:g} to {after}"
        case ev.OrphanEnded():
            return f"process {event.pid} of a dead executor was ended"
        case ev.RunEnded():
            return f"run {event.status}{f': {_short(event.reason)}' if event.reason else ''}"


def _model(model: str) -> str:
    return f", {model}" if model else ""


def _describe_end(event: ev.ProcessEnded) -> str:
    how = f"signal {event.signal}" if event.signal is not None else f"exit code {event.code}"
    guard = f" by guard {event.guard}" if event.guard else ""
    done = "" if event.done else ", without reporting its end"
    return f"session ended{guard}: {how}{done}"


def _describe_collection(event: ev.Collected) -> str:
    if event.refused:
        return f"not all work could be committed: {_short(event.refused)}"
    names = ", ".join(event.files[:5])
    more = and_more(len(event.files) - 5)
    number = f"{len(event.files)} file{'s' * (len(event.files) != 1)}"
    return f"{number} changed: {_short(names)}{more}" if event.files else "no file changed"


def _check(event: ev.Check) -> str:
    if event.ok:
        return f"check {_short(event.name)} passes ({event.seconds:.1f} s)"
    known = ", as before the run" if event.known else ""
    number = f", {event.failures} failures" if event.failures is not None else ""
    return f"check {_short(event.name)} fails{number}{known}: {_short(_last_line(event.summary))}"


def _verdict(event: ev.VerdictGiven) -> str:
    if event.verdict is None:
        return f"no verdict of {_short(event.agent)}"
    is_approved = event.verdict.get("approved") is True
    return f"verdict of {_short(event.agent)}: {'approved' if is_approved else 'rejected'}"


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def _short(text: str, longest: int = _LONGEST) -> str:
    flat = " ".join(text.split())
    return inert(flat if len(flat) <= longest else f"{flat[: longest - 1]}…")
