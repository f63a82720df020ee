"""Outcomes of attempts: success, or one of the failure categories, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Category = Literal[
    "environment",
    "harness-failure",
    "session-failure",
    "blocked",
    "isolation-violation",
    "no-change",
    "no-tests",
    "tests-failing",
    "verifier-rejected",
    "merge-conflict",
    "regression",
    "capability-violation",
    "limit",
]
"""The failure categories. A regression is a new failure of a check on the merged tree."""

JUDGEMENT: frozenset[Category] = frozenset(
    (
        *("blocked", "isolation-violation", "no-change", "no-tests"),
        *("verifier-rejected", "merge-conflict", "regression", "capability-violation"),
    )
)
"""Categories that a person has to judge in the end: when all tiers are used up, the task pauses if an attempt ended
with one of them; otherwise it fails.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an attempt, or of one of its sessions. `category` is None for a success.

    `failures` is the number of failing checks or tests, None for a success and if the number is unknown.
    """

    category: Category | None = None
    reason: str = ""
    failures: int | None = None

    @property
    def ok(self) -> bool:
        """Return whether the outcome is a success."""
        return self.category is None
