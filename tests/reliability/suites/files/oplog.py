"""Cases of the operation log: it blocks no change, and undo trusts only what it can verify."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from nexus_mcp.errors import NexusError
from nexus_mcp.state.oplog import UNDO, By
from nexus_mcp.store.store import Store, undo
from tests.reliability.suites.files import projects, reference_reader
from tests.reliability.suites.files.project import ADVICE, Files, Ground
from tests.reliability.suites.files.projects import PLAN, TASKS
from tests.reliability.suites.files.reference_reader import Broken

Json = Any

_CALLS: tuple[tuple[str, Json], ...] = (
    ("task_add", {"title": "Added", "context": "Because"}),
    ("plan_update", {"action": "add", "title": "Added"}),
    ("task_update", {"id": 1, "status": "completed"}),
    ("plan_decide", {"issue_id": 1, "decision": "Decided"}),
    ("artifact_write", {"filename": "a.md", "content": "one\n"}),
)


def noted(ground: Ground, rng: random.Random) -> tuple[Files, list[Files]]:
    """Return (the files of a project after a few changes, its files before and after each of them)."""
    ground.lay(projects.valid(rng))
    states = [ground.files()]
    for tool, arguments in rng.choices(_CALLS, k=rng.randrange(1, 6)):
        ground.call(tool, **arguments)
        states.append(ground.files())
    return (states[-1], states) if ADVICE in states[-1] else noted(ground, rng)


def oplog(ground: Ground, rng: random.Random, files: Files, states: list[Files]) -> Iterator[str]:
    """Return the failures with an operation log that may be corrupt. `states` are earlier states of the project."""
    ground.lay(files)
    yield from _undone(ground, states) if rng.random() < 0.5 else _added(ground)


def _added(ground: Ground) -> Iterator[str]:
    """Check that a change is made and logged, whatever the log holds, and that the log's old bytes stay."""
    done = ground.call("task_add", title="One more", context="Because")
    if done.error or done.changed != {TASKS, ADVICE}:
        yield f"task_add changed {sorted(done.changed)} and said {done.error or 'nothing of an error'}"
        return
    old, new = done.before[ADVICE], done.after[ADVICE]
    rest = new[len(old) :]
    if not new.startswith(old):
        yield "lines of the log are lost"
    elif old and not old.endswith(b"\n") and not rest.startswith(b"\n"):
        yield "a line was appended to a truncated one"
    try:
        if reference_reader.read("line", rest)["tool"] != "task_add":
            yield "the added line describes another change"
    except (Broken, KeyError) as error:
        yield f"the line that was added cannot be read: {error}"


def _undone(ground: Ground, states: list[Files]) -> Iterator[str]:
    """Check that undo restores an earlier state, or changes nothing."""
    before = ground.files()
    try:
        undo(Store(ground.workspace, ground.clock), By(UNDO, "nexus-mcp", ""), 1)
    except NexusError as error:
        if (after := _kept(ground.files())) != _kept(before):
            yield f"undo is refused and changed files: {error}, {sorted(after)}"
        return
    after = ground.files()
    for path in (PLAN, TASKS, "state/artifacts/a.md"):
        if after.get(path) not in [state.get(path) for state in states]:
            yield f"undo gave {path} a content that it never had"
    if after.get("history.json") != before.get("history.json"):
        yield "undo changed the history"


def _kept(files: Files) -> Files:
    return {path: data for path, data in files.items() if path != "state/lock"}
