"""Points in time as the contract writes them: ISO 8601, UTC, milliseconds, `Z`."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set

_FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
LAST = "9999-12-31T23:59:59.999Z"
"""The last possible stamp, for a clock after the year 9999; doctor reports it as a time in the future."""
_SECOND = len("2026-01-31T08:15:00.")
_MS = 1000


def stamp(seconds: float) -> str:
    """Return `2026-01-31T08:15:00.123Z` for seconds since 1970, rounded to microseconds and then down to milliseconds.

    A time outside the years 1 to 9999 becomes the first or last possible one, and NaN becomes 1970: a broken clock must
    not keep a hook from recording an agent, or a tool from saving a change.
    """
    whole, rest = divmod(_milliseconds(seconds), 1000)
    year, month, day, hour, minute, second = time.gmtime(whole)[:6]
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{rest:03d}Z"


def _milliseconds(seconds: float) -> int:
    try:
        # Compute in microseconds: 1.001 * 1000 is just below 1001.
        return max(_FIRST_MS, min(LAST_MS, round(seconds * 1_000_000) // 1000))
    except OverflowError:  # infinity
        return LAST_MS if seconds > 0 else _FIRST_MS
    except ValueError:  # NaN
        return 0


def next_after(text: str) -> str | None:
    """Return the stamp one millisecond after the ISO 8601 time `text`.

    Return None if `text` is no such time, or has no time zone, or if the result would be outside the years 1 to 9999.
    """
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return None
        moment = moment.astimezone(UTC) + timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        return None
    # %Y would drop the leading zeros of early years, but stamps are compared as text.
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def first_free(text: str, taken: Set[bytes]) -> str:
    """Return the first stamp from `text` on that is not in `taken` (ASCII texts); `text` itself if there is none.

    A second whose milliseconds are all taken is skipped in one step, so a million taken stamps do not need a million
    steps.
    """
    from collections import Counter

    used = Counter(stamp[:_SECOND] for stamp in taken if stamp[_SECOND:-1].isdigit() and stamp[-1:] == b"Z")
    moment = text
    while moment.encode() in taken:
        second = moment[:_SECOND]
        following = next_after(f"{second}999Z" if used[second.encode()] == _MS else moment)
        if following is None:
            return text
        moment = following
    return moment
