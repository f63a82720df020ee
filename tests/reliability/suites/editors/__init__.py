"""Editors that save a file while a call replaces it: no completed save may be lost.

steps.py saves between any two system calls, and kills some processes later in the same call; races.py lets another
process save as fast as it can. saves.py has the ways to save, project.py the projects and calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.reliability.suite import Piece, Suite, Tally
from tests.reliability.suites.editors import races, steps
from tests.reliability.suites.editors.project import SCENES
from tests.reliability.suites.editors.saves import WAYS

_RACES, _RACED = 20, 500


def plan(seed: int, quick: bool) -> Sequence[Any]:
    """Return ["stepped", scene, way, stride of the places, calls with a death or second save] or ["raced", saves]."""
    scenes = range(len(SCENES))
    if quick:
        return [["stepped", scene, way, 8, 2] for scene in scenes for way in WAYS] + [["raced", 40]]
    return [["stepped", scene, way, 1, 60] for scene in scenes for way in WAYS] + [["raced", _RACED]] * _RACES


def work(piece: Piece) -> Tally:
    kind, *rest = piece.item
    return steps.attempt(piece, *rest) if kind == "stepped" else races.attempt(piece, *rest)


SUITE = Suite(
    name="editors",
    title="editors that save a file while a call replaces it",
    goal=("saves", 20_000),
    plan=plan,
    work=work,
    mutants=("out-unseen", "renamed-over", "told-by-times", "placed-over", "save-swept", "save-dropped"),
)
