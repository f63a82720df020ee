"""Another process saves as fast as it can, while calls replace the file."""

from __future__ import annotations

import os

from tests.reliability.suite import Piece, Tally
from tests.reliability.suites.caller import Caller
from tests.reliability.suites.editors.project import SCENES, Ground
from tests.reliability.suites.editors.saves import TOKEN, by_rename

_STATES = ("completed", "pending")


def attempt(piece: Piece, saves: int) -> Tally:
    """Save tasks.json many times, each with one more task, while another process changes the status of its
    first task.
    """
    tally = Tally()
    made = Ground(piece.folder, SCENES[2], saved=False)
    made.reset()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for number in range(saves):
                for step in by_rename(made.path, TOKEN % number):
                    step()
            code = 0
        finally:
            os._exit(code)
    caller, calls = Caller(made.root), 0
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        answer = caller.call("task_update", {"id": 1, "status": _STATES[calls % 2]})
        answer.confirm_delivery()
        calls += 1
        error = answer.result["structuredContent"].get("error", "")
        tally.counts["calls refused"] += bool(error)
        if error and "nothing was changed" not in error:
            tally.failures.append(f"task_update: {error}")
    made.settle()
    texts = made.texts()
    lost = [number for number in range(saves) if TOKEN % number not in texts]
    if lost:
        tally.failures.append(f"of {saves} saves during {calls} calls these are lost: {lost[:20]}")
    tally.counts["saves"] += saves
    tally.counts["saves in a race"] += saves
    return tally
