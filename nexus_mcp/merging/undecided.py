"""What this part says instead of guessing."""

from __future__ import annotations


class Undecided(Exception):
    """There is no one right result, so none is made. `reason` says why, in words that end a sentence; no contents.

    `next_step` is a sentence, "" where the one of the caller is right.
    """

    def __init__(self, reason: str, next_step: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.next_step = next_step
