"""Parse points in time that a user types, such as `7d`, `12h` or `2026-11-03T14:00`, and describe the age of stamps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from nexus_mcp.errors import UsageError
from nexus_mcp.state import times

EXAMPLES = "7d, 12h, 2w, 2026-11-03 or 2026-11-03T14:00"
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_MOST_DIGITS = 6


def since(text: str, now: float, source: str = "--since") -> str:
    """Return the stamp of the point in time that `text` spells. `now` is in seconds since 1970.

    `7d` is seven days before now. A date without a time is its first moment; a time without a zone is UTC, as in the
    files. Raise UsageError, naming `source`, if `text` is none of these.
    """
    written = text.strip()
    number, unit = written[:-1], written[-1:].lower()
    if unit in _UNITS and number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS:
        return times.stamp(now - int(number) * _UNITS[unit].total_seconds())
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise UsageError(f"{source} needs a date or a duration, not {text[:40]!r}.", next_step=_examples()) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return times.stamp(moment.timestamp())


def _examples() -> str:
    return f"Examples: {EXAMPLES}."


def age(stamp: str, now: float) -> str:
    """Return how long before `now` (seconds since 1970) the stamp was: `just now`, `5 min ago`, `3 h ago`, `2 d ago`.

    A stamp that is older than 30 days, in the future or malformed is returned as its first ten characters.
    """
    try:
        seconds = now - datetime.fromisoformat(stamp).timestamp()
    except (ValueError, OverflowError):
        return stamp[:10]
    for unit, size, most in (("min", 60, 60), ("h", 3600, 24), ("d", 86400, 30)):
        if 0 <= seconds < size * most:
            count = int(seconds // size)
            return f"{count} {unit} ago" if count else "just now"
    return stamp[:10]
