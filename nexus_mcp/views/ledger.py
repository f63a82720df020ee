"""Keep the rows of all closed cycles in memory, for filters and charts over a long history.

In a long history a cycle is parsed once: when the history grows, only new cycles are parsed, because the digests in the
index identify the others. The index of a short history has no digests, so all its cycles are parsed after each change,
and at each use until the file is settled.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

from nexus_mcp.store.history.index import NO_DIGEST
from nexus_mcp.views import VERSION
from nexus_mcp.views.cycles import cycle_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from nexus_mcp.store.history.archive import Archive
    from nexus_mcp.views.cycles import CycleRow

_SHORTEST_STAMP = len("2026-01-31")


class Ledger:
    """The rows of one history, oldest first. Not safe to use in two threads at once."""

    def __init__(self) -> None:
        self._rows: list[CycleRow] = []
        self._hours: list[float | None] = []
        self._digests: list[bytes] = []
        self._seen: object = None

    def update(self, archive: Archive) -> list[CycleRow]:
        """Return the rows of all cycles of `archive`. Raise StorageError."""
        index = archive.index
        seen = index.identity, index.tail, len(archive)
        if index.settled and seen == self._seen:
            return self._rows
        self._seen = None  # stays None if a cycle cannot be read, because the rows are incomplete then
        digests = [index.digest(number) for number in range(len(archive))]
        same = 0
        for old, new in zip(self._digests, digests, strict=False):
            if old != new or new == NO_DIGEST:
                break
            same += 1
        del self._rows[same:], self._hours[same:], self._digests[same:]
        for number in range(same, len(archive)):
            cycle = archive.cycle(number)
            self._rows.append(cycle_row(number + 1, cycle))
            self._hours.append(lead_hours(cycle))
            self._digests.append(digests[number])
        self._seen = seen
        return self._rows

    def rows(
        self, archive: Archive, *, query: str = "", since: str = "", until: str = "", branch: str = "", most: int = 100
    ) -> dict[str, Any]:
        """Return the view `history`, as views/cycles.cycle_rows does. With `since`, `until` or `branch` it uses the
        rows in memory. Raise StorageError.
        """
        numbers = range(len(archive)) if not query.strip() else archive.matches(query)
        if since or until or branch:
            rows = self.update(archive)
            found = [rows[number] for number in numbers if _is_within(rows[number], since, until, branch)]
            matching, newest = len(found), found[-most:][::-1]
        else:
            matching = len(numbers)
            newest = [cycle_row(number + 1, archive.cycle(number)) for number in numbers[-most:][::-1]]
        return {"version": VERSION, "total": len(archive), "matching": matching, "cycles": newest}

    def branches(self, archive: Archive) -> list[str]:
        """Return the branches of all cycles, those with the most cycles first."""
        count: dict[str, int] = {}
        for row in self.update(archive):
            count[row["branch"]] = count.get(row["branch"], 0) + 1
        return sorted(filter(None, count), key=lambda name: (-count[name], name))

    def weeks(self, archive: Archive, reopened: Iterable[str] = (), most: int = 520) -> dict[str, Any]:
        """Return `version` and `weeks`, oldest first, without gaps, the `most` newest ones.

        A week has `start` (the date of its Monday), the numbers of `cycles`, `tasks` (done), `decisions` and `reopened`
        issues, and `lead_hours`, the median of the hours from the start of a plan to its close, None if no plan has
        both times. A cycle without a valid closing date is left out. The parameter `reopened` has a stamp for each
        reopened issue.
        """
        found: dict[date, dict[str, Any]] = {}
        hours: dict[date, list[float]] = {}
        for row, lead in zip(self.update(archive), self._hours, strict=True):
            monday = _monday(row["completed_at"])
            if monday is None:
                continue
            week = found.setdefault(monday, _week(monday))
            week["cycles"] += 1
            week["tasks"] += row["done"]
            week["decisions"] += row["decisions"]
            if lead is not None:
                hours.setdefault(monday, []).append(lead)
        for at in reopened:
            monday = _monday(at)
            if monday is not None:
                found.setdefault(monday, _week(monday))["reopened"] += 1
        for monday, leads in hours.items():
            found[monday]["lead_hours"] = round(_median(leads), 2)
        return {"version": VERSION, "weeks": _without_gaps(found, most)}


def lead_hours(cycle: Mapping[str, Any]) -> float | None:
    """Return the hours from the start of the plan of a cycle to its close; None if a time is missing or malformed, or
    if the close is before the start.
    """
    plan = cycle.get("plan")
    begin = plan.get("created_at") if isinstance(plan, dict) else None
    end = cycle.get("completed_at")
    try:
        hours = (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds() / 3600  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return hours if hours >= 0 else None


def _is_within(row: CycleRow, since: str, until: str, branch: str) -> bool:
    closed = row["completed_at"]
    return not ((since and closed < since) or (until and closed >= until) or (branch and row["branch"] != branch))


def _monday(stamp: str) -> date | None:
    try:
        day = date.fromisoformat(stamp[:_SHORTEST_STAMP])
        return day - timedelta(days=day.weekday())
    except (ValueError, OverflowError):
        return None


def _week(monday: date) -> dict[str, Any]:
    return {
        **{"start": monday.isoformat(), "cycles": 0, "tasks": 0},
        **{"decisions": 0, "reopened": 0, "lead_hours": None},
    }


def _without_gaps(found: Mapping[date, dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return the `most` newest weeks, with empty ones between them. The limit applies even if another program wrote
    a date far in the future.
    """
    if not found:
        return []
    last = max(found)
    first = max(min(found), last - timedelta(weeks=most - 1))
    return [
        found.get(monday) or _week(monday)
        for monday in (first + timedelta(weeks=number) for number in range((last - first).days // 7 + 1))
    ]


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
