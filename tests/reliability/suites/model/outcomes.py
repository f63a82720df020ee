"""The possible states after a disturbed call: a list, from which later calls remove all but one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nexus_mcp.errors import UNCHANGED
from tests.model.model import Outcome
from tests.reliability.suites.model.possible_state import Possible, Wrote

_SAYS_UNCHANGED = (UNCHANGED, "changed nothing itself")
_SAYS_CHANGED = ("recorded", "did not confirm")


def died(state: Possible, tool: str, given: dict[str, Any]) -> list[Possible]:
    """The process died before it answered: nothing of it is done, or all of it."""
    _, then, wrote = state.after(tool, given)
    if wrote is None:
        return [state]
    # The call that completes a journal logs its change.
    return [state, *_unanswered(state, then, wrote, [then.log] if wrote.journaled else [then.log, wrote.log])]


def failed(
    state: Possible, tool: str, given: dict[str, Any], content: Any, agrees: Callable[[Outcome], bool]
) -> list[Possible]:
    """The system refused something on the way: what the answer says of it is so. None when it says what cannot be.

    A line of the operation log may be missing, or torn, so that nothing before it can be taken back.
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
            left = _left_markers(before, then)
            found += [_with(then, markers, log) for markers in left for log in _logs(then, wrote)]
        elif wrote is not None and any(words in text for words in _SAYS_CHANGED):
            found += _unanswered(before, then, wrote, _logs(then, wrote))
    return found


def _recovered(state: Possible) -> list[Possible]:
    """The state, and those in which the change that waited was completed without a line in the operation log."""
    if state.waiting is None:
        return [state]
    return [state, *(_with(state, state.markers, log) for log in _logs(state, state.waiting)[1:])]


def _unanswered(state: Possible, then: Possible, wrote: Wrote, logs: list[Any]) -> list[Possible]:
    """The change is made, or a journal has it; its stored answer, if any, waits for a repeated call."""
    kept = [] if wrote.answer is None else [wrote.answer]
    found = [_with(then, [*markers, *kept], log) for markers in _left_markers(state, then) for log in logs]
    for possible in found:
        possible.waiting = wrote if wrote.journaled else None
    return found


def _left_markers(state: Possible, then: Possible) -> list[list[Any]]:
    """A change of plan or tasks removes unrequested answers, unless it is disturbed before that."""
    return [then.markers] if then.markers == state.markers else [then.markers, state.markers]


def _logs(then: Possible, wrote: Wrote) -> list[Any]:
    return [then.log, wrote.log, (*wrote.log, None)]


def _with(state: Possible, markers: list[Any], log: Any) -> Possible:
    other = state.copy()
    other.markers, other.log = list(markers), list(log)
    return other
