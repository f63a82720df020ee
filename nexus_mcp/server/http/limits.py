"""The limits of a server over HTTP, and the counters that enforce them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
EXPOSED_RATE = 1200
"""Requests a minute for each token on a server that other machines can call, if --rate is absent."""
_LEAST_BURST = 10
_PAUSE_S = 60.0
"""Minimum seconds between two log lines of the same kind."""
_BURST_S = 10
_MOST_BUCKETS = 10_000
"""When there are this many buckets, the full ones are dropped: an OAuth issuer may have any number of clients."""


@dataclass(frozen=True)
class Limits:
    """Limits for clients. Sizes are in bytes, times in seconds. `rate` is in requests a minute for each token, 0 for no
    limit. `bodies` bounds the sum of all bodies in memory, `unread` the sum of all responses that clients have not
    read.
    """

    body: int = 4 * MIB
    bodies: int = 64 * MIB
    unread: int = 256 * MIB
    connections: int = 2000
    requests: int = 1500
    sessions: int = 1000
    rate: int = 0
    head_s: float = 10.0
    body_s: float = 30.0
    write_s: float = 30.0
    session_idle_s: float = 30 * 60.0


def share(number: int) -> int:
    """Return the share of one token in a limit: half of it, at least 1. So no token can lock out the others."""
    return max(1, number // 2)


class Rates:
    """A bucket of allowed requests for each token: it holds those of ten seconds, at least ten, and fills steadily."""

    def __init__(self, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / 60
        self._most = max(_LEAST_BURST, self._per_second * _BURST_S)
        self._now = now
        self._left: dict[str, tuple[float, float]] = {}

    def wait_s(self, token: str) -> float:
        """Count a request and return 0.0 if it is allowed, else return the seconds until the token may send one."""
        if not self._per_second:
            return 0.0
        now = self._now()
        if len(self._left) >= _MOST_BUCKETS:
            self._left = {key: one for key, one in self._left.items() if (now - one[1]) * self._per_second < self._most}
        left, since = self._left.get(token, (self._most, now))
        left = min(self._most, left + (now - since) * self._per_second)
        if left < 1:
            self._left[token] = (left, now)
            return (1 - left) / self._per_second
        self._left[token] = (left - 1, now)
        return 0.0

    def forget(self, token: str) -> None:
        """Drop the bucket of a token that was revoked."""
        self._left.pop(token, None)


class Throttle:
    """Log the lines that clients cause, each kind at most once a minute, so that strangers cannot fill a disk.

    `kind` is one of a few fixed words.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._last: dict[str, float] = {}

    def log(self, write: Callable[[str], None], kind: str, text: str) -> None:
        """Log the text, unless one of its kind was logged within the last minute."""
        now = self._now()
        if now - self._last.get(kind, -_PAUSE_S) >= _PAUSE_S:
            self._last[kind] = now
            write(text)


class Room:
    """A number of bytes that several holders share; none of them gets more than half."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._share = share(size)
        self._held: dict[str, int] = {}

    @property
    def free_bytes(self) -> int:
        """Return the number of free bytes."""
        return self._left

    def take(self, holder: str, size: int) -> bool:
        """Take bytes. Return False and take none if too few are free or the holder's share is exceeded."""
        held = self._held.get(holder, 0) + size
        if size > self._left or held > self._share:
            return False
        self._left -= size
        self._held[holder] = held
        return True

    def give_back(self, holder: str, size: int) -> None:
        """Free bytes of a holder."""
        self._left += size
        self._held[holder] = self._held.get(holder, 0) - size
        if self._held[holder] <= 0:
            del self._held[holder]
