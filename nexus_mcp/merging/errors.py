"""The error of merging and repairing."""

from __future__ import annotations


class Undecided(Exception):
    """The merge has no single right result, so it has none.

    `reason` ends a sentence and quotes no file content. `next_step` is a sentence, "" when the caller's applies.
    """

    def __init__(self, reason: str, next_step: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.next_step = next_step
