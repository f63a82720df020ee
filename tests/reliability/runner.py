"""Run a suite piece by piece, each in a process of its own, and save a checkpoint after each."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from tests.forks import MEMORY, forked
from tests.reliability import long
from tests.reliability.mutants import planted
from tests.reliability.suite import Json, Piece, Suite, Tally
from tests.reliability.suites.caller import called
from tests.support import SMALLEST

ROOT = Path(__file__).resolve().parents[2]
CHECKPOINTS = ROOT / ".cache" / "torture"
_CODE = (
    "nexus_mcp/**/*.py",
    "schemas/**/*.json",
    "tests/reliability/**/*.py",
    "tests/model/*.py",
    "tests/support.py",
    "tests/forks.py",
    "tests/run/fake_harness.py",
    "tests/run/runs.py",
    "tests/store/crash_points.py",
    "tests/store/history/generated.py",
)
STUMBLED = "the suite itself failed"
_KEEP_EVERY = 5.0  # seconds between checkpoints
_MOST_FAILURES = 50  # more failures of one suite would tell nothing new


@dataclass
class Progress:
    """The progress of a run of a suite: the numbers of the finished pieces, their tally, the seconds they took, and the
    day on which the last one finished.

    A checkpoint belongs to one seed, one form and one state of the code. No other run continues from it.
    """

    suite: str
    seed: int
    quick: bool
    code: str
    pieces: int
    done: set[int] = field(default_factory=set)
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    day: str = ""

    @property
    def path(self) -> Path:
        return CHECKPOINTS / f"{self.suite}-{self.seed}{'-quick' if self.quick else ''}.json"

    def load(self) -> None:
        """Load the checkpoint of an earlier run with this seed, form and code; ignore a missing or truncated one."""
        try:
            kept = json.loads(self.path.read_text())
            if (kept["code"], kept["pieces"]) == (self.code, self.pieces):
                self.tally = Tally.from_json(kept["tally"])
                self.seconds, self.day = kept["seconds"], kept["day"]
                self.done = set(kept["done"])
        except (FileNotFoundError, ValueError, KeyError):
            return

    def keep(self) -> None:
        value = {
            "suite": self.suite,
            "seed": self.seed,
            "code": self.code,
            "pieces": self.pieces,
            "done": sorted(self.done),
            "tally": self.tally.as_json(),
            "seconds": self.seconds,
            "day": self.day,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(value))
        fresh.replace(self.path)


def run(
    suite: Suite,
    seed: int,
    *,
    quick: bool,
    mutant: str = "",
    resume: bool = False,
    processes: int = 0,
    until_failure: bool = False,
    first: int = 0,
    say: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Run all pieces of the suite, and return the progress. `resume`: continue from a checkpoint, and save new ones.

    `until_failure` ends the run at the first failure. `first` is the number of the first piece; the others follow in
    order. `say` is called after each piece.
    """
    load()
    plan = suite.plan(seed, quick)
    progress = Progress(suite.name, seed, quick, code() if resume else "", len(plan))
    if resume:
        progress.load()
    before, started, kept = progress.seconds, time.monotonic(), time.monotonic()
    left = [number for number in range(len(plan)) if number not in progress.done]
    left.sort(key=lambda number: number != first)
    work = partial(_piece, suite, plan, seed, mutant)
    for number, outcome in forked(left, work, suite.seconds, processes or suite.processes):
        told = f"{suite.name}, seed {seed}, piece {number}"
        if outcome is None:
            progress.tally.failures.append(f"{told}: hung for {suite.seconds:g} s, or its process died")
        else:
            tally = Tally.from_json(outcome)
            tally.failures = [f"{told}: {failure}" for failure in tally.failures]
            progress.tally.add(tally)
        progress.done.add(number)
        progress.day = time.strftime("%Y-%m-%d", time.gmtime())
        progress.seconds = before + time.monotonic() - started
        if resume and time.monotonic() - kept > _KEEP_EVERY:
            progress.keep()
            kept = time.monotonic()
        say(progress)
        if len(progress.tally.failures) >= (1 if until_failure else _MOST_FAILURES):
            break
    if resume:
        progress.keep()
    return progress


@cache
def load() -> None:
    """Load the schemas and patterns that first calls load, so that the fork for a piece need not load them again."""
    with tempfile.TemporaryDirectory(prefix="nexus-torture-", dir=MEMORY) as folder:
        for tool in ("plan_start", "task_add", "task_close", "artifact_write"):
            called(Path(folder), tool, **SMALLEST[tool])


def _piece(suite: Suite, plan: Sequence[Json], seed: int, mutant: str, number: int) -> dict[str, Json]:
    with tempfile.TemporaryDirectory(prefix="nexus-torture-") as folder:
        piece = Piece(plan[number], suite.rng(seed, number), Path(folder).resolve(), mutant)
        try:
            with long.counted(piece.item), planted(mutant):
                return suite.work(piece).as_json()
        except Exception:  # noqa: BLE001 - an unexpected exception counts as a failure
            return Tally(failures=[f"{STUMBLED}: {traceback.format_exc()[-2000:]}"]).as_json()


def code() -> str:
    """Return a digest of the tested code, of the suites, and of the other tests that the suites use."""
    digest = hashlib.sha256()
    for pattern in _CODE:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(os.fsencode(path.relative_to(ROOT)) + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
