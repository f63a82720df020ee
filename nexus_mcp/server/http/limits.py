"""The limits of a server over HTTP, and the counters that keep them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
EXPOSED_RATE = 1200
"""Requests a minute that each token has on a server for other machines, unless --rate says otherwise."""
_LEAST_BURST = 10
_BURST_S = 10
_MOST_BUCKETS = 10_000
"""Buckets above which those are dropped that are full again: an issuer of OAuth may know any number of clients."""


@dataclass(frozen=True)
class Limits:
    """Bounds on what clients can take. Sizes are in bytes, times in seconds; `rate` is in requests a minute for each
    token, 0 without a limit. `bodies` is for all bodies together that are read at a time.
    """

    body: int = 4 * MIB
    bodies: int = 64 * MIB
    connections: int = 2000
    requests: int = 1500
    sessions: int = 1000
    rate: int = 0
    head_s: float = 10.0
    body_s: float = 30.0
    write_s: float = 30.0
    session_idle_s: float = 30 * 60.0


def share(number: int) -> int:
    """Return how many of a number of things one token may have: half of them, so that it cannot lock out the others."""
    return max(1, number // 2)


class Rates:
    """A bucket of requests for each token: it holds those of ten seconds, and fills steadily."""

    def __init__(self, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / 60
        self._most = max(_LEAST_BURST, self._per_second * _BURST_S)
        self._now = now
        self._left: dict[str, tuple[float, float]] = {}

    def wait_s(self, token: str) -> float:
        """Count a request; return 0.0, or the seconds after which the token may send the next one."""
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


class Room:
    """A number of bytes that several holders share; none of them gets more than half."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._share = share(size)
        self._held: dict[str, int] = {}

    @property
    def left(self) -> int:
        """Return the number of free bytes."""
        return self._left

    def take(self, holder: str, size: int) -> bool:
        """Take bytes; return False, and take none, if they are not free or more than the holder's share."""
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
