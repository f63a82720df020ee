"""For every published schema: values that must pass, and ways to break them that must fail."""

from __future__ import annotations

import copy
from typing import Any

from tests.support import cycle, issue, plan, stamp, task, tasks

WHOLE_ISSUE = issue(
    1, "A", "decided", decision="", how_agents=["a", ""], how_summary={"a": "x", "": ""}, how_agent_ids={"a": "1"}
)
WHOLE_TASK = task(
    1,
    approach="",
    acceptance="",
    risk="",
    deps=[1, 2],
    plan_issue=3,
    owner="",
    owner_agent_id="",
    owner_reuse_policy="resume",
)
WHOLE_ENTRY = {
    "harness_id": "claude-code",
    "started_at": stamp(0),
    "agent_name": "engineer",
    "agent_id": "x",
    "last_resumed_at": stamp(1),
    "resume_count": 0,
    "status": "running",
    "stopped_at": stamp(2),
    "last_message": "",
    "files_touched": ["a", ""],
}
WHOLE_LINE = {
    "path": "memory/a.md",
    "last_accessed_ts": stamp(0),
    "access_count": 0,
    "last_agent": "main",
    "schema_version": "0.5",
}
WHOLE_USE = {"timestamp": stamp(0), "agent_id": "main", "tool": "Edit", "file": "größe.md", "status": "ok"}

GOOD: dict[str, list[Any]] = {
    "plan": [
        plan(),
        plan(issues=[], research_summary=None),
        plan(7, "x", [WHOLE_ISSUE, issue(2, "B")], research_summary="", schema_version="0.5"),
        plan(1.0, " ", [issue(2.0, "B")]),
    ],
    "tasks": [
        tasks(),
        tasks(WHOLE_TASK, task(2), goal="g", decisions=["", "d"]),
        {"schema_version": "0.4", **tasks(task(2.0, deps=[1.0]))},
    ],
    "cycle": [cycle(), cycle(plan(), task(1), WHOLE_TASK), cycle(plan(issues=[]), branch="_default")],
    "history": [{"cycles": []}, {"schema_version": "0.5", "cycles": [cycle(), cycle(plan(), task(1))]}],
    "agent-tracker": [
        [],
        [WHOLE_ENTRY],
        [
            {"harness_id": "a", "started_at": stamp(0)},
            {**WHOLE_ENTRY, "status": "completed", "agent_name": "a-9", "resume_count": 2.0},
        ],
    ],
    "memory-access": [WHOLE_LINE, {k: v for k, v in WHOLE_LINE.items() if k != "schema_version"}],
    "tool-log": [WHOLE_USE, {k: v for k, v in WHOLE_USE.items() if k != "file"}],
}

_DROP = object()
# schema → (pointer into its last good-and-whole example, what to put there; _DROP takes the member away)
WHOLE: dict[str, Any] = {
    "plan": GOOD["plan"][2],
    "tasks": GOOD["tasks"][1],
    "cycle": GOOD["cycle"][1],
    "history": GOOD["history"][1],
    "agent-tracker": GOOD["agent-tracker"][1],
    "memory-access": WHOLE_LINE,
    "tool-log": WHOLE_USE,
}
_NO_ID: tuple[Any, ...] = (0, -1, 1.5, True, "1", None, _DROP)
_NO_TEXT: tuple[Any, ...] = (5, None, [], {}, True)
_NO_STATUS: tuple[Any, ...] = ("", "done", "Pending", None, 1, _DROP)
_BREAKS: dict[str, dict[str, tuple[Any, ...]]] = {
    "plan": {
        "/id": _NO_ID,
        "/topic": ("", *_NO_TEXT, _DROP),
        "/issues": ({}, None, "x", [1], [None], _DROP),
        "/research_summary": _NO_TEXT,
        "/created_at": ("", "yesterday", 5, None, _DROP),
        "/schema_version": (1, None, "", "x"),
        "/unknown": (1,),
        "/issues/0/id": _NO_ID,
        "/issues/0/title": ("", *_NO_TEXT, _DROP),
        "/issues/0/status": ("in_progress", "completed", *_NO_STATUS),
        "/issues/0/decision": _NO_TEXT,
        "/issues/0/how_agents": ("a", {}, [1], None),
        "/issues/0/how_summary": ([], "a", {"a": 1}, {"a": None}),
        "/issues/0/how_agent_ids": ([], "a", {"a": 1}, {"a": []}),
        "/issues/0/unknown": (None,),
    },
    "tasks": {
        "/goal": (*_NO_TEXT, _DROP),
        "/decisions": ({}, "x", [1], [None], None, _DROP),
        "/tasks": ({}, "x", [1], None, _DROP),
        "/schema_version": (1, None, ""),
        "/unknown": (1,),
        "/tasks/0/id": _NO_ID,
        "/tasks/0/title": ("", *_NO_TEXT, _DROP),
        "/tasks/0/context": ("", *_NO_TEXT, _DROP),
        "/tasks/0/approach": _NO_TEXT,
        "/tasks/0/acceptance": _NO_TEXT,
        "/tasks/0/risk": _NO_TEXT,
        "/tasks/0/status": ("decided", "blocked", *_NO_STATUS),
        "/tasks/0/deps": ({}, "1", ["1"], [True], [None], None, _DROP),
        "/tasks/0/plan_issue": (0, 1.5, "1", None, True),
        "/tasks/0/owner": _NO_TEXT,
        "/tasks/0/owner_agent_id": _NO_TEXT,
        "/tasks/0/owner_reuse_policy": ("", "always", None, 1),
        "/tasks/0/created_at": ("", "yesterday", 5, None, _DROP),
        "/tasks/0/unknown": (1,),
    },
    "cycle": {
        "/schema_version": (1, "", _DROP),
        "/completed_at": ("", "yesterday", 5, None, _DROP),
        "/branch": ("", *_NO_TEXT, _DROP),
        "/plan": ([], "x", {}, 1, _DROP),
        "/plan/id": _NO_ID,
        "/tasks": ({}, None, [1], [{}], _DROP),
        "/tasks/0/id": _NO_ID,
        "/unknown": (1,),
        "/goal": ("g",),
    },
    "history": {"/cycles": ({}, None, [1], [[]], _DROP), "/schema_version": (1, None), "/unknown": (1,)},
    "agent-tracker": {
        "": ({}, None, "x", [1], [None]),
        "/0/harness_id": ("", "Claude", "9", "a_b", 5, None, _DROP),
        "/0/started_at": ("", "yesterday", 5, None, _DROP),
        "/0/agent_name": ("", "Engineer", "9a", "a_b", "a b", 5, None),
        "/0/agent_id": ("", 5, None),
        "/0/last_resumed_at": ("", 5, None),
        "/0/resume_count": (-1, 1.5, "1", True, None),
        "/0/status": ("pending", "", None),
        "/0/stopped_at": ("", 5, None),
        "/0/last_message": _NO_TEXT,
        "/0/files_touched": ("a", {}, [1], None),
        "/0/unknown": (1,),
    },
    "memory-access": {
        "/path": (5, None, _DROP),
        "/last_accessed_ts": ("", "yesterday", 5, None, _DROP),
        "/access_count": (-1, 1.5, "1", True, None, _DROP),
        "/last_agent": (5, None, _DROP),
        "/schema_version": (1, None),
        "/unknown": (1,),
    },
    "tool-log": {
        "/timestamp": ("", "yesterday", 5, None, _DROP),
        "/agent_id": ("", 5, None, _DROP),
        "/tool": ("", 5, None, _DROP),
        "/file": ("", *_NO_TEXT),
        "/status": ("", 5, None, _DROP),
        "/unknown": (1,),
    },
}


def broken(value: Any, pointer: str, put: Any) -> Any:
    """A copy of `value` with `put` at `pointer`."""
    if not pointer:
        return copy.deepcopy(put)
    out = copy.deepcopy(value)
    *parents, name = pointer.split("/")[1:]
    at = out
    for step in parents:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if put is _DROP:
        del at[name]
    else:
        at[name] = copy.deepcopy(put)
    return out


BAD: list[tuple[str, str, Any]] = [
    (name, f"{pointer} {'absent' if put is _DROP else repr(put)}", broken(WHOLE[name], pointer, put))
    for name, places in _BREAKS.items()
    for pointer, puts in places.items()
    for put in puts
]
