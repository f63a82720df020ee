"""How often each note of memory/ was read, and when last: the access logs of all harnesses, together.

Each harness keeps its own (`.nexus/state/<harness id>/memory-access.jsonl`); a note that one of them reads is in use.
"""

from __future__ import annotations

from nexus_mcp.store import jsonl
from nexus_mcp.store.harness_files import ACCESS
from nexus_mcp.store.journal import SESSION_LIMIT
from nexus_mcp.workspace import is_harness_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.folder import Folder

MOST_HARNESSES = 100
_FOLDER = ".nexus/"


class Reads:
    """What is on record. `count`: path as the index has it → reads; `last`: path → seconds since 1970.

    `since`: the first read that is known of, None when none is: from then on, at least, reads were recorded.
    `unreadable`: how many lines say nothing.
    """

    __slots__ = ("count", "last", "since", "unreadable")

    def __init__(self) -> None:
        self.count: dict[str, int] = {}
        self.last: dict[str, float] = {}
        self.since: float | None = None
        self.unreadable = 0


def gathered(state: Folder | None) -> Reads:
    """What the logs below `.nexus/state` say.

    Raises StateError, PathRefused, StorageError for one that is not to be had: without it nobody knows what is read.
    """
    found = Reads()
    if state is None:
        return found
    for name in sorted(filter(is_harness_id, state.names()))[:MOST_HARNESSES]:
        own = state.child(name)
        if own is not None:
            with own:
                _add(found, jsonl.lines(own, ACCESS, SESSION_LIMIT) or [])
    return found


def _add(found: Reads, lines: list[tuple[int, dict[str, object] | None]]) -> None:
    for _, line in lines:
        said = line or {}
        path, count, at = said.get("path"), said.get("access_count"), seconds(said.get("last_accessed_ts"))
        if not isinstance(path, str) or not isinstance(count, int) or isinstance(count, bool) or at is None:
            found.unreadable += 1
            continue
        path = path.removeprefix(_FOLDER)
        found.count[path] = found.count.get(path, 0) + max(0, count)
        found.last[path] = max(found.last.get(path, at), at)
        found.since = at if found.since is None else min(found.since, at)


def seconds(stamp: object) -> float | None:
    """Seconds since 1970 of a time as the contract writes it, None when it is none."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
        return None if moment is None else (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
