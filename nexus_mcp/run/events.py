"""Events of the run log: one model for each type. The state of a run follows from its log alone.

Each effect has an event before it (`attempt_planned`, `process_started`, `judged`) and one after it. So the next
executor can find out what a killed run had done. schemas/run/event.schema.json is generated from these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from nexus_mcp.run.config import Strategy, Tier, Trigger
from nexus_mcp.run.outcome import Category

RunStatus = Literal["completed", "failed", "stalled", "paused", "interrupted", "limit"]
Phase = Literal["routing", "setup", "test-write", "implement", "verify", "review", "merge"]
Role = Literal["owner", "test-writer", "implementer", "verifier", "reviewer", "advisor"]

SETUP = "setup"
"""The name of the check event of the setup commands."""


class Event(BaseModel):
    """The base of all events. `seq` counts from 1, `at` is the time in UTC. `task` is the id of a task and `attempt`
    the number of its attempt, if the event belongs to one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seq: int = Field(default=0, ge=0)
    at: str = ""
    task: int | None = None
    attempt: int | None = None


class RunStarted(Event):
    """The run began, or another process continues it."""

    type: Literal["run_started"] = "run_started"
    run: str
    pid: int
    host: str
    base: str
    options: dict[str, Any] = {}


class TaskReady(Event):
    """The task can start, or a person answered the question for which it was paused."""

    type: Literal["task_ready"] = "task_ready"


class AttemptPlanned(Event):
    """An attempt will begin. `base` is the commit that it starts from."""

    type: Literal["attempt_planned"] = "attempt_planned"
    tier: Tier
    strategy: Strategy
    harness: str
    model: str = ""
    agent: str = ""
    base: str = ""
    advise: bool = False
    findings: list[str] = []


class WorktreeMade(Event):
    """The worktree of the attempt exists, with its branch and the number of its lease."""

    type: Literal["worktree_made"] = "worktree_made"
    path: str
    branch: str
    fence: int


class PhaseBegun(Event):
    """A phase of the attempt began."""

    type: Literal["phase"] = "phase"
    phase: Phase


class ProcessStarted(Event):
    """A session of a harness was started. The process waits until this event is on disk. `pid` is 0 if it
    could not start.
    """

    type: Literal["process_started"] = "process_started"
    role: Role
    agent: str = ""
    pid: int
    create_time: float


class Session(Event):
    """The harness named the session, so that it can be resumed."""

    type: Literal["session"] = "session"
    id: str


class Usage(Event):
    """Tokens and cost since the session's last such event. The cost is None if the harness does not report it and
    `run.prices` has no price for the model.
    """

    type: Literal["usage"] = "usage"
    input: int = 0
    output: int = 0
    cost_usd: float | None = None


class Checkout(Event):
    """The user's checkout before a session: a digest of each part that an attempt must not change."""

    type: Literal["checkout"] = "checkout"
    parts: dict[str, str]


NUDGES = ("investigation_cap", "post_edit_cap")
"""Guards on the tools of a session. If one ends a session, the session is resumed with a message, if the harness
can resume."""


class Guard(Event):
    """A guard of the session was reached, or the user's checkout changed."""

    type: Literal["guard"] = "guard"
    name: Literal["stale_warn", "stale_abort", "investigation_cap", "post_edit_cap", "timeout", "checkout_changed"]
    value: float | str


class ProcessEnded(Event):
    """The session ended by an exit code or a signal.

    `done`: the harness reported the end of the session. `guard` is the guard that ended it, `failure` the driver's
    reason. `forbidden` are the forbidden tools that the agent used.
    """

    type: Literal["process_ended"] = "process_ended"
    code: int | None = None
    signal: int | None = None
    done: bool = False
    guard: str = ""
    failure: Literal["", "environment", "limit"] = ""
    error: str = ""
    forbidden: list[str] = []


class Collected(Event):
    """The work of the session was committed. `refused` says why some or all of it was not. For an
    advisor, only `last_message` is set.
    """

    type: Literal["collected"] = "collected"
    files: list[str] = []
    commit: str = ""
    last_message: str = ""
    refused: str = ""


class Check(Event):
    """One of the project's own checks was run, or a command of `run.setup` failed: then `name` is `setup`.

    Without `task`, the check was run on the integration branch, when an executor began.
    """

    type: Literal["check"] = "check"
    name: str
    ok: bool
    code: int | None = None
    seconds: float = 0.0
    summary: str = ""
    failures: int | None = None
    known: bool = False


class VerdictGiven(Event):
    """A verifier or reviewer gave its verdict. `verdict` is None if none could be read; `fault` then says why, if it is
    known.
    """

    type: Literal["verdict"] = "verdict"
    agent: str = ""
    verdict: dict[str, Any] | None = None
    fault: str = ""


class Judged(Event):
    """The outcome of the attempt; a success may be merged from now on."""

    type: Literal["judged"] = "judged"
    ok: bool
    category: Category | None = None
    reason: str = ""
    failures: int | None = None


class Mended(Event):
    """The session is resumed with these findings."""

    type: Literal["mended"] = "mended"
    findings: str


class Escalated(Event):
    """The next attempt uses a higher tier."""

    type: Literal["escalated"] = "escalated"
    before: Tier
    after: Tier
    why: str = ""


class Downgraded(Event):
    """The next attempt uses a less strict strategy."""

    type: Literal["downgraded"] = "downgraded"
    strategy: Strategy


class Merged(Event):
    """The attempt is part of the integration branch, at this commit."""

    type: Literal["merged"] = "merged"
    commit: str


class Verified(Event):
    """The checks of the whole integration branch were run at this commit. `reason` names the failing check, "" if all
    pass.
    """

    type: Literal["verified"] = "verified"
    commit: str
    reason: str = ""


class Conflict(Event):
    """The merge of the attempt had conflicts in these files."""

    type: Literal["conflict"] = "conflict"
    files: list[str]


class TaskDone(Event):
    """The task is completed in tasks.json."""

    type: Literal["task_done"] = "task_done"
    by_hand: bool = False


class TaskFailed(Event):
    """The task failed: no tier is left, or the answer to a question was `abort`."""

    type: Literal["task_failed"] = "task_failed"
    reason: str


class TaskPaused(Event):
    """A person is needed for the task."""

    type: Literal["task_paused"] = "task_paused"
    reason: str


class TaskBlocked(Event):
    """A dependency of the task failed, is paused, blocked or skipped, is missing, or is not part of the run."""

    type: Literal["task_blocked"] = "task_blocked"
    reason: str


class TaskSkipped(Event):
    """The task is left out: a person or a fallback skipped it, or tasks.json does not have it any more."""

    type: Literal["task_skipped"] = "task_skipped"
    reason: str = ""


class TaskRetried(Event):
    """A person wants new attempts of the task."""

    type: Literal["task_retried"] = "task_retried"
    tier: Tier | None = None
    fresh: bool = False


class Question(Event):
    """A question to a person; see questions/<id>.json."""

    type: Literal["question"] = "question"
    id: str
    trigger: Trigger
    summary: str


class Answered(Event):
    """A question was answered: by a person, or by its fallback."""

    type: Literal["answered"] = "answered"
    id: str
    answer: str
    by: str


class Paused(Event):
    """The run starts nothing new."""

    type: Literal["paused"] = "paused"
    reason: str = ""


class Resumed(Event):
    """The run continues. With `task`: an attempt that an earlier executor left continues."""

    type: Literal["resumed"] = "resumed"


class CostWarning(Event):
    """The run has used at least the share `run.cost_warning` of its cost limit."""

    type: Literal["cost_warning"] = "cost_warning"
    spent_usd: float
    limit_usd: float


class LimitReached(Event):
    """A limit is reached, or counts as reached by an answer or because a session reported no cost."""

    type: Literal["limit"] = "limit"
    name: Literal["cost", "minutes", "attempts"]
    value: float


class LimitRaised(Event):
    """A person raised a limit; `after` is None if the limit was dropped."""

    type: Literal["limit_raised"] = "limit_raised"
    name: Literal["cost", "minutes", "attempts"]
    before: float
    after: float | None = None


class OrphanEnded(Event):
    """A process of a dead executor was ended."""

    type: Literal["orphan_ended"] = "orphan_ended"
    pid: int


class RunEnded(Event):
    """The run ended with this status."""

    type: Literal["run_ended"] = "run_ended"
    status: RunStatus
    reason: str = ""


AnyEvent = Annotated[
    RunStarted
    | TaskReady
    | AttemptPlanned
    | WorktreeMade
    | PhaseBegun
    | ProcessStarted
    | Session
    | Usage
    | Checkout
    | Guard
    | ProcessEnded
    | Collected
    | Check
    | VerdictGiven
    | Judged
    | Mended
    | Escalated
    | Downgraded
    | Merged
    | Verified
    | Conflict
    | TaskDone
    | TaskFailed
    | TaskPaused
    | TaskBlocked
    | TaskSkipped
    | TaskRetried
    | Question
    | Answered
    | Paused
    | Resumed
    | CostWarning
    | LimitReached
    | LimitRaised
    | OrphanEnded
    | RunEnded,
    Field(discriminator="type"),
]
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)


def parse(line: bytes | str) -> AnyEvent | None:
    """Return the event in a line of the log; None if the line is no event that this version knows, or is
    truncated.
    """
    try:
        return EVENT.validate_json(line)
    except ValidationError:
        return None


def render(event: Event) -> bytes:
    """Return the event as one line of the log, with the newline. Raise ValueError if UTF-8 cannot
    encode a text in it; `encodable` replaces such texts.
    """
    return event.model_dump_json(exclude_defaults=False, exclude_none=True).encode() + b"\n"


def encodable(event: Event) -> Event:
    """Return the event with backslash escapes for characters that UTF-8 cannot encode, such as bytes of a file name."""
    found: Event = type(event).model_validate(escape(event.model_dump()))
    return found


def escape(value: Any) -> Any:
    """Return a JSON value with backslash escapes for characters that UTF-8 cannot encode."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {escape(key): escape(one) for key, one in value.items()}
    return [escape(one) for one in value] if isinstance(value, list) else value
