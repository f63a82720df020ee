"""Match the regular expressions of fixtures, in a helper process and with a deadline (docs/decisions/0071).

`re` has no way to stop: `^(a+)+$` against forty letters takes years, and neither a signal nor a thread ends it.
"""

from __future__ import annotations

import functools
import os
from contextvars import ContextVar
from typing import Any

from nexus_mcp.conformance.processes import helper, pattern_worker
from nexus_mcp.errors import HarnessFault

MOST_S = 10.0
"""Seconds of computing for the patterns of one run of a fixture."""
LEAST_S = 1.0
"""Seconds that they get however short --timeout is, so that a match that takes no time never fails."""

_helpers = helper.Helpers(os.path.abspath(pattern_worker.__file__))


class Unmatched(Exception):
    """Whether the pattern is in the text could not be found out; the text says why, after "the pattern"."""


class Budget:
    """The computing time that is left for the patterns of one run of a fixture."""

    def __init__(self, seconds: float) -> None:
        self.seconds = min(MOST_S, max(LEAST_S, seconds))
        self.left = self.seconds


budget: ContextVar[Budget | None] = ContextVar("budget", default=None)
"""That of the fixture at work; without one, each match has MOST_S."""


@functools.cache
def fault(pattern: str) -> str:
    """Return what is wrong with a pattern, "" when it can be used."""
    try:
        return str(_ask({"pattern": pattern}, MOST_S)["fault"])
    except helper.TooSlow:
        return f"it takes more than {MOST_S:g} s to read"


def found(pattern: str, text: str) -> bool:
    """Return whether `pattern` is in `text`, as `re.search` means it. Raises Unmatched, HarnessFault and Halted."""
    ours = budget.get() or Budget(MOST_S)
    if ours.left <= 0:
        raise Unmatched(f"was not tried: the patterns of this fixture took more than {ours.seconds:g} s before it")
    try:
        answer = _ask({"pattern": pattern, "text": text}, ours.left)
    except helper.TooSlow:
        ours.left = 0
        raise Unmatched(f"takes more than {ours.seconds:g} s to match") from None
    ours.left -= answer["took"]
    if answer["fault"]:
        raise Unmatched(f"cannot be matched: {answer['fault']}")
    return bool(answer["found"])


def _ask(request: dict[str, str], seconds: float) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = _helpers.ask(request, seconds)
    except helper.HelperEnded as ended:
        raise HarnessFault(
            [f"A pattern could not be matched: the process that matches it ended by itself, with {ended}."],
            next_step="Run it again; if it stays so, please report it.",
        ) from None
    return answer
