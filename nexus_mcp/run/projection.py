"""Project the event log to the state of the run: tasks, attempts, cost, questions. `project` is a pure fold of events.

The same log gives the same state, so a killed run continues where its log ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from nexus_mcp.run import events as ev
from nexus_mcp.run.config import Tier
from nexus_mcp.run.decide import Attempt, Limits
from nexus_mcp.run.outcome import Outcome
from nexus_mcp.run.sensitive import security_findings, sensitive_files
from nexus_mcp.run.triggers import ROWS, read

TaskState = Literal["waiting", "ready", "running", "merging", "completed", "failed", "paused", "blocked", "skipped"]
NOT_STARTED = (126, 127)
"""Exit codes of a shell for a command that it cannot start."""
AUTHORS: frozenset[ev.Role] = frozenset(("owner", "test-writer", "implementer"))
"""Roles that change files. The others judge or advise."""
ENDED: frozenset[TaskState] = frozenset(("completed", "failed", "paused", "blocked", "skipped"))
"""States in which the run starts nothing for the task until a person does something."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One session of a harness in an attempt.

    `is_ended`: its process ended, by `code` or `signal`; `is_collected`: the log has its `collected` event.
    """

    role: ev.Role
    agent: str
    pid: int
    create_time: float
    id: str = ""
    is_ended: bool = False
    code: int | None = None
    signal: int | None = None
    is_done: bool = False
    guard: str = ""
    failure: str = ""
    error: str = ""
    is_collected: bool = False
    files: tuple[str, ...] = ()
    last_message: str = ""
    refused: str = ""
    forbidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """An attempt as logged: the facts for `decide` in `attempt`, and the place of its work.

    A round is the first pass of its sessions, or a pass that corrects their work: `sessions`, `checks` and `verdicts`
    are those of the present round. `author` is the last session that may be resumed with findings, of any round;
    `mending` has the findings that the present round corrects, and `mending_why` their category. `interrupted` is the
    id ("" if unknown) of a session to resume, None without one. If `nudge` is set, the guard on tools with this name
    ended that session, and the resumed session gets a message; otherwise its executor died. `nudges` has all guards on
    tools that ended a session of the attempt; each of them acts once. `used` maps the id of a session to its usage so
    far. `commit` is the last commit of the work that the log names, "" before the first.
    """

    attempt: Attempt
    harness: str
    agent: str
    model: str = ""
    base: str = ""
    findings: tuple[str, ...] = ()
    advise: bool = False
    worktree: str = ""
    branch: str = ""
    fence: int = 0
    phase: ev.Phase = "routing"
    sessions: tuple[SessionRecord, ...] = ()
    checks: tuple[ev.Check, ...] = ()
    verdicts: tuple[ev.VerdictGiven, ...] = ()
    author: SessionRecord | None = None
    mending: str = ""
    mending_why: str = ""
    interrupted: str | None = None
    round: int = 0
    commit: str = ""
    files: tuple[str, ...] = ()
    last_message: str = ""
    cost_usd: float | None = None
    used: Mapping[str, ev.Usage] = field(default_factory=dict)
    nudge: str = ""
    nudges: tuple[str, ...] = ()
    planned_at: str = ""
    judged_seq: int = 0


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task as logged, with its attempts, oldest first. `reason`: why the task ended or paused."""

    id: int
    state: TaskState = "waiting"
    attempts: tuple[AttemptRecord, ...] = ()
    reason: str = ""
    forced_tier: Tier | None = None
    fresh: bool = False
    budget_from: int = 0

    @property
    def last(self) -> AttemptRecord | None:
        """Return the last attempt, None without one."""
        return self.attempts[-1] if self.attempts else None

    @property
    def is_retried(self) -> bool:
        """Return whether the task got new attempts by `retry`, and none of them was planned yet."""
        return bool(self.attempts) and self.budget_from == len(self.attempts)

    @property
    def next_number(self) -> int:
        """Return the number of a new attempt. Numbers never repeat, not even after `run retry`."""
        return 1 + max((one.attempt.number for one in self.attempts), default=0)

    def facts(self) -> tuple[Attempt, ...]:
        """Return the attempts for `decide`: those since the last `run retry`."""
        return tuple(record.attempt for record in self.attempts[self.budget_from :])


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The state of a run. `integration` is the commit of the integration branch, "" before the first merge; `verified`
    is the commit at which the last checks passed on the whole branch, "" if they have not passed; `unverified` is the
    reason why they failed. `passing` are the checks that passed when this or an earlier executor began.
    `executor_since` is when the current executor began; `was_killed`: the executor before it logged no end. `checkout`
    has the digests of the user's checkout that were recorded last; `is_checkout_changed`: this executor saw that the
    checkout differs. `cost_usd` is the sum of the known costs; `is_cost_known`: no cost is missing in it. `unpriced`
    are the tasks whose running session has no usage in the log yet. If a session reported its tokens or its end without
    a cost, `is_cost_reported` is false, and a limit on the cost cannot be enforced. `cost_answer` is the answer to
    `cost-warning`, None without one; when a paused run continues, the answer becomes `continue`. `raised` are the
    limits that a person raised, oldest first. `limit_answer` is the start time of the executor that got the answer
    `continue` to `cost-exceeded`; it is "" without that answer, and once the limit is raised or a second executor has
    begun since.
    """

    run: str = ""
    base: str = ""
    started_at: str = ""
    executor_since: str = ""
    updated_at: str = ""
    pid: int = 0
    host: str = ""
    seq: int = 0
    tasks: dict[int, TaskRecord] = field(default_factory=dict)
    integration: str = ""
    verified: str = ""
    unverified: str = ""
    passing: frozenset[str] = frozenset()
    cost_usd: float = 0.0
    is_cost_known: bool = True
    unpriced: frozenset[int] = frozenset()
    is_cost_reported: bool = True
    is_cost_warned: bool = False
    cost_answer: str | None = None
    raised: tuple[ev.LimitRaised, ...] = ()
    limit_answer: str = ""
    questions: dict[str, ev.Question] = field(default_factory=dict)
    answers: dict[str, ev.Answered] = field(default_factory=dict)
    paused: str | None = None
    ended: ev.RunEnded | None = None
    takeovers: int = 0
    was_killed: bool = False
    checkout: dict[str, str] = field(default_factory=dict)
    is_checkout_changed: bool = False

    def task(self, id_: int) -> TaskRecord:
        """Return the record of a task; an empty one for a task that the log does not name."""
        return self.tasks.get(id_, TaskRecord(id_))

    def usage(self, minutes: float) -> Limits:
        """Return what the run has used."""
        attempts = sum(len(task.attempts) for task in self.tasks.values())
        return Limits(self.cost_usd, minutes, attempts, self.is_cost_reported, self.cost_answer)

    def open_questions(self) -> list[ev.Question]:
        """Return the questions that a person may answer: first those without an answer, then those whose answer paused
        the task; each group oldest first. The question of a task is closed once the task has a newer attempt, is
        completed or is skipped.
        """
        found = [one for one in self.questions.values() if not self._is_answered(one) and not self._is_closed(one)]
        return sorted(found, key=lambda one: one.id in self.answers)

    def _is_answered(self, question: ev.Question) -> bool:
        answer = self.answers.get(question.id)
        if answer is None or question.task is None or ROWS[question.trigger].is_of_run:
            return answer is not None
        return read(question.trigger, answer.answer) != "escalate" or self.task(question.task).state != "paused"

    def _is_closed(self, question: ev.Question) -> bool:
        if question.task is None:
            return False
        task = self.task(question.task)
        is_older = task.last is not None and question.attempt not in (None, task.last.attempt.number)
        return is_older or task.state in ("completed", "skipped")


def project(log: Iterable[ev.AnyEvent], start: RunRecord | None = None) -> RunRecord:
    """Return the state after these events, from `start` on."""
    state = RunRecord() if start is None else start
    for event in log:
        state = apply(state, event)
    return state


def apply(state: RunRecord, event: ev.AnyEvent) -> RunRecord:  # noqa: PLR0912 - a case for each event
    """Return the state after one more event."""
    state = replace(state, seq=event.seq, updated_at=event.at)
    if event.task is not None:
        task = _task(state.task(event.task), event)
        state = replace(state, tasks={**state.tasks, event.task: task})
    match event:
        case ev.RunStarted():
            return replace(
                state,
                run=event.run,
                base=state.base or event.base,
                started_at=state.started_at or event.at,
                executor_since=event.at,
                pid=event.pid,
                host=event.host,
                ended=None,
                paused=None,
                cost_answer=_cost_answer_after(state),
                limit_answer=state.limit_answer if state.limit_answer == state.executor_since else "",
                takeovers=state.takeovers + bool(state.run),
                was_killed=bool(state.run) and state.ended is None,
                is_checkout_changed=False,
            )
        case ev.Checkout():
            return replace(state, checkout=event.parts)
        case ev.Guard() if event.name == "checkout_changed":
            return replace(state, is_checkout_changed=True)
        case ev.ProcessStarted() | ev.Usage() | ev.ProcessEnded() | ev.Resumed() if event.task is not None:
            return _with_cost(state, event, event.task)
        case ev.CostWarning():
            return replace(state, is_cost_warned=True)
        case ev.LimitRaised():
            return replace(state, raised=(*state.raised, event), limit_answer="")
        case ev.Merged():
            return replace(state, integration=event.commit)
        case ev.Verified():
            return replace(state, verified="" if event.reason else event.commit, unverified=event.reason)
        case ev.Check() if event.task is None and event.ok:
            return replace(state, passing=state.passing | {event.name})
        case ev.Question():
            limit_answer = "" if event.trigger == "cost-exceeded" else state.limit_answer
            return replace(state, questions={**state.questions, event.id: event}, limit_answer=limit_answer)
        case ev.Answered():
            return _with_answer(replace(state, answers={**state.answers, event.id: event}), event)
        case ev.Paused():
            return replace(state, paused=event.reason)
        case ev.Resumed():
            return replace(state, paused=None, cost_answer=_cost_answer_after(state))
        case ev.RunEnded():
            return replace(state, ended=event)
    return state


def _cost_answer_after(state: RunRecord) -> str | None:
    """Return the answer to `cost-warning` when a run continues: `continue` after a pause, so that it pauses once."""
    return "continue" if state.cost_answer is not None and state.paused is not None else state.cost_answer


def _with_answer(state: RunRecord, event: ev.Answered) -> RunRecord:
    """Return the state with the answer in the run or in the question's attempt; an older attempt gets no answer."""
    question = state.questions.get(event.id)
    if question is None:
        return state
    if question.trigger == "cost-warning":
        return replace(state, cost_answer=event.answer)
    if question.trigger == "cost-exceeded":
        goes_on = read(question.trigger, event.answer) == "continue"
        return replace(state, limit_answer=state.executor_since if goes_on else "")
    task = None if question.task is None else state.tasks.get(question.task)
    if task is None or task.last is None or question.attempt != task.last.attempt.number:
        return state
    facts = task.last.attempt
    last = replace(task.last, attempt=replace(facts, answers={**facts.answers, question.trigger: event.answer}))
    task = replace(task, attempts=(*task.attempts[:-1], last))
    return replace(state, tasks={**state.tasks, task.id: task})


def _with_cost(
    state: RunRecord, event: ev.ProcessStarted | ev.Usage | ev.ProcessEnded | ev.Resumed, task: int
) -> RunRecord:
    """Return the state after an event of a session: from its start until its usage is logged, its cost is missing."""
    others = state.unpriced - {task}
    match event:
        case ev.ProcessStarted():
            return replace(state, unpriced=state.unpriced | {task} if event.pid else state.unpriced)
        case ev.Usage(cost_usd=None):
            return replace(state, is_cost_known=False, is_cost_reported=False, unpriced=others)
        case ev.Usage():
            return replace(state, cost_usd=state.cost_usd + (event.cost_usd or 0.0), unpriced=others)
        case ev.ProcessEnded(code=code) if task in state.unpriced and code not in NOT_STARTED:
            is_reported = state.is_cost_reported and not event.done
            return replace(state, is_cost_known=False, is_cost_reported=is_reported, unpriced=others)
        case ev.Resumed() if task in state.unpriced:  # its executor died
            return replace(state, is_cost_known=False, unpriced=others)
    return replace(state, unpriced=others)


def _task(task: TaskRecord, event: ev.AnyEvent) -> TaskRecord:
    match event:
        case ev.TaskReady():
            return replace(task, state="ready", reason="")
        case ev.AttemptPlanned():
            attempts = (*task.attempts, _new_attempt(task, event))
            return replace(task, state="running", attempts=attempts, forced_tier=None, fresh=False)
        case ev.TaskDone():
            return replace(task, state="completed", reason="by hand" if event.by_hand else "")
        case ev.TaskFailed():
            return replace(task, state="failed", reason=event.reason)
        case ev.TaskPaused():
            return replace(task, state="paused", reason=event.reason)
        case ev.TaskBlocked():
            return replace(task, state="blocked", reason=event.reason)
        case ev.TaskSkipped():
            return replace(task, state="skipped", reason=event.reason)
        case ev.TaskRetried():
            return replace(
                task,
                state="ready",
                reason="",
                forced_tier=event.tier,
                fresh=event.fresh,
                budget_from=len(task.attempts),
            )
    if not task.attempts or event.attempt != task.attempts[-1].attempt.number:
        return task
    last = _attempt(task.attempts[-1], event)
    state = task.state
    if isinstance(event, ev.Judged):
        state = "merging" if event.ok else "running"
    elif isinstance(event, ev.Mended):
        state = "running"
    return replace(task, state=state, attempts=(*task.attempts[:-1], last))


def _new_attempt(task: TaskRecord, event: ev.AttemptPlanned) -> AttemptRecord:
    """Return the record of a new attempt. It inherits the security reasons of the work that it begins with."""
    assert event.attempt is not None
    before = next((one for one in reversed(task.attempts) if one.commit and one.commit == event.base), None)
    security = () if before is None else before.attempt.security
    facts = Attempt(event.attempt, event.tier, event.strategy, security=security)
    where = (event.harness, event.agent, event.model, event.base)
    return AttemptRecord(facts, *where, tuple(event.findings), event.advise, planned_at=event.at)


def _attempt(record: AttemptRecord, event: ev.AnyEvent) -> AttemptRecord:  # noqa: PLR0912 - a case for each event
    facts = record.attempt
    match event:
        case ev.WorktreeMade():
            return replace(record, worktree=event.path, branch=event.branch, fence=event.fence)
        case ev.PhaseBegun():
            return replace(record, phase=event.phase)
        case ev.ProcessStarted():
            session = SessionRecord(event.role, event.agent, event.pid, event.create_time)
            return replace(record, sessions=(*record.sessions, session), interrupted=None, nudge="")
        case ev.ProcessEnded() if event.guard in ev.NUDGES and record.sessions:
            goes_on = record.sessions[-1].id
            nudges = (*record.nudges, event.guard)
            sessions = record.sessions[:-1]
            return replace(record, sessions=sessions, interrupted=goes_on, nudge=event.guard, nudges=nudges)
        case ev.ProcessEnded():
            return _session(
                record,
                **{"is_ended": True, "code": event.code, "signal": event.signal, "is_done": event.done},
                **{"guard": event.guard, "failure": event.failure, "error": event.error},
                forbidden=tuple(event.forbidden),
            )
        case ev.Session():
            return _session(record, id=event.id)
        case ev.Check():
            return replace(record, checks=(*record.checks, event))
        case ev.VerdictGiven():
            record = _with_security(record, security_findings(event.verdict) if event.verdict is not None else ())
            return replace(record, verdicts=(*record.verdicts, event))
        case ev.Usage():
            cost = (record.cost_usd or 0.0) + event.cost_usd if event.cost_usd else record.cost_usd
            id_ = record.sessions[-1].id if record.sessions else ""
            return replace(record, cost_usd=cost, used={**record.used, id_: _sum(record.used.get(id_), event)})
        case ev.Collected():
            files = tuple(dict.fromkeys((*record.files, *event.files)))
            message = event.last_message or record.last_message
            record = replace(record, files=files, commit=event.commit or record.commit, last_message=message)
            record = _with_security(record, sensitive_files(event.files))
            return _session(
                record,
                is_collected=True,
                files=tuple(event.files),
                last_message=event.last_message,
                refused=event.refused,
            )
        case ev.Resumed():
            last = record.sessions[-1] if record.sessions else None
            interrupted = last.id if last is not None else None
            return replace(record, sessions=record.sessions[:-1], interrupted=interrupted)
        case ev.Judged():
            outcome = Outcome(event.category, event.reason, event.failures)
            is_reviewed = any(
                one.verdict is not None and one.verdict.get("approved") is True for one in record.verdicts
            )
            judged = replace(facts, outcome=outcome, answers={}, is_reviewed=is_reviewed)
            return replace(record, attempt=judged, judged_seq=event.seq)
        case ev.Mended():
            before = () if facts.outcome is None else (facts.outcome,)  # None: only a person could judge it
            mended = replace(facts, mends=(*facts.mends, *before), outcome=None, answers={}, is_reviewed=False)
            why = before[0].category or "" if before else ""
            record = replace(record, attempt=mended, mending=event.findings, mending_why=why, round=record.round + 1)
            return replace(record, sessions=(), checks=(), verdicts=())
        case ev.Merged():
            return replace(record, attempt=replace(facts, is_merged=True))
    return record


def _with_security(record: AttemptRecord, reasons: tuple[str, ...]) -> AttemptRecord:
    """Return the record with more reasons for a question about security. The reasons stay when the work is mended."""
    known = record.attempt.security
    more = tuple(dict.fromkeys(reason for reason in reasons if reason not in known))
    return replace(record, attempt=replace(record.attempt, security=(*known, *more))) if more else record


def _sum(before: ev.Usage | None, more: ev.Usage) -> ev.Usage:
    """Return the sum of two usages; its cost is None if both costs are unknown."""
    if before is None:
        return ev.Usage(input=more.input, output=more.output, cost_usd=more.cost_usd)
    costs = [one for one in (before.cost_usd, more.cost_usd) if one is not None]
    cost = sum(costs) if costs else None
    return ev.Usage(input=before.input + more.input, output=before.output + more.output, cost_usd=cost)


def _session(record: AttemptRecord, **changes: Any) -> AttemptRecord:
    """Return the record with its last session, if any, changed; a session of AUTHORS becomes the author."""
    if not record.sessions:
        return record
    last = replace(record.sessions[-1], **changes)
    author = last if last.role in AUTHORS else record.author
    return replace(record, sessions=(*record.sessions[:-1], last), author=author)
