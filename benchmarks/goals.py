"""The table ROWS of the measured rows and their goals; a row without a goal is context."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.figures import BUN, NODE, PYTHON

SIZES = (100, 1_000, 10_000, 50_000)
CROWDS = (0, 1_000, 3_000)
# All events, in the order of a session; subagent_spawn and subagent_complete are agent_spawn and agent_complete.
HOOKS = (
    "session_start",
    "user_message",
    "agent_spawn",
    "pre_tool_use",
    "post_tool_use",
    "context_compact",
    "agent_complete",
    "session_end",
)
NATIVE = (
    *("SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse"),
    *("PostToolUse", "SubagentStop", "Stop", "SessionEnd"),
)
"""The hooks of Claude Code and Codex, in the order of a session."""
INSTALLS = ("claude-code", "codex", "opencode")
FIRST_CALLS = ("plan_status", "task_list", "task_add")
STATUS_SIZES = (20, 200)
"""Tasks in the project of `status --line`."""
CLIENTS = (1, 8, 64)
"""Clients of a server over HTTP."""
STREAMS = 1_000
BACKLOG = "backlog task list"
LATER = 0.1
"""Seconds from tools/list to the first call, in which a server can get ready: a model has to answer first."""
TASK_CALLS = ("task_add", "task_update", "task_list")
# Lower bounds for any server, measured on the same bytes in the same run: they are series of their rows.
WRITTEN, COPIED = "the same bytes written, synced, renamed", "copied by the kernel, synced, renamed"
PIPED = "a bare Python loop: pipe, JSON, the same write"
READ = "the same bytes read"
ORJSON, JSON = "the same list through orjson", "the same list through json"
PARSED = {"orjson": "the same history through orjson", "json": "the same history through json"}
FIRST_WRITTEN = "the same files and folders written, synced, renamed"
LOADED = "its modules loaded by bare Python"
BARE_CROWD = "8 bare processes: lock, read, json, write, sync, rename"
BARE_SDK = "the SDK's own server over HTTP, without a store"
STDIO = "ours over stdio, a process for each client"
WITHOUT_STREAMS = "without streams"
BARE_HARNESS = "8 bare workers: the harness"
BARE_CHECKED = "8 bare workers: the harness and both checks"
LIMITS = (
    *(PYTHON, LOADED, FIRST_WRITTEN, WRITTEN, PIPED, COPIED, READ, *PARSED.values(), ORJSON, JSON, BARE_CROWD),
    *(BARE_HARNESS, BARE_CHECKED, BARE_SDK, STDIO),
)
OWN_100 = "ours at 100 cycles"
ONE_SECOND, FIVE_MS, OVERHEAD, SIXTY_MB = BOUNDS = ("one second", "5 ms", "0.3 s", "60 MB")
"""Goals in units: series of one fixed value."""


@dataclass(frozen=True)
class Goal:
    """A limit for the ratio of our median to that of another series of the row; `at_least` makes it a minimum."""

    against: str
    limit: float
    at_least: bool = False


@dataclass(frozen=True)
class Row:
    """A row of the table. `part` is its name in ROWS=search,close."""

    key: str
    part: str
    what: str
    unit: str
    goals: tuple[Goal, ...] = ()


def _node(limit: float) -> tuple[Goal, ...]:
    return (Goal(NODE, limit),)


def _size(count: int) -> str:
    return f"{count:,}".replace(",", " ")


# The calls that use the history, with the goals at each size.
_HISTORY: tuple[tuple[str, str, dict[int, tuple[Goal, ...]]], ...] = (
    ("search", "history_search, rare word", {10_000: _node(0.08), 50_000: _node(0.08)}),
    ("recent", "history_search without query", {size: (Goal(OWN_100, 2.0),) for size in SIZES[1:]}),
    ("plan", "plan_start, no active plan", {size: (Goal(OWN_100, 2.0),) for size in SIZES[1:]}),
    ("archive", "plan_start that archives", {10_000: _node(0.10), 50_000: _node(0.07)}),
    ("close", "task_close", {10_000: _node(0.10), 50_000: _node(0.07)}),
    ("first-recent", "first call: search without query", {10_000: _node(0.1), 50_000: _node(0.1)}),
    ("first-plan", "first call: plan_start", {10_000: _node(0.1), 50_000: _node(0.1)}),
    ("clone-recent", "no index yet: search without query", {10_000: _node(0.1), 50_000: _node(0.1)}),
    ("clone-plan", "no index yet: plan_start", {10_000: _node(0.1), 50_000: _node(0.1)}),
    ("clone-search", "no index yet: search, rare word", {}),
)

_OVER_HTTP = (
    ("read", "task_list of 20 tasks", (Goal(BARE_SDK, 0.8, at_least=True),)),
    ("session", "task_list in sessions of 2025-06-18", (Goal(BARE_SDK, 0.8, at_least=True),)),
    ("write", "task_add", ()),
)

ROWS: tuple[Row, ...] = (
    Row("start", "start", "spawn → tools/list", "ms", (Goal(NODE, 0.15), Goal(BUN, 0.3))),
    *(
        row
        for call in FIRST_CALLS
        for row in (
            Row(f"first-{call}", "start", f"first call, at once: {call}", "ms", _node(0.5)),
            Row(f"later-{call}", "start", f"first call, {LATER:g} s later: {call}", "ms", _node(0.5)),
        )
    ),
    Row("memory", "start", "resident after start and ten calls", "MB", _node(0.25)),
    *(Row(f"{call}-140", "warm", f"{call}, 140 tasks, p50", "ms", _node(0.5)) for call in TASK_CALLS),
    *(
        row
        for size in CROWDS
        for row in (
            Row(
                f"crowd-{size}",
                "crowd",
                f"8 processes adding, {_size(size)} tasks",
                "calls/s",
                (Goal(NODE, 2.5, at_least=True),),
            ),
            Row(f"crowd-p99-{size}", "crowd", f"8 processes adding, p99, {_size(size)} tasks", "ms", _node(0.1)),
        )
    ),
    *(
        Row(f"{op}-{size}", op, f"{what}, {_size(size)} cycles", "ms", goals.get(size, ()))
        for op, what, goals in _HISTORY
        for size in SIZES
        if not op.startswith(("first", "clone")) or size >= 10_000
    ),
    *(
        Row(
            f"peak-{size}",
            "peak",
            f"peak memory, history work, {_size(size)} cycles",
            "MB",
            _node(0.04) if size == 50_000 else (),
        )
        for size in SIZES
    ),
    *(Row(f"{call}-10000", "tasks", f"{call}, 10 000 tasks", "ms", _node(0.5)) for call in TASK_CALLS),
    *(Row(f"hook-{hook}", "hook", f"hook {hook}, a process", "ms", (Goal(PYTHON, 3.0),)) for hook in HOOKS),
    *(
        Row(f"native-{event}", "native", f"native hook {event}, a process", "ms", (Goal(PYTHON, 3.0),))
        for event in NATIVE
    ),
    *(Row(f"install-{name}", "native", f"install {name}", "ms", (Goal(ONE_SECOND, 1.0),)) for name in INSTALLS),
    Row("resident", "native", "resident hook of OpenCode, before a tool, p95", "ms", (Goal(FIVE_MS, 1.0),)),
    *(
        Row(f"status-line-{size}", "status", f"status --line, {size} tasks, a process", "ms", (Goal(PYTHON, 3.0),))
        for size in STATUS_SIZES
    ),
    Row("run-attempt", "run", "run: an attempt without its session, 20 000 files, p95", "ms", (Goal(OVERHEAD, 1.0),)),
    Row("run-merged", "run", "run: a task without its session, with its merge, 20 000 files, p95", "ms"),
    Row("run-memory", "run", "run: executor with 8 attempts, at most", "MB", (Goal(SIXTY_MB, 1.0),)),
    Row("run-cpu", "run", "run: processor time of a task, with harness and checks", "ms"),
    Row(
        "run-tasks",
        "run",
        "run: 200 tasks of 50 ms, 8 jobs",
        "tasks/s",
        (Goal(BARE_HARNESS, 0.7, at_least=True),),
    ),
    *(
        row
        for call, what, goals in _OVER_HTTP
        for count in CLIENTS
        for row in (
            Row(f"http-{call}-{count}", "http", f"over HTTP: {what}, {count} clients", "calls/s", goals),
            Row(f"http-p99-{call}-{count}", "http", f"over HTTP: {what}, {count} clients, p99", "ms"),
        )
    ),
    Row("http-streams", "http", f"over HTTP: resident with {STREAMS} streams", "MB"),
    Row("status", "status", "status, 200 tasks, 1 000 closed, a process", "ms", (Goal(BACKLOG, 0.25),)),
)
PARTS = tuple(dict.fromkeys(row.part for row in ROWS))
HISTORY_PARTS = frozenset(op for op, _, _ in _HISTORY) | {"peak"}
