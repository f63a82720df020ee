"""Swap folders for links while artifacts are written: nothing may ever be written outside of `.nexus`.

steps.py swaps between any two system calls, so that every place is covered; swaps.py lets a second process swap as fast
as it can. Both use project.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.reliability.suite import Piece, Suite, Tally
from tests.reliability.suites.races import steps, swaps
from tests.reliability.suites.races.project import NAMES

_BATCH = 20_000
_BATCHES = 100
_WITH_RENAMES = 10  # one piece in 10 uses renames, as on systems without an exchange of names


def plan(seed: int, quick: bool) -> Sequence[Any]:
    """Return pieces ["stepped", artifact, part, parts, every pair of places] or ["raced", kind of swap, attempts]."""
    if quick:
        return [["stepped", NAMES[1], part, 4, False] for part in range(4)] + [["raced", "exchange", 300]]
    parts = [["stepped", name, part, 10, True] for name in NAMES for part in range(10)]
    kinds = ["exchange" if number % _WITH_RENAMES else "renames" for number in range(_BATCHES)]
    return parts + [["raced", kind, _BATCH] for kind in kinds]


def work(piece: Piece) -> Tally:
    kind, *rest = piece.item
    return steps.attempt(piece, *rest) if kind == "stepped" else swaps.attempt(piece, *rest)


SUITE = Suite(
    name="races",
    title="links swapped in while artifacts are written",
    goal=("writes tried", 2_000_000),
    plan=plan,
    work=work,
    mutants=("checked-by-path", "follows-links", "by-path"),
    processes=1,
)
