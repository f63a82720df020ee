"""Select the notes of memory/ that may be deleted, by the access logs of all harnesses and the age of the files.

A note is selected only if it meets three limits: for the days since its last read, its number of reads, and its age.
Each harness has its own log, `.nexus/state/<harness id>/memory-access.jsonl`; the reads in the logs are added up.
"""

from __future__ import annotations

from nexus_mcp.errors import StateError
from nexus_mcp.store import jsonl
from nexus_mcp.store.harness_files import ACCESS
from nexus_mcp.store.journal import SESSION_LIMIT
from nexus_mcp.workspace import is_harness_id

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from nexus_mcp.store.folder import Folder

MOST_HARNESSES = 100
DAY = 86_400
_FOLDER = ".nexus/"


class Reads:
    """The recorded reads: `count` and `last` map the path of a note, as in the index, to their number and latest time.

    `since` is the earliest time in the logs, None without any: reads are recorded at least from then on. Times are in
    seconds since 1970. `unreadable` counts malformed lines.
    """

    __slots__ = ("count", "last", "since", "unreadable")

    def __init__(self) -> None:
        self.count: dict[str, int] = {}
        self.last: dict[str, float] = {}
        self.since: float | None = None
        self.unreadable = 0


def read_access_logs(state: Folder | None) -> Reads:
    """Return the reads in the logs of all harnesses, below `.nexus/state`.

    Raise StateError, PathRefused, StorageError for an unreadable log, because its reads are unknown; StateError also
    for more than MOST_HARNESSES folders that could be those of a harness.
    """
    found = Reads()
    if state is None:
        return found
    names = sorted(filter(is_harness_id, state.names()))
    if len(names) > MOST_HARNESSES:
        problem = f"has {len(names)} entries that may be of harnesses, so not all reads of the notes are counted"
        raise StateError(".nexus/state", problem, next_step="Move away those that no harness uses.")
    for name in names:
        own = state.child(name)
        if own is not None:
            with own:
                _add(found, jsonl.lines(own, ACCESS, SESSION_LIMIT) or [])
    return found


def seconds(stamp: object) -> float | None:
    """Return a timestamp of the contract as seconds since 1970; None if it is malformed."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
        return None if moment is None else (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


class Signals:
    """The signals of one note: the days since its last change (`age`), the number of its recorded reads, and the days
    since its last read (`unread`, None without a recorded read).
    """

    __slots__ = ("age", "path", "reads", "unread")

    def __init__(self, path: str, age: int, reads: int, unread: int | None) -> None:
        self.path = path
        self.age = age
        self.reads = reads
        self.unread = unread

    def reasons(self) -> list[str]:
        """Return a text for each signal; without a recorded read, one text for `unread` and `reads` together."""
        unchanged = f"not changed for {_days(self.age)}"
        if self.unread is None:
            return ["no read of it is on record", unchanged]
        times = "once" if self.reads == 1 else f"{self.reads} times"
        return [f"not read for {_days(self.unread)}", f"read {times} in all", unchanged]


def signals(notes: Iterable[tuple[str, float]], reads: Reads, now: float) -> list[Signals]:
    """Return the signals of notes, each (path as in the index, seconds since 1970 of its last change)."""
    found = []
    for path, written in notes:
        last = reads.last.get(path)
        unread = None if last is None else _since(last, now)
        found.append(Signals(path, _since(written, now), reads.count.get(path, 0), unread))
    return found


def select_proposed(found: Iterable[Signals], limits: dict[str, Any]) -> list[Signals]:
    """Return the notes for which all three limits hold (days_unread, max_access_count, min_age_days).

    A note without a recorded read counts as unread since its last change.
    """
    return [one for one in found if _hold(one, limits, one.age if one.unread is None else one.unread)]


def select_certain(found: Iterable[Signals], limits: dict[str, Any], reads: Reads, now: float) -> list[Signals]:
    """Return the notes for which the recorded reads prove all three limits; they may be deleted without a question.

    A note without a recorded read counts as unread since the earliest time in the logs, or since its own last change if
    that is later: the records of a new clone are young, however old the files are. If the logs have no read or a
    malformed line, return [].
    """
    if reads.since is None or reads.unreadable:
        return []
    recorded = _since(reads.since, now)
    return [one for one in found if _hold(one, limits, min(one.age, recorded) if one.unread is None else one.unread)]


def _add(found: Reads, lines: list[tuple[int, dict[str, object] | None]]) -> None:
    for _, line in lines:
        entry = line or {}
        path, count, at = entry.get("path"), entry.get("access_count"), seconds(entry.get("last_accessed_ts"))
        if not isinstance(path, str) or not isinstance(count, int) or isinstance(count, bool) or at is None:
            found.unreadable += 1
            continue
        path = path.removeprefix(_FOLDER)
        found.count[path] = found.count.get(path, 0) + max(0, count)
        found.last[path] = max(found.last.get(path, at), at)
        found.since = at if found.since is None else min(found.since, at)


def _hold(one: Signals, limits: dict[str, Any], unread: int) -> bool:
    enough = unread >= limits["days_unread"] and one.age >= limits["min_age_days"]
    return bool(enough and one.reads <= limits["max_access_count"])


def _since(moment: float, now: float) -> int:
    """Return the whole days from `moment` to `now`; 0 if `moment` is in the future because of a wrong clock."""
    return max(0, int((now - moment) // DAY))


def _days(number: int) -> str:
    return "1 day" if number == 1 else f"{number} days"
