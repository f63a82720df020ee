"""Define a suite: plain data about its pieces, and the function that runs one piece."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = Any


@dataclass
class Tally:
    """The result of one piece of work, or of many: `counts` and `peaks` of the work, and all failures.

    `add` sums up `counts`, and keeps the highest value of each of `peaks`. A line of `failures` says what was observed,
    where, and how to reproduce it.
    """

    counts: Counter[str] = field(default_factory=Counter)
    peaks: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.counts.update(other.counts)
        for name, value in other.peaks.items():
            self.peak(name, value)
        self.failures += other.failures

    def peak(self, name: str, value: float) -> None:
        self.peaks[name] = max(value, self.peaks.get(name, value))

    def as_json(self) -> dict[str, Json]:
        return {"counts": dict(self.counts), "peaks": self.peaks, "failures": self.failures}

    @staticmethod
    def from_json(value: dict[str, Json]) -> Tally:
        return Tally(Counter(value["counts"]), dict(value["peaks"]), list(value["failures"]))


@dataclass(frozen=True)
class Piece:
    """One piece of a suite's work, done in a process of its own.

    `item` is the piece's value in the plan. `rng` depends on the suite, the seed and the number of the piece alone.
    `folder` is empty at first and is removed afterwards. `mutant` is the planted fault, "" for none.
    """

    item: Json
    rng: random.Random
    folder: Path
    mutant: str = ""


@dataclass(frozen=True)
class Suite:
    """One suite of the proof.

    `plan(seed, quick)` lists its pieces of work as JSON values, always the same ones for a seed; `work` does one piece.
    `goal` is (the name of a count, the value that the long form has to reach). The quick form must detect each of
    `mutants`. A piece that takes longer than `seconds` counts as hung. `needs` are programs and modules that are not
    installed everywhere: {name to look for: its source, `apt NAME` for a program or `pip NAME` for a module}. `helps`
    are optional ones: the suite also runs without them, and its counts say so.
    """

    name: str
    title: str
    goal: tuple[str, int]
    plan: Callable[[int, bool], Sequence[Json]]
    work: Callable[[Piece], Tally]
    mutants: tuple[str, ...] = ()
    seconds: float = 120.0
    needs: dict[str, str] = field(default_factory=dict)
    helps: dict[str, str] = field(default_factory=dict)
    processes: int = 0

    def rng(self, seed: int, number: int) -> random.Random:
        """Return the random generator of piece `number`."""
        return random.Random(f"{self.name}:{seed}:{number}")
