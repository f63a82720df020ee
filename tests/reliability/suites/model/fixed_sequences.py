"""Fixed sequences of calls, which run beside the random ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tests.reliability.suite import Tally
from tests.reliability.suites.model import histories
from tests.reliability.suites.model.possible_state import TASKS
from tests.reliability.suites.model.world import World
from tests.support import pretty

_CLOSES, _UNDOES = range(25, 61), range(30, 57)  # system calls of a close, and of an undo of two, from the journal on


class Step(NamedTuple):
    """A call, whether its answer arrives, and the system call before which its process dies (0: none).

    If `tool` is the path of a session file, another program edits that file: `given` is its new content.
    """

    tool: str
    given: dict[str, Any]
    arrives: bool = True
    dies: int = 0


_PLAN = Step("plan_start", {"topic": "T", "issues": ["A", "B"], "research_summary": ""})
_TASK = Step("task_add", {"title": "t", "context": "c", "goal": "g"})
_CLOSE = Step("task_close", {})
_ARTIFACT = Step("artifact_write", {"filename": "a.md", "content": "x"})
_UNDO, _UNDO_TWO = Step("undo", {"count": 1}), Step("undo", {"count": 2})
_EDIT = Step(TASKS, {"goal": "theirs", "decisions": [], "tasks": []})

TALES: dict[str, list[Step]] = {
    "an id is not given again": [
        _PLAN,
        Step("plan_update", {"action": "remove", "issue_id": 1}),
        Step("plan_update", {"action": "add", "title": "C"}),
        Step("plan_decide", {"issue_id": 2, "decision": "d"}),
    ],
    "a lost answer is given once": [_PLAN, _CLOSE._replace(arrives=False), _CLOSE, _CLOSE],
    "an answer that arrived is not given again": [_PLAN, _CLOSE, _CLOSE],
    "undo ends at a close": [_PLAN, _CLOSE, _PLAN, _UNDO, _UNDO],
    "a lost answer outlives what is no change of plan or tasks": [
        _PLAN,
        _CLOSE._replace(arrives=False),
        _ARTIFACT,
        _UNDO,
        _CLOSE,
        _CLOSE,
    ],
    "an undo of two dies wherever it can": [
        step for at in _UNDOES for step in (_PLAN, _TASK, _UNDO_TWO._replace(dies=at), _UNDO_TWO, _CLOSE)
    ],
    "undo leaves what somebody else wrote": [_TASK, _EDIT, _UNDO, _PLAN, _UNDO, _UNDO],
    "somebody writes where a close died": [
        step
        for at in _CLOSES
        for step in (_PLAN, _TASK, _CLOSE._replace(dies=at), _EDIT, Step("task_list", {}), _CLOSE)
    ],
    "a close dies wherever it can": [
        step for at in _CLOSES for step in (_PLAN, _TASK, _CLOSE._replace(dies=at), Step("task_list", {}), _CLOSE)
    ],
}


def tell(name: str, folder: Path) -> Tally:
    """Run the sequence with this name."""
    tally = Tally()
    world = World(folder / "project", tally.counts)
    if name in histories.TALES:
        try:
            histories.TALES[name](world)
        except AssertionError as error:
            tally.failures.append(f"{name}: {error!s:.1500}")
        return tally
    for step in TALES[name]:
        tally.counts["steps"] += 1
        try:
            if step.tool == TASKS:
                world.edit(TASKS, pretty(step.given))
            elif step.dies:
                world.crash(0, step.tool, step.given, step.dies)
            else:
                world.call(0, step.tool, step.given, step.arrives)
        except AssertionError as error:
            tally.failures.append(f"{name}, step {tally.counts['steps']}: {error!s:.1500}")
            break
        world.clock.advance(1)
    return tally
