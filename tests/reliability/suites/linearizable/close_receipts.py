"""Model the receipts of closes whose process died before it answered, as docs/reliability.md promises them.

The next close that finds nothing open returns such an answer, once, and adds no cycle. A change in between drops the
receipt, because the client has continued. Only receipts of dead processes count. Of a death only bounds are known: if
it may have been before or after a call, both are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, combinations

from tests.reliability.suites.linearizable.history import Death, Op

# Pairs: the number of a cycle whose receipt is kept, and the process that archived it.
Kept = frozenset[tuple[int, int]]
Deaths = Mapping[int, Death]


def left(number: int, op: Op) -> Iterable[Kept]:
    """Return the receipts that a close which added cycle `number`, or took over its answer, may leave behind."""
    if op.answer is None:
        return [frozenset({(number, op.process)})]
    if op.is_last:
        # The process was killed after its answer, perhaps before it could remove the receipt.
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
            yield kept  # the process died before it dropped the receipts


def _dead(kept: Kept, op: Op, deaths: Deaths) -> Iterator[Kept]:
    """Yield each possible set of receipts whose process was dead when `op` read them."""
    sure = frozenset(pair for pair in kept if deaths[pair[1]].gone < op.began)
    unsure = [pair for pair in kept - sure if deaths[pair[1]].earliest <= op.ended]
    subsets = chain.from_iterable(combinations(unsure, size) for size in range(len(unsure) + 1))
    return (sure | frozenset(subset) for subset in subsets)
