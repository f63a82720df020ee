"""Decide what counts as a regression. All functions are pure.

A row's ratio is our time divided by the time of a reference that does not change with our code, measured in the same
round: a slower machine slows both.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

LIMIT = 1.3
RECORDINGS = 3  # measurements for a record, each on new servers, because two servers of the same code differ
AGAIN = 3  # measure a row that seems slower again with 3 times as many rounds: the machine may have been busy

# Row → (our time, the time of the reference) of each round, in any unit.
Pairs = Mapping[str, Sequence[tuple[float, float]]]
Measure = Callable[[frozenset[str], int], Pairs]


@dataclass(frozen=True)
class Verdict:
    """`seen` and `recorded` are ratios; `recorded` is None for a row that was never recorded."""

    row: str
    seen: float
    recorded: float | None

    @property
    def times(self) -> float:
        return self.seen / self.recorded if self.recorded else float("inf")

    @property
    def slower(self) -> bool:
        return self.times > LIMIT


def ratios(pairs: Pairs) -> dict[str, float]:
    """Return row → the median of the ratios of all rounds."""
    return {row: statistics.median(ours / other for ours, other in values) for row, values in pairs.items()}


def record(measure: Measure, rows: frozenset[str], rounds: int) -> dict[str, float]:
    """Return row → the ratio to record: the median of RECORDINGS measurements."""
    seen = [ratios(measure(rows, rounds)) for _ in range(RECORDINGS)]
    return {row: round(statistics.median(one[row] for one in seen), 4) for row in rows}


def check(measure: Measure, recorded: Mapping[str, float], rows: frozenset[str], rounds: int) -> list[Verdict]:
    """Return a verdict for each row. A row that seems slower is measured again with more rounds; then its lower ratio
    counts.
    """
    seen = ratios(measure(rows, rounds))
    doubtful = frozenset(row for row in rows if row in recorded and seen[row] > LIMIT * recorded[row])
    if doubtful:
        again = ratios(measure(doubtful, AGAIN * rounds))
        seen |= {row: min(seen[row], again[row]) for row in doubtful}
    return [Verdict(row, seen[row], recorded.get(row)) for row in sorted(rows)]
