"""Find the dates in a JSON value that no calendar has, and those that lie in the future.

Only what is written as ISO 8601 writes a date is judged. Other texts are told by the checks of the schema.
"""

from __future__ import annotations

import re
from calendar import monthrange, timegm
from typing import TYPE_CHECKING, Any

from nexus_mcp.doctor.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

IMPOSSIBLE, FUTURE = "impossible-time", "future-time"
AHEAD = 5 * 60
"""Seconds that a time may be ahead of the clock: clocks of two machines differ."""
_OF_NO_ZONE = 14 * 3600
"""Seconds that a time without an offset may be ahead beside that: the local time of some place is."""
_PROBLEMS = {IMPOSSIBLE: "is a time that no calendar has", FUTURE: "is a time in the future"}
_DATE = re.compile(
    r"(\d{4})(-?)(\d\d)\2(\d\d)"
    r"(?:[T ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?)?(Z|([+-])(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII | re.IGNORECASE,
)
_MINUTE, _HOUR = 60, 3600


def findings(path: str, schema: dict[str, Any], value: object, now: float, pointer: str = "") -> Iterator[Finding]:
    """The dates in `value` that `schema` calls a date-time and that cannot be, at `now` seconds since 1970."""
    if isinstance(value, str) and schema.get("format") == "date-time":
        code = judged(value, now)
        if code:
            yield Finding(code, path, _PROBLEMS[code], pointer)
    elif isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                yield from findings(path, inner, value[name], now, f"{pointer}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from findings(path, schema.get("items", {}), item, now, f"{pointer}/{index}")
    for branch in schema.get("anyOf", ()):
        yield from findings(path, branch, value, now, pointer)


def judged(text: str, now: float) -> str:
    """IMPOSSIBLE, FUTURE, or "" for any other text. A leap second and 24:00:00 are times as ISO 8601 has them."""
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
        return IMPOSSIBLE  # a leap second is the last of an hour of UTC
    if year < 1970:  # timegm takes no year 0
        return ""
    offset = sign * (offset_hour * _HOUR + offset_minute * _MINUTE)
    allowed = AHEAD if found[9] else AHEAD + _OF_NO_ZONE
    return FUTURE if timegm((year, month, day, hour, minute, second)) - offset > now + allowed else ""


def _days(year: int, month: int) -> int:
    return monthrange(year or 4, month)[1]  # the year 0 is a leap year, and calendar begins with 1
