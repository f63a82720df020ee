"""Match the regular expressions of fixtures in a helper process with a deadline (docs/decisions/0071).

`re` cannot be stopped: `^(a+)+$` against forty letters takes years, and neither a signal nor a thread ends it.
"""

from __future__ import annotations

import functools
import os
from contextvars import ContextVar
from typing import Any

from nexus_mcp.conformance.processes import helper, pattern_worker
from nexus_mcp.errors import HarnessFault

MOST_S = 10.0
"""Seconds of computing time for the patterns of one run of a fixture."""
LEAST_S = 1.0
"""Seconds that patterns get even with a short --timeout, so that a simple match never fails."""

_helpers = helper.Helpers(os.path.abspath(pattern_worker.__file__))

budget: ContextVar[Budget | None] = ContextVar("budget", default=None)
"""The budget of the running fixture; without one, each match has MOST_S."""


class Unmatched(Exception):
    """The pattern could not be matched; the message says why, after "the pattern"."""


class Budget:
    """The computing time left for the patterns of one run of a fixture."""

    def __init__(self, seconds: float) -> None:
        self.seconds = min(MOST_S, max(LEAST_S, seconds))
        self.left = self.seconds


@functools.cache
def find_fault(pattern: str) -> str:
    """Return what is wrong with a pattern, "" when it can be used."""
    try:
        return str(_ask({"pattern": pattern}, MOST_S)["fault"])
    except helper.TooSlow:
        return f"it takes more than {MOST_S:g} s to read"


def search(pattern: str, text: str) -> bool:
    """Return whether `pattern` matches anywhere in `text`, as `re.search` does.

    Raises Unmatched, HarnessFault and Halted.
    """
    ours = budget.get() or Budget(MOST_S)
    if ours.left <= 0:
        raise Unmatched(f"was not matched: earlier patterns of this fixture took more than {ours.seconds:g} s")
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
        answer: dict[str, Any] = _helpers.request(request, seconds)
    except helper.HelperEnded as ended:
        raise HarnessFault(
            [f"A pattern could not be matched: the process that matches it ended unexpectedly, with {ended}."],
            next_step="Run it again; if it happens again, please report it.",
        ) from None
    return answer
