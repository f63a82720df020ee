"""How long a call waits for others: for whoever has the lock, and for the programs that it asks."""

from __future__ import annotations

import time


class Patience:
    """`seconds` for each wait for the lock; with `in_all` for all that the call waits for together, from now on."""

    __slots__ = ("_end", "seconds")

    def __init__(self, seconds: float, *, in_all: bool = False) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds if in_all else None

    def left(self, most: float | None = None) -> float:
        """How many seconds a wait may take now; `most` is for one that is not for the lock."""
        wanted = self.seconds if most is None else most
        return wanted if self._end is None else max(0.0, min(wanted, self._end - time.monotonic()))
