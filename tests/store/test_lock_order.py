"""Processes that wait for the workspace lock get it in no fixed order, and none starves."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from tests.store.lock_order import HELD, LATER, Turn, describe, take_turns


def test_every_waiting_process_gets_its_turns(tmp_path: Path) -> None:
    """Each process that requests the lock again at once gets all its turns."""
    turns = take_turns(tmp_path, 4, 40, 0)
    assert len(turns) == 160
    assert all(later.began - earlier.began >= HELD for earlier, later in pairwise(turns))


def test_overtaken_turns_are_counted() -> None:
    """A call that came later and got the lock earlier counts as overtaking, unless both came almost at once."""
    first, at_once, later = Turn(3.0, 0.0), Turn(1.0, LATER / 2), Turn(2.0, 0.5)
    turns = sorted([first, at_once, later])
    assert [turn.passed_by(turns[:number]) for number, turn in enumerate(turns)] == [0, 0, 1]
    assert describe(turns).startswith("3 turns; wait in ms: median 1500.0, ")
    assert describe(turns).endswith("overtaken by later requests: 33 % of the turns, by at most 1")
