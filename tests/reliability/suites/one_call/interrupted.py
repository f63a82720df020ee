"""Make the leftovers of killed calls: the next call is disturbed there, so that recovery is tested, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.reliability.suites.one_call.model import Heard, Model, Outcome
from tests.reliability.suites.one_call.points import Case
from tests.reliability.suites.one_call.scenarios import (
    JOURNAL,
    NOW,
    RECEIPT,
    Tree,
    files_of,
    is_temporary,
    tree,
    tree_of,
)
from tests.reliability.suites.one_call.simulated import Played

_STATE = "all there"
_UNDONE = "temporary files"

LEFT: dict[str, Callable[[Tree], bool]] = {
    _UNDONE: lambda left: JOURNAL not in left and any(map(is_temporary, left)),
    "a journal": lambda left: JOURNAL in left,
    "a journal half applied": lambda left: JOURNAL in left and "state/plan.json" not in left,
    "an answer": lambda left: any(path.startswith(RECEIPT) for path in left),
}
"""Name of a state → a function that returns whether the files that a killed task_close left are in this state."""


def interrupted(root: Path, model: Model, name: str) -> tuple[Tree, list[Outcome]]:
    """Return (the content of `.nexus`, the possible outcomes) after a killed task_close that left the state `name`."""
    case = Case(root, tree_of(_STATE), "task_close", NOW)
    before = Outcome(files_of(case.start))
    lever = Played()
    for point in lever.kill_points(case):
        lever.kill(case, point)
        left = tree(root)
        if LEFT[name](left):
            return left, [before] if name == _UNDONE else model.after([before], case.tool, case.at, Heard.RECORDED)
    raise RuntimeError(f"no death of task_close leaves {name}")
