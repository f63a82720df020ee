"""Interleave and kill the hooks of two sessions at their system calls: each agent keeps the restrictions of its name.

steps.py runs the hooks in turns, scripts.py has the events of the sessions, and rules.py the facts that hold at any
moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.reliability.suite import Piece, Suite, Tally
from tests.reliability.suites.sessions import scripts

_BATCH, _BATCHES = 50, 202
_QUICK = ((16, True), (10, False), (10, False))


def plan(seed: int, quick: bool) -> Sequence[Any]:
    """Return pieces: the number of interleavings, and whether the extension file is renamed at every turn."""
    return _QUICK if quick else [(_BATCH, False)] * _BATCHES


def work(piece: Piece) -> Tally:
    times, renamed = piece.item
    return scripts.play(piece.folder, piece.rng, times, renamed=renamed)


SUITE = Suite(
    name="sessions",
    title="the hooks of two sessions of one harness, interleaved and killed",
    goal=("interleavings", 10_000),
    plan=plan,
    work=work,
    mutants=(
        "one-session",
        "unknown-allowed",
        "spawn-forgotten",
        "rename-unseen",
        "renamed-forgotten",
        "counted-twice",
        "owners-lost",
        "beside-afterwards",
    ),
    seconds=300.0,
)
