"""The answers of closes that a process died before sending, as docs/reliability.md promises them.

Such an answer is kept, and the next close that finds nothing open gives it instead of adding a cycle: once. A change
that was made in between drops it, because its client went on. Only answers of dead processes count, and of a death we
know bounds alone: where it may have been before or after, both are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, combinations

from tests.reliability.suites.linearizable.history import Death, Op

# Pairs: the number of a cycle whose answer is kept, and the process that was to give it.
Kept = frozenset[tuple[int, int]]
Deaths = Mapping[int, Death]


def left(number: int, op: Op) -> Iterable[Kept]:
    """Return the receipts that a close which added cycle `number`, or took over its answer, may leave behind."""
    if op.answer is None:
        return [frozenset({(number, op.process)})]
    if op.is_last:
        # Killed after it had answered: perhaps before it could note that.
        return [frozenset(), frozenset({(number, op.process)})]
    return [frozenset()]


def given(kept: Kept, op: Op, deaths: Deaths) -> Iterator[tuple[int, Kept]]:
    """Return (number of the cycle, the receipts that remain) for each answer that a close may return when nothing is
    open.
    """
    for dead in _dead(kept, op, deaths):
        if dead:
            number, _ = max(dead)
            for own in left(number, op):
                yield number, (kept - dead) | own


def forgotten(kept: Kept, op: Op, deaths: Deaths) -> Iterator[Kept]:
    """Return the receipts that may remain after a change."""
    for dead in _dead(kept, op, deaths):
        yield kept - dead
        if op.answer is None and dead:
            yield kept  # it died before it came to that


def _dead(kept: Kept, op: Op, deaths: Deaths) -> Iterator[Kept]:
    """Those of `kept` whose process was dead when `op` looked, in every way that is possible."""
    sure = frozenset(pair for pair in kept if deaths[pair[1]].gone < op.began)
    unsure = [pair for pair in kept - sure if deaths[pair[1]].earliest <= op.ended]
    subsets = chain.from_iterable(combinations(unsure, size) for size in range(len(unsure) + 1))
    return (sure | frozenset(subset) for subset in subsets)
