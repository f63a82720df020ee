"""Suite 5: the answers of several processes at once, some of them killed, could be those of one sequential process.

The seed determines the calls and the deaths. The order of the processes depends on the machine, so a random history
cannot be repeated, and a failure prints the whole history. A history with a death or a stall at a chosen point can be
repeated. The checker is tested with histories that are recorded without the lock: it has to reject them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.reliability import long
from tests.reliability.suite import Json, Piece, Suite, Tally
from tests.reliability.suites.linearizable.pieces import by_chance, deaths, stalls, unlocked, unlocked_stalls

_HISTORIES = 1000
_CONTROLS = 200
_LONG_HISTORIES = 300  # recorded histories whose history.json counts as long
_A_PIECE = 10
_CHANGES = ("task_add", "task_close", "plan_start", "task_update")
_SEARCHED = ("task_close", "plan_start", "history_search")
_DYING = (*_CHANGES, "task_close", "task_list", "history_search", "task_close")
_KINDS = {
    "chance": by_chance,
    "unlocked": unlocked,
    "deaths": deaths,
    "stalls": stalls,
    "unlocked stalls": unlocked_stalls,
}


def plan(seed: int, quick: bool) -> Sequence[Json]:
    """Return the pieces: deaths and stalls at each point, random histories, and controls without the lock."""
    adding = _stall(["task_list", "task_add", "task_list"], ["task_add"], step=3)
    recovering = _stall(
        ["task_list", "history_search"], ["task_add", "task_list"], step=2, died=["task_add", "task_close"]
    )
    if quick:
        return [
            adding,
            recovering,
            {"kind": "deaths", "tools": ["task_add", "task_close", "task_close", "task_close"]},
            {**adding, "kind": "unlocked stalls"},
            {"kind": "chance", "histories": 6},
            {"kind": "unlocked", "histories": 6},
            {"kind": "deaths", "tools": ["task_close", "history_search"], "long": long.AS_IT_IS},
            {"kind": "chance", "histories": 2, "long": long.AS_IT_IS},
        ]
    return [
        {"kind": "deaths", "tools": _DYING},
        {"kind": "deaths", "tools": _DYING, "long": long.AS_IT_IS},
        *(
            {**_stall([first, "history_search"], [second, "history_search"]), "long": long.AS_IT_IS}
            for first in _SEARCHED
            for second in _SEARCHED
        ),
        *(
            _stall(["plan_start", "task_add", first, "history_search"], [second, "task_list", "plan_status"])
            for first in _CHANGES
            for second in _CHANGES
        ),
        *(
            _stall([first, "history_search"], [second, "task_list", "plan_status"], died=[opened, died])
            for first in ("task_list", "plan_status", "task_close")
            for second in _CHANGES
            for opened, died in (("task_add", "task_close"), ("plan_start", "plan_start"))
        ),
        {**adding, "kind": "unlocked stalls"},
        *[{"kind": "chance", "histories": _A_PIECE}] * (_HISTORIES // _A_PIECE),
        *[{"kind": "chance", "histories": _A_PIECE, "long": long.AS_IT_IS}] * (_LONG_HISTORIES // _A_PIECE),
        *[{"kind": "unlocked", "histories": _A_PIECE}] * (_CONTROLS // _A_PIECE),
    ]


def work(piece: Piece) -> Tally:
    """Run one piece."""
    return _KINDS[piece.item["kind"]](piece)


def _stall(first: Sequence[str], second: Sequence[str], step: int = 1, died: Sequence[str] = ()) -> Json:
    return {"kind": "stalls", "first": first, "second": second, "step": step, "died": died}


SUITE = Suite(
    name="linearizable",
    title="recorded histories of 4 processes with kills among them, against one that does everything in some order",
    goal=("histories of 4 processes", _HISTORIES),
    plan=plan,
    work=work,
    mutants=(
        "no-lock",
        "late-lock",
        "recovers-unlocked",
        "stale-read",
        "same-size",
        "never-again",
        "row-too-many",
        "no-recovery",
        "answer-forgotten",
        "answer-kept",
        "redone",
    ),
)
