"""Format ids for messages, and find impossible and future dates and times in JSON values.

Only texts in the form of an ISO 8601 date or time are judged; schema checks report other texts.
"""

from __future__ import annotations

import re
from calendar import monthrange, timegm
from typing import TYPE_CHECKING, Any

from nexus_mcp.doctor.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DIGITS = 20
_LISTED = 10


def format_id(number: float) -> str:
    """Return the id as text, cut at _DIGITS characters: `2` for 2 and for 2.0, which are the same id."""
    whole = isinstance(number, int) or number.is_integer()
    text = str(int(number)) if whole else repr(number)
    return text if len(text) <= _DIGITS else f"{text[:_DIGITS]}..."


def format_ids(numbers: Sequence[float], between: str = ", ") -> str:
    """Return the ids as one text; for more than _LISTED ids only the first ones and the last one."""
    if len(numbers) <= _LISTED:
        return between.join(map(format_id, numbers))
    return between.join([*map(format_id, numbers[: _LISTED - 2]), "...", format_id(numbers[-1])])


IMPOSSIBLE, FUTURE = "impossible-time", "future-time"
AHEAD = 5 * 60
"""Seconds that a time may be ahead of our clock: clocks of two machines differ."""
_OF_NO_ZONE = 14 * 3600
"""Additional seconds for a time without an offset: it may be local time anywhere."""
_PROBLEMS = {IMPOSSIBLE: "is a date or time that does not exist", FUTURE: "is a time in the future"}
_DATE = re.compile(
    r"(\d{4})(-?)(\d\d)\2(\d\d)"
    r"(?:[T ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?)?(Z|([+-])(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII | re.IGNORECASE,
)
_MINUTE, _HOUR = 60, 3600


def find_bad_times(
    path: str, schema: dict[str, Any], value: object, now: float, pointer: str = ""
) -> Iterator[Finding]:
    """Yield findings for impossible and future dates in fields of format date-time. `now` is in seconds since 1970."""
    if isinstance(value, str) and schema.get("format") == "date-time":
        code = judge_time(value, now)
        if code:
            yield Finding(code, path, _PROBLEMS[code], pointer)
    elif isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                yield from find_bad_times(path, inner, value[name], now, f"{pointer}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from find_bad_times(path, schema.get("items", {}), item, now, f"{pointer}/{index}")
    for branch in schema.get("anyOf", ()):
        yield from find_bad_times(path, branch, value, now, pointer)


def judge_time(text: str, now: float) -> str:
    """Return IMPOSSIBLE, FUTURE, or "" for any other text. Leap seconds and 24:00:00 are valid in ISO 8601."""
    found = _DATE.fullmatch(text)
    if found is None:
        return ""
    year, month, day, hour, minute, second = (int(part or 0) for part in found.group(1, 3, 4, 5, 6, 7))
    offset_hour, offset_minute = int(found[11] or 0), int(found[12] or 0)
    if not (1 <= month <= 12 and 1 <= day <= _days(year, month) and offset_hour < 24 and offset_minute < _MINUTE):
        return IMPOSSIBLE
    if hour == 24:
        if minute or second or (found[8] or "").strip("0"):
            return IMPOSSIBLE
    elif hour > 24 or minute >= _MINUTE or second > _MINUTE:
        return IMPOSSIBLE
    sign = -1 if found[10] == "-" else 1
    if second == _MINUTE and (minute - sign * offset_minute) % _MINUTE != _MINUTE - 1:
        return IMPOSSIBLE  # a leap second ends an hour of UTC
    if year < 1970:  # timegm takes no year 0
        return ""
    offset = sign * (offset_hour * _HOUR + offset_minute * _MINUTE)
    allowed = AHEAD if found[9] else AHEAD + _OF_NO_ZONE
    return FUTURE if timegm((year, month, day, hour, minute, second)) - offset > now + allowed else ""


def _days(year: int, month: int) -> int:
    return monthrange(year or 4, month)[1]  # the year 0 is a leap year, and calendar begins with 1
