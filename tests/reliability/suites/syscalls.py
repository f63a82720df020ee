"""Suite 1: a server is killed before each system call of a change, and again in the recovery that follows.

What must hold after each kill: every file is the old one or the new one; the change is complete or absent, and complete
if it was answered; a repeated close is answered once and archived once; no leftovers stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from nexus_mcp.store import atomic
from tests.reliability.suite import Json, Piece, Suite, Tally
from tests.reliability.suites.one_call import traced
from tests.reliability.suites.one_call.model import Heard, Model, Outcome, spelled
from tests.reliability.suites.one_call.points import Case, Ended, Lever, Point
from tests.reliability.suites.one_call.scenarios import (
    JOURNALLED,
    LATER,
    NOW,
    SCENARIOS,
    files_of,
    leftovers,
    project,
    restore,
    tree,
    tree_of,
)
from tests.reliability.suites.one_call.simulated import Played
from tests.reliability.suites.one_call.workspace_check import Wrong, check_whole, go_on, settle

# The calls after a crash: the same close again, another change, or only a read.
_NEXT = ("task_close", "task_add", "plan_status")
_KILLS, _PAIRS = "kills", "pairs of kills"
_LAST = 8  # about the number of system calls between the end of a change and its answer
_WHOLE = (("task_close", "all there"), ("plan_start", "all there"), ("task_add", "never used"))


def _plan(seed: int, quick: bool) -> Sequence[Json]:
    if not quick:
        parts = [{"traced": True, "at": at, "part": part, "of": 3} for at in SCENARIOS for part in range(3)]
        return [*parts, *[{"traced": True, "pairs": 20} for _ in range(50)]]
    sampled = [at for at in SCENARIOS if at not in _WHOLE]
    return [
        *[{"at": at, "part": part, "of": 2} for at in _WHOLE for part in range(2)],
        {"pairs": 12},
        *[{"at": at, "sample": 2} for at in sampled],
        # One piece runs under strace, as in the long form; without strace it is simulated like the others.
        {"traced": traced.usable(), "at": _WHOLE[0], "sample": 4},
    ]


def _work(piece: Piece) -> Tally:
    bench = _Bench(piece)
    if "pairs" in piece.item:
        for _ in range(piece.item["pairs"]):
            bench.pair()
    else:
        bench.kills()
    return bench.tally


class _Bench:
    """A workspace, and the kills of the calls in it."""

    def __init__(self, piece: Piece) -> None:
        self.tally = Tally()
        self._item = piece.item
        self._rng: Random = piece.rng
        self._root = project(piece.folder)
        self._model = Model(piece.folder)
        self._lever: Lever = traced.Traced(piece.folder) if piece.item.get("traced") else Played()

    def kills(self) -> None:
        """Kill one call before each of its points, or a sample of them, and continue from the files that it left."""
        tool, state = self._item["at"]
        case = Case(self._root, tree_of(state), tool, NOW)
        points = self._lever.kill_points(case)
        done = len(points) - _LAST
        if "sample" in self._item:
            points = self._rng.sample(points, self._item["sample"])
        else:
            points = points[self._item["part"] :: self._item["of"]]
        for point in points:
            told = f"{tool} with {state}, killed before {_shown(point)}"
            try:
                may = self._kill(case, [Outcome(files_of(case.start))], point)
                self.tally.counts[_KILLS] += 1
                left = tree(self._root)
                for following in self._following(point.number, is_late=point.number > done):
                    told = f"{told.partition(', then ')[0]}, then {following}"
                    restore(self._root, left)
                    after = go_on(self._root, self._model, may, following, NOW + LATER)
                    settle(self._root, self._model, after, NOW + 2 * LATER)
            except Wrong as wrong:
                self.tally.failures.append(f"{told}: {wrong}")

    def pair(self) -> None:
        """Kill a call at a point where it leaves a change to recover, then kill the call that recovers it."""
        tool, state = self._rng.choice(JOURNALLED)
        case = Case(self._root, tree_of(state), tool, NOW)
        points = self._lever.kill_points(case)
        first_write = next(at for at, point in enumerate(points) if atomic.PREFIX in point.shown)
        point = self._rng.choice(points[first_write + 1 :])
        told = f"{tool} with {state}, killed before {_shown(point)}"
        try:
            may = self._kill(case, [Outcome(files_of(case.start))], point)
            if not leftovers(tree(self._root)):
                return self.pair()  # the change was complete, so there was nothing to recover
            case = Case(self._root, tree(self._root), self._rng.choice(_NEXT), NOW + LATER)
            point = self._rng.choice(self._lever.kill_points(case))
            told += f", then {case.tool}, killed before {_shown(point)}"
            after = self._kill(case, may, point)
            self.tally.counts[_PAIRS] += 1
            settle(self._root, self._model, after, NOW + 2 * LATER)
        except Wrong as wrong:
            self.tally.failures.append(f"{told}: {wrong}")
        return None

    def _following(self, number: int, *, is_late: bool) -> tuple[str, ...]:
        """Return the calls to make after a kill, each from the files that the kill left.

        Simulated kills take one of the calls in turn, and strace all. After a kill that `is_late` all calls are made:
        otherwise the number of system calls before it would decide which one is.
        """
        return _NEXT if is_late or self._item.get("traced") else _NEXT[number % len(_NEXT) :][:1]

    def _kill(self, case: Case, before: list[Outcome], point: Point) -> list[Outcome]:
        """Return the possible files after the call was killed. Raise Wrong if a file is torn already."""
        ended = self._lever.kill(case, point)
        if not ended.reached:
            raise Wrong("the call was not killed: it differs between runs")
        may = self._model.after(before, case.tool, case.at, *_heard(ended))
        if not may:
            raise Wrong(f"answered wrongly: {ended.answer}")
        check_whole(self._root, [outcome.files for outcome in (*before, *may)])
        return may


def _heard(ended: Ended) -> tuple[Heard, str | None]:
    return (Heard.NOTHING, None) if ended.answer is None else (Heard.ANSWER, spelled(ended.answer))


def _shown(point: Point) -> str:
    return f"its call {point.number}, {point.shown}"


SUITE = Suite(
    name="syscalls",
    title="SIGKILL before each system call of task_close, plan_start and task_add, and again in the recovery",
    goal=(_PAIRS, 500),
    plan=_plan,
    work=_work,
    mutants=(
        "in-place",
        "no-journal",
        "unlink-before-archive",
        "wrong-order",
        "no-recovery",
        "thrown-away",
        "answer-forgotten",
        "answer-kept",
        "redone",
        "no-sweep",
    ),
    needs={"strace": "apt strace"},
)
