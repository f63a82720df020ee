"""What this part says instead of guessing."""

from __future__ import annotations


class Undecided(Exception):
    """There is no one right result, so none is made. `reason` says why, in words that end a sentence; no contents."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
