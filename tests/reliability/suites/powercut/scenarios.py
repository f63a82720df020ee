"""The calls during which the power is cut, and the possible files after each call."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nexus_mcp.store import oplog
from tests.reliability.suites.caller import Caller, called, content
from tests.reliability.suites.powercut.disk import Disk, Mark
from tests.reliability.suites.powercut.files import put_tree, state_of, tree_of
from tests.reliability.suites.powercut.recording import Recording
from tests.support import READ_ONLY

# An old cycle in a layout that no version of ours writes: its bytes have to stay.
OLD = '{"cycles": [ {"completed_at": "2020-01-01T00:00:00.000Z", "branch":"main","plan":null,"tasks":[],"x":1.50}'
HISTORY = f"{OLD} ]}}"


@dataclass(frozen=True)
class Step:
    """A call. `death` is that of Recording.running; `arrives`: its answer is delivered."""

    tool: str
    arguments: dict[str, Any]
    arrives: bool = True
    death: int | str = ""


@dataclass(frozen=True)
class Scenario:
    """Calls in a project after the calls `before`, whose files are all synced.

    `old`: the history has one old cycle. `full`: the operation log is full, either of "notes", of which it drops some
    for a new line, or of "foreign" text, which is set aside as a whole. `long`: the history counts as long.
    """

    steps: tuple[Step, ...]
    before: tuple[Step, ...] = ()
    old: bool = True
    full: str = ""
    long: bool = False

    def dying(self, deaths: Sequence[int | str]) -> Scenario:
        """Return the same scenario with deaths in the first steps."""
        steps = [replace(step, death=death) for step, death in zip(self.steps, deaths, strict=False)]
        return replace(self, steps=(*steps, *self.steps[len(steps) :]))


FOREIGN = "x" * (oplog.LIMIT - 2) + "\n"
PLAN = Step("plan_start", {"topic": "Topic", "issues": ["One", "Two"], "research_summary": "known"})
NEXT = Step("plan_start", {"topic": "Next", "issues": ["Three"], "research_summary": ""})
DECIDE = Step("plan_decide", {"issue_id": 1, "decision": "yes"})
TASK = Step("task_add", {"title": "Do", "context": "because", "goal": "Goal"})
MORE = Step("task_add", {"title": "More", "context": "because", "decisions": ["d"]})
DONE = Step("task_update", {"id": 1, "status": "completed"})
CLOSE = Step("task_close", {})
LOOK = Step("plan_status", {})
SEARCH = Step("history_search", {"query": "topic"})
NOTE = Step("artifact_write", {"filename": "a/b/note.md", "content": "one"})
OTHER = Step("artifact_write", {"filename": "a/b/note.md", "content": "another one"})
BESIDE = Step("artifact_write", {"filename": "a/beside.md", "content": "beside"})
UNDO = Step("undo", {"count": 1})
UNDO_TWO = Step("undo", {"count": 2})

BEGUN = (PLAN, DECIDE, TASK)
CLOSED = (*(*BEGUN, CLOSE) * 6, *BEGUN)  # so many that half of their index describes cycles
SCENARIOS = {
    "close": Scenario((CLOSE,), BEGUN),
    "close after an artifact": Scenario((CLOSE,), (*BEGUN, NOTE)),
    "plan": Scenario((NEXT,), BEGUN),
    "first task": Scenario((TASK, MORE), old=False),
    "artifact": Scenario((NOTE, OTHER, BESIDE), BEGUN),
    "changes": Scenario((MORE, DONE, DECIDE), BEGUN),
    "first close": Scenario((CLOSE,), BEGUN, old=False),
    "empty close": Scenario((CLOSE,)),
    "first plan": Scenario((PLAN, NEXT), old=False),
    "first artifact": Scenario((NOTE, TASK), old=False),
    "closes": Scenario((replace(CLOSE, arrives=False), CLOSE, CLOSE, TASK, CLOSE), BEGUN),
    "undo": Scenario((MORE, UNDO, NOTE, UNDO), BEGUN),
    "undo of two": Scenario((DECIDE, MORE, UNDO_TWO), BEGUN),
    "full log": Scenario((MORE, CLOSE), BEGUN, full="notes"),
    "foreign log": Scenario((MORE, CLOSE), BEGUN, full="foreign"),
    "session": Scenario((PLAN, TASK, NOTE, CLOSE, NEXT), old=False),
    "searched close": Scenario((SEARCH, CLOSE, SEARCH), CLOSED, old=False, long=True),
    "searches": Scenario((SEARCH, PLAN, CLOSE, CLOSE, SEARCH), long=True),
    "searched close after a death": Scenario((CLOSE, SEARCH, TASK, CLOSE), CLOSED, old=False, long=True),
    "another's change after a close": Scenario((replace(CLOSE, arrives=False), MORE), BEGUN),
    "another's plan after a close": Scenario((replace(CLOSE, arrives=False), PLAN, DECIDE), BEGUN),
    # A process dies, and the next one builds upon files that were not synced.
    "close after a death": Scenario((CLOSE, LOOK), BEGUN),
    "plan after a death": Scenario((NEXT, LOOK, MORE), BEGUN),
    "task after a death": Scenario((TASK, MORE), old=False),
    "change after a death": Scenario((MORE, DECIDE), BEGUN),
    "artifact after the death of a change": Scenario((MORE, NOTE), BEGUN),
    "artifact after a death": Scenario((NOTE, NOTE), BEGUN),
    "undo after a death": Scenario((UNDO_TWO, LOOK, MORE), BEGUN),
    "undo of artifacts after a death": Scenario((UNDO_TWO, LOOK, OTHER), (*BEGUN, NOTE, BESIDE)),
    "close after two deaths": Scenario((CLOSE, LOOK, LOOK), BEGUN),
    "task after two deaths": Scenario((TASK, TASK, MORE), old=False),
    "artifact after two deaths": Scenario((NOTE, NOTE, NOTE), BEGUN),
}


@dataclass
class Played:
    """A recorded scenario.

    `states[n]` has the values of the files after n steps (a death is a step), as JSON; `answers[n]` is the answer of
    step n, None when it died. `old` are the bytes with which the history always begins, `infos` those of the Recording.
    """

    scenario: Scenario
    start: Disk
    operations: list[Any]
    states: list[str]
    answers: list[Any]
    old: bytes
    infos: dict[int, os.stat_result]

    def allowed(self, end: int) -> set[str]:
        """Return the allowed states after a power cut behind the first `end` operations.

        These are the state after the last answered change, and those after each change that was begun later.
        """
        sure = begun = 0
        for mark in self.operations[:end]:
            if isinstance(mark, Mark):
                if mark.what == "began":
                    begun = mark.step + 1
                elif mark.what == "answered" and self.scenario.steps[mark.step].tool not in READ_ONLY:
                    sure = mark.step + 1
        return set(self.states[sure : begun + 1])

    def retries(self, end: int) -> bool:
        """Return whether a repetition of the first step, a close, may return the answer of that close.

        That is so if no answer has arrived, no client closed again, and no other change was acknowledged.
        """
        marks = [mark for mark in self.operations[:end] if isinstance(mark, Mark)]
        began = [self.scenario.steps[mark.step].tool for mark in marks if mark.what == "began"]
        changed = {self.scenario.steps[mark.step].tool for mark in marks if mark.what == "answered" and mark.step}
        if began[:1] != ["task_close"] or "task_close" in began[1:] or not changed <= READ_ONLY:
            return False
        return Mark(0, "arrived") not in marks

    def is_closed_at_most(self, state: str) -> bool:
        """Return whether `state` is the state before or after the first step."""
        return state in self.states[:2]


def play(scenario: Scenario, folder: Path, rng: random.Random) -> Played:
    """Carry out the scenario below `folder`, recorded. Raise Failed."""
    root = folder / "project"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for step in scenario.before:
        called(root, step.tool, **step.arguments)
    if scenario.old:
        (root / ".nexus").mkdir(exist_ok=True)
        (root / ".nexus" / "history.json").write_text(HISTORY)
    if scenario.full:
        path = root / ".nexus" / "state" / oplog.NAME
        last = path.read_text().splitlines(keepends=True)[-1]
        path.write_text(last * (oplog.LIMIT // len(last)) if scenario.full == "notes" else FOREIGN)
    recording = Recording(root)
    states, answers = [_state(root, folder)], []
    for number, step in enumerate(scenario.steps):
        recording.mark(number, "began")
        answers.append(_recorded(recording, step, number, rng))
        recording.check()
        states.append(_state(root, folder))
    old = OLD.encode() if scenario.old else b""
    return Played(scenario, recording.start, recording.operations, states, answers, old, recording.infos)


def _recorded(recording: Recording, step: Step, number: int, rng: random.Random) -> Any:
    with recording.running(rng, step.death):
        answer = Caller(recording.root).call(step.tool, step.arguments)
        if not recording.dead:
            told = content(answer, step.tool)
            recording.mark(number, "answered")
            if step.arrives:
                recording.mark(number, "arrived")
                answer.confirm_delivery()
            answer.drop_delivery()
            return told
    return None


def _state(root: Path, folder: Path) -> str:
    """Return the values of the files after a read, in a copy of the recorded project."""
    copy = folder / "looked-at"
    with put_tree(copy, tree_of(root)):
        called(copy, LOOK.tool)
        return state_of(copy)
