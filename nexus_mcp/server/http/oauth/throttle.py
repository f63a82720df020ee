"""Log the lines that clients cause, each kind at most once a minute, so that strangers cannot fill a disk."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PAUSE_S = 60.0


class Throttle:
    """Limits log lines of each kind. `kind` is one of a few fixed words."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._last: dict[str, float] = {}

    def log(self, write: Callable[[str], None], kind: str, text: str) -> None:
        """Log the text, unless one of its kind was logged within the last minute."""
        now = self._now()
        if now - self._last.get(kind, -_PAUSE_S) >= _PAUSE_S:
            self._last[kind] = now
            write(text)
