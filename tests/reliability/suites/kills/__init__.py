"""Suite 3: servers are killed at random moments, under the load of several clients on one project.

The seed determines the calls and the times of the kills. The progress of a process at a kill depends on the machine, so
a run cannot be repeated exactly. The pieces `deaths` and `stalls` have no random moments, and can.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.reliability import long
from tests.reliability.suite import Json, Piece, Suite, Tally
from tests.reliability.suites.kills.bursts import burst
from tests.reliability.suites.kills.deaths import deaths
from tests.reliability.suites.kills.stalls import stalls

_KILLS = 10_000
_A_BURST = 50
_CHANGES = ("task_close", "task_add", "plan_start", "artifact_write")
_KINDS = {"burst": burst, "deaths": deaths, "stalls": stalls}


def plan(seed: int, quick: bool) -> Sequence[Json]:
    """Return the pieces: deaths and stalls at each point of calls that change files, then bursts of random kills."""
    if quick:
        return [
            _deaths("task_close", calls="changing"),
            _deaths("artifact_write", "task_add", calls="changing", half=True),
            _deaths("plan_start", "task_update", calls="changing"),
            _stalls("task_add", "task_add", step=3),
            _deaths("history_search", "task_close", calls="changing", half=True, longer=True),
            {"kind": "burst", "kills": 12, "clients": 3, "programs": 0, "load": "mixed"},
            {"kind": "burst", "kills": 12, "clients": 3, "programs": 0, "load": "closing"},
            {"kind": "burst", "kills": 2, "clients": 2, "programs": 1, "load": "mixed"},
            _stalls("task_close", "task_close", calls="locking"),
        ]
    return [
        *(_deaths(tool, calls="all", half=half) for tool in (*_CHANGES, "plan_decide") for half in (False, True)),
        *(_deaths(tool, "task_close", calls="all") for tool in _CHANGES),
        *(
            _deaths("history_search", tool, calls="all", half=half, longer=True)
            for tool in ("task_close", "plan_start")
            for half in (False, True)
        ),
        *(_stalls(first, second, kill=kill) for first in _CHANGES for second in _CHANGES for kill in (False, True)),
        *(_burst(number) for number in range(_KILLS // _A_BURST)),
    ]


def work(piece: Piece) -> Tally:
    """Run one piece."""
    return _KINDS[piece.item["kind"]](piece)


def _deaths(*tools: str, calls: str, half: bool = False, longer: bool = False) -> Json:
    """Return a piece of deaths; with `longer` the history counts as a long one."""
    piece = {"kind": "deaths", "tools": tools, "calls": calls, "half": half}
    return {**piece, "long": long.AS_IT_IS} if longer else piece


def _stalls(first: str, second: str, *, step: int = 1, calls: str = "all", kill: bool = False) -> Json:
    return {"kind": "stalls", "tools": [first, second], "step": step, "calls": calls, "kill": kill}


def _burst(number: int) -> Json:
    """Return a burst. Most have only forked servers; a few have only programs, or one program among the forks."""
    clients = 2 + number % 4
    programs = {0: clients, 8: 1}.get(number % 16, 0)
    load = "closing" if number % 3 == 2 else "mixed"
    piece = {"kind": "burst", "kills": _A_BURST, "clients": clients, "programs": programs, "load": load}
    return {**piece, "long": long.AS_IT_IS} if number % 4 == 1 else piece  # none of these has programs


SUITE = Suite(
    name="kills",
    title="random SIGKILLs of servers under the load of several clients",
    goal=("random SIGKILLs", _KILLS),
    plan=plan,
    work=work,
    mutants=(
        "no-lock",
        "late-lock",
        "in-place",
        "no-journal",
        "unlink-before-archive",
        "no-recovery",
        "wrong-order",
        "answer-first",
        "answer-forgotten",
        "answer-kept",
        "redone",
        "no-sweep",
    ),
)
