"""The Hypothesis state machine: any event of a project, in any order."""

from __future__ import annotations

import errno
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.model.strategies import CALLS, foreign_plans, foreign_tasks
from tests.reliability.suites.model.possible_state import PLAN, TASKS, UNDO
from tests.reliability.suites.model.world import World
from tests.support import cycle, pretty, stamp

_ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EMFILE)
_CLOSE, _UNDO = 60, 70  # system calls of the longest calls

WHERE = st.integers(0, 1)
ARRIVES = st.sampled_from([True, True, True, False, None])
UNDOES = st.tuples(st.just(UNDO), st.fixed_dictionaries({"count": st.integers(1, 3)}))
ANY = CALLS.map(lambda call: (call[0], call[1])) | UNDOES
# Calls that change several files, most of them through the journal.
ARCHIVES = st.sampled_from(
    [
        ("task_close", {}),
        ("plan_start", {"topic": "Next", "issues": ["A", "B"], "research_summary": "s"}),
        (UNDO, {"count": 2}),
    ]
)
PLAIN = st.sampled_from(
    [
        ("plan_start", {"topic": "T", "issues": ["A", "B"], "research_summary": ""}),
        ("plan_update", {"action": "add", "title": "C"}),
        ("plan_update", {"action": "remove", "issue_id": 1}),
        ("plan_decide", {"issue_id": 2, "decision": "d"}),
        ("task_add", {"title": "t", "context": "c", "goal": "g"}),
        ("task_update", {"id": 1, "status": "completed"}),
        ("artifact_write", {"filename": "a/b.txt", "content": "x"}),
        ("task_close", {}),
    ]
)
LOOKS: st.SearchStrategy[tuple[str, dict[str, Any]]] = st.sampled_from(
    [("task_list", {}), ("plan_status", {}), ("history_search", {}), ("task_close", {})]
)
NUMBER = st.integers(1, _CLOSE) | st.integers(1, _UNDO)
EDITS = st.one_of(
    st.tuples(st.just(PLAN), foreign_plans().map(pretty)),
    st.tuples(st.just(TASKS), foreign_tasks().map(pretty)),
    st.tuples(st.sampled_from([PLAN, TASKS]), st.none()),
)


class Machine(RuleBasedStateMachine):
    """Calls of two processes, deaths, disk errors, undo, and changes by git and editors in between.

    `folder` is the parent folder of the projects, `figures` has counts, `told` the steps of the last example.
    """

    folder: Path
    figures: Counter[str]
    told: list[str]

    def __init__(self) -> None:
        super().__init__()
        self.root = self.folder / "project"
        self.world = World(self.root, self.figures)
        self.figures["random sequences of steps"] += 1
        self.told.clear()

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    @rule(at=WHERE, call=ANY, arrives=ARRIVES)
    def call(self, at: int, call: tuple[str, dict[str, Any]], arrives: bool | None) -> None:
        self._tell(f"process {at} calls {call}, its answer arrives: {arrives}")
        self.world.call(at, *call, arrives=arrives)

    @rule(at=WHERE, call=PLAIN, arrives=ARRIVES)
    def call_plainly(self, at: int, call: tuple[str, dict[str, Any]], arrives: bool | None) -> None:
        self._tell(f"process {at} calls {call}, its answer arrives: {arrives}")
        self.world.call(at, *call, arrives=arrives)

    @rule(at=WHERE, call=ANY, number=NUMBER)
    def crash(self, at: int, call: tuple[str, dict[str, Any]], number: int) -> None:
        self._tell(f"process {at} dies before system call {number} of {call}")
        self.world.crash(at, *call, number)

    @rule(at=WHERE, call=ARCHIVES, numbers=st.lists(NUMBER, min_size=1, max_size=3), look=LOOKS)
    def crash_while_archiving(
        self, at: int, call: tuple[str, dict[str, Any]], numbers: list[int], look: tuple[str, dict[str, Any]]
    ) -> None:
        """Let a process die while it archives, then in reads, which complete the interrupted change."""
        for number in numbers:
            self._tell(f"process {at} dies before system call {number} of {call}")
            self.world.crash(at, *call, number)
            call = look

    @rule(at=WHERE, call=PLAIN, number=NUMBER)
    def crash_plainly(self, at: int, call: tuple[str, dict[str, Any]], number: int) -> None:
        self._tell(f"process {at} dies before system call {number} of {call}")
        self.world.crash(at, *call, number)

    @rule(at=WHERE, call=ARCHIVES | PLAIN, number=NUMBER, code=st.sampled_from(_ERRORS))
    def fail(self, at: int, call: tuple[str, dict[str, Any]], number: int, code: int) -> None:
        self._tell(f"system call {number} of {call} by process {at} fails with {errno.errorcode[code]}")
        self.world.fail(at, *call, number, code)

    @rule(at=WHERE, how=st.sampled_from(["arrives", "is lost", "is lost with its process"]))
    def settle(self, at: int, how: str) -> None:
        self._tell(f"an answer on its way from process {at} {how}")
        if "process" in how:
            self.world.restart(at)
        else:
            self.world.settle(at, arrived=how == "arrives")

    @rule(ms=st.sampled_from([125, 125, 1000, -250]))
    def tick(self, ms: int) -> None:
        self._tell(f"the clock moves by {ms} ms")
        self.world.clock.advance(ms)

    @rule(adds=st.booleans())
    def git_history(self, adds: bool) -> None:
        self._tell("git adds a cycle to the history" if adds else "git takes the last cycle of the history away")
        foreign = cycle(None, at=stamp(len(self.told)), branch="other")
        self.world.git_history(foreign if adds else None)

    @rule(edit=EDITS)
    def edit(self, edit: tuple[str, bytes | None]) -> None:
        self._tell(f"another program puts {edit[1]!r:.200} into {edit[0]}")
        self.world.edit(*edit)

    def _tell(self, step: str) -> None:
        self.figures["steps"] += 1
        self.told.append(step)
