"""Compute the possible states after a disturbed call; later calls show which of them is real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nexus_mcp.errors import UNCHANGED
from tests.model.model import Outcome
from tests.reliability.suites.model.possible_state import Possible, Wrote

_SAYS_UNCHANGED = (UNCHANGED, "changed nothing itself")
_SAYS_CHANGED = ("recorded", "did not confirm")


def died(state: Possible, tool: str, given: dict[str, Any]) -> list[Possible]:
    """Return the states after a process died before it answered: the change is complete or absent."""
    _, then, wrote = state.after(tool, given)
    if wrote is None:
        return [state]
    # The call that completes a journal logs its change.
    return [state, *_unanswered(state, then, wrote, [then.log] if wrote.journaled else [then.log, wrote.log])]


def failed(
    state: Possible, tool: str, given: dict[str, Any], content: Any, agrees: Callable[[Outcome], bool]
) -> list[Possible]:
    """Return the states after a call that met a system error; none if its answer is wrong. The answer must be true.

    A line of the operation log may be missing, or torn, so that no change before it can be taken back.
    """
    text = content.get("error", "")
    found = []
    for before in _recovered(state):
        outcome, then, wrote = before.after(tool, given)
        if any(words in text for words in _SAYS_UNCHANGED):
            found.append(before)
        elif wrote is None and agrees(outcome):
            found.append(then)
        elif wrote is not None and agrees(outcome):
            left = _left_receipts(before, then)
            found += [_with(then, receipts, log) for receipts in left for log in _logs(then, wrote)]
        elif wrote is not None and any(words in text for words in _SAYS_CHANGED):
            found += _unanswered(before, then, wrote, _logs(then, wrote))
    return found


def _recovered(state: Possible) -> list[Possible]:
    """Return the state, and those in which the pending change was completed without a line in the operation log."""
    if state.waiting is None:
        return [state]
    return [state, *(_with(state, state.receipts, log) for log in _logs(state, state.waiting)[1:])]


def _unanswered(state: Possible, then: Possible, wrote: Wrote, logs: list[Any]) -> list[Possible]:
    """Return the states in which the change is made or in a journal, with the receipt of a close, if any."""
    kept = [] if wrote.answer is None else [wrote.answer]
    found = [_with(then, [*receipts, *kept], log) for receipts in _left_receipts(state, then) for log in logs]
    for possible in found:
        possible.waiting = wrote if wrote.journaled else None
    return found


def _left_receipts(state: Possible, then: Possible) -> list[list[Any]]:
    """Return the possible receipts after a change of plan or tasks: it removes them, unless it is disturbed before."""
    return [then.receipts] if then.receipts == state.receipts else [then.receipts, state.receipts]


def _logs(then: Possible, wrote: Wrote) -> list[Any]:
    return [then.log, wrote.log, (*wrote.log, None)]


def _with(state: Possible, receipts: list[Any], log: Any) -> Possible:
    other = state.copy()
    other.receipts, other.log = list(receipts), list(log)
    return other
