"""Which notes could go: those for which three signals that do not depend on each other hold at once."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from nexus_mcp.knowledge.reads import Reads

DAY = 86_400


class Signals:
    """What is known of one note. `unread` are days since it was last read; None: no read of it is on record."""

    __slots__ = ("age", "path", "reads", "unread")

    def __init__(self, path: str, age: int, reads: int, unread: int | None) -> None:
        self.path = path
        self.age = age
        self.reads = reads
        self.unread = unread

    def reasons(self) -> list[str]:
        """The three signals in words; the first two are one where no read is on record."""
        unchanged = f"not changed for {_days(self.age)}"
        if self.unread is None:
            return ["no read of it is on record", unchanged]
        times = "once" if self.reads == 1 else f"{self.reads} times"
        return [f"not read for {_days(self.unread)}", f"read {times} in all", unchanged]


def signals(notes: Iterable[tuple[str, float]], reads: Reads, now: float) -> list[Signals]:
    """What is known of each note, given as (path as the index has it, seconds since 1970 when it was last written)."""
    found = []
    for path, written in notes:
        last = reads.last.get(path)
        unread = None if last is None else _since(last, now)
        found.append(Signals(path, _since(written, now), reads.count.get(path, 0), unread))
    return found


def proposed(found: Iterable[Signals], limits: dict[str, Any]) -> list[Signals]:
    """Those for which all three signals of `limits` (days_unread, max_access_count, min_age_days) hold.

    A note without a read on record counts as unread since it was last written.
    """
    return [one for one in found if _hold(one, limits, one.age if one.unread is None else one.unread)]


def certain(found: Iterable[Signals], limits: dict[str, Any], reads: Reads, now: float) -> list[Signals]:
    """The same, by nothing but what is on record: what may be deleted unasked.

    A note without a read on record counts as unread only since reads are recorded here; in a new clone, or a copy, they
    are not recorded for long, however old the files say they are. Where lines cannot be read nothing is certain.
    """
    if reads.since is None or reads.unreadable:
        return []
    recorded = _since(reads.since, now)
    return [one for one in found if _hold(one, limits, min(one.age, recorded) if one.unread is None else one.unread)]


def _hold(one: Signals, limits: dict[str, Any], unread: int) -> bool:
    enough = unread >= limits["days_unread"] and one.age >= limits["min_age_days"]
    return bool(enough and one.reads <= limits["max_access_count"])


def _since(moment: float, now: float) -> int:
    """Whole days; none when the moment is to come, by a clock that was wrong."""
    return max(0, int((now - moment) // DAY))


def _days(number: int) -> str:
    return "1 day" if number == 1 else f"{number} days"
