"""Suite 2: every relevant errno, at every system call on files that a change makes.

What must hold: the answer is a success and the whole change is in the files, or it is an error whose text agrees with
the files ("nothing was changed", "is recorded", "did not confirm"). The next call works, a recorded change is
completed, and no leftovers stay.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from random import Random

from tests.reliability import long
from tests.reliability.suite import Json, Piece, Suite, Tally
from tests.reliability.suites.one_call import traced
from tests.reliability.suites.one_call.interrupted import LEFT, interrupted
from tests.reliability.suites.one_call.model import Model, Outcome
from tests.reliability.suites.one_call.points import Case, Ended, Lever, Point
from tests.reliability.suites.one_call.scenarios import LATER, NOW, SCENARIOS, Tree, files_of, project, tree_of
from tests.reliability.suites.one_call.simulated import Played, with_short_writes, with_small_files
from tests.reliability.suites.one_call.verdict import Fault, check
from tests.reliability.suites.one_call.workspace_check import Wrong

_CODES = ("ENOSPC", "EIO", "EDQUOT", "EROFS", "EMFILE")
_ONCE = "EINTR"
_LASTING = ("ENOSPC", "EIO", "EROFS")
_SHORT = (1, 7, 100)
# The calls after a kill: the same call again, another change, a read.
_RECOVERING = tuple((tool, left) for left in LEFT for tool in ("task_close", "task_add", "plan_status"))
_WHOLE = (
    ("task_add", "never used"),
    ("task_close", "all there"),
    ("task_close", "an answer"),
    ("plan_start", "all there"),
)
_LONG = (*_WHOLE[1:], ("task_close", "a journal"), ("plan_start", "an answer"))
"""Cases in which the history counts as long: its index and texts exist before, or the recovery makes them."""
_GROWING = ("copy_file_range", "utime", "utimensat", "replace", "pread")
_ERRORS, _STAYING, _PARTIAL = "injected errors", "errors that stay", "partial writes"


def _plan(seed: int, quick: bool) -> Sequence[Json]:
    everywhere = (*SCENARIOS, *_RECOVERING)
    if not quick:
        single = [{"at": at, "codes": [code], "traced": True} for at in everywhere for code in (*_CODES, _ONCE)]
        lasting = [
            {"at": at, "codes": [code], "traced": True, "lasting": True} for at in SCENARIOS for code in _LASTING
        ]
        # strace cannot let a close fail, and changes no write; the simulation can also make a write partial.
        played = [{"at": at, "codes": [code]} for at in everywhere for code in (*_CODES, _ONCE)]
        partial = [{"at": at, "partial": 60} for at in SCENARIOS]
        pieces: list[dict[str, Json]] = [*single, *lasting, *played, *partial]
        return [*pieces, *[{**item, "long": long.SETTLED} for item in pieces if item["at"] in _LONG]]
    others = Random(seed).sample([at for at in everywhere if at not in _WHOLE], 8)
    return [
        {"at": _WHOLE[1], "codes": ["EIO"], "names": _GROWING, "long": long.SETTLED},
        *[{"at": at, "codes": _CODES, "part": part, "of": 3} for at in _WHOLE for part in range(3)],
        *[{"at": at, "codes": _CODES, "sample": 4} for at in others],
        {"at": _WHOLE[1], "codes": [_ONCE]},
        *[{"at": at, "codes": _LASTING, "lasting": True, "sample": 10} for at in _WHOLE],
        *[{"at": at, "partial": 2} for at in _WHOLE[:2]],
        {"at": _WHOLE[2], "codes": _CODES, "sample": 10, "long": long.SETTLED},
        {"at": _WHOLE[1], "partial": 2, "long": long.SETTLED},
        # One piece runs under strace, as in the long form; without strace it is simulated like the others.
        {"at": _WHOLE[1], "codes": (*_CODES, _ONCE), "sample": 4, "traced": traced.usable()},
    ]


def _work(piece: Piece) -> Tally:
    bench = _Bench(piece)
    if "partial" in piece.item:
        bench.partial_writes()
    else:
        bench.errors()
    return bench.tally


class _Bench:
    """A workspace, and the failures of the calls in it."""

    def __init__(self, piece: Piece) -> None:
        self.tally = Tally()
        self._item = piece.item
        self._rng = piece.rng
        self._root = project(piece.folder)
        self._model = Model(piece.folder)
        self._lever: Lever = traced.Traced(piece.folder) if piece.item.get("traced") else Played()
        tool, self._state = piece.item["at"]
        start, self._before = self._start(self._state)
        at = NOW + LATER if self._state in LEFT else NOW
        self._case = Case(self._root, start, tool, at)

    def errors(self) -> None:
        """Let each point, or a sample of them, fail."""
        codes: list[str] = self._item["codes"]
        lasting = self._item.get("lasting", False)
        points = self._lever.error_points(self._case, getattr(errno, codes[0]))
        if "names" in self._item:
            points = [point for point in points if point.name in self._item["names"]]
        if "sample" in self._item:
            points = self._rng.sample(points, min(len(points), self._item["sample"]))
        points = points[self._item.get("part", 0) :: self._item.get("of", 1)]
        for point in points:
            code = codes[point.number % len(codes)]
            told = f"{code} {'from' if lasting else 'at'} call {point.number}, {point.shown}"
            ended = self._lever.fail(self._case, point, getattr(errno, code), lasting=lasting)
            if not ended.reached:
                self.tally.failures.append(f"{self._told(told)}: not reached, the call differs between runs")
                continue
            self.tally.counts[_STAYING if lasting else _ERRORS] += 1
            self._check(told, ended, Fault(point, code, lasting=lasting))

    def partial_writes(self) -> None:
        """Let the system accept only a part of each write, and refuse writes beyond a file size."""
        for most in _SHORT:
            self.tally.counts[_PARTIAL] += 1
            self._check(f"at most {most} bytes a write", with_short_writes(self._case, most), None)
        for _ in range(self._item["partial"]):
            largest = self._rng.randrange(3000)
            self.tally.counts[_PARTIAL] += 1
            fault = Fault(Point(0, "write", ""), "EFBIG", lasting=True)
            self._check(f"no file beyond {largest} bytes", with_small_files(self._case, largest), fault)

    def _start(self, state: str) -> tuple[Tree, list[Outcome]]:
        if state in LEFT:
            return interrupted(self._root, self._model, state)
        return tree_of(state), [Outcome(files_of(tree_of(state)))]

    def _check(self, told: str, ended: Ended, fault: Fault | None) -> None:
        try:
            check(self._case, self._model, self._before, ended, fault)
        except Wrong as wrong:
            self.tally.failures.append(f"{self._told(told)}: {wrong}")

    def _told(self, told: str) -> str:
        return f"{self._case.tool} with {self._state}, {told}"


SUITE = Suite(
    name="errnos",
    title="ENOSPC, EIO, EDQUOT, EROFS, EMFILE and EINTR at each system call about files, and partial writes",
    goal=(_ERRORS, 10_000),
    plan=_plan,
    work=_work,
    mutants=(
        "fsync-passed-over",
        "fsync-again",
        "write-passed-over",
        "unlink-passed-over",
        "rename-or-in-place",
        "lock-or-not",
        "unreadable-is-absent",
        "told-as-unchanged",
        "told-as-recorded",
        "made-and-left",
        "receipt-presumed-held",
        "grown-too-early",
        "noted-early",
    ),
    needs={"strace": "apt strace"},
)
