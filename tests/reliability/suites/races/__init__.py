"""Links swapped in while artifacts are written: nothing may ever come to be outside of `.nexus`.

stepped.py swaps between any two calls of the operating system, so that nothing is left to chance; raced.py lets a
second process swap as fast as it can. Both stand on ground.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.reliability.suite import Piece, Suite, Tally
from tests.reliability.suites.races import raced, stepped
from tests.reliability.suites.races.ground import NAMES

_BATCH = 20_000
_BATCHES = 100
_WITH_RENAMES = 10  # one in so many without an exchange of names, for systems that have none


def plan(seed: int, quick: bool) -> Sequence[Any]:
    """["stepped", artifact, part, parts, every pair of places], or ["raced", how names are swapped, attempts]."""
    if quick:
        return [["stepped", NAMES[1], part, 4, False] for part in range(4)] + [["raced", "exchange", 300]]
    parts = [["stepped", name, part, 10, True] for name in NAMES for part in range(10)]
    kinds = ["exchange" if number % _WITH_RENAMES else "renames" for number in range(_BATCHES)]
    return parts + [["raced", kind, _BATCH] for kind in kinds]


def work(piece: Piece) -> Tally:
    kind, *rest = piece.item
    return stepped.attempt(piece, *rest) if kind == "stepped" else raced.attempt(piece, *rest)


SUITE = Suite(
    name="races",
    title="links swapped in while artifacts are written",
    goal=("attempts", 2_000_000),
    plan=plan,
    work=work,
    mutants=("checked-by-path", "follows-links", "by-path"),
    processes=1,
)
