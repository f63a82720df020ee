"""Build a project's catalog file by file, and save intermediate results every SAVE_EVERY_S seconds.

A hook that is killed leaves the next one with less work. A hook whose time is over leaves the rest unread: unread files
count as faulty, so that no restriction in them is lost.
"""

from __future__ import annotations

import time

from nexus_mcp.catalog.faults import Faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.catalog.bounds import Room

    Row = dict[str, Any]

SAVE_EVERY_S = 0.05
NO_TIME = "was not read: the time for reading the project's catalog was over"
NO_ROOM = "is not read: the files before it are all that is read of a project's agents, skills and map"


def never() -> bool:
    return False


class Work:
    """One pass over the files of a catalog.

    `rows` are the results of an earlier pass, `seen` the current identities of each entry's files, by its path; without
    them everything is read. `save` is called with the rows of this pass; `is_over` returns whether time is over.
    """

    __slots__ = ("_before", "_is_over", "_rows", "_save", "_saved_at", "_seen", "_unsaved")

    def __init__(
        self,
        rows: dict[str, Row] | None = None,
        seen: dict[str, list[Any]] | None = None,
        save: Callable[[dict[str, Row]], None] | None = None,
        is_over: Callable[[], bool] = never,
    ) -> None:
        self._before = rows or {}
        self._seen = seen
        self._save = save
        self._is_over = is_over
        self._rows: dict[str, Row] = {}
        self._unsaved = 0
        self._saved_at = time.monotonic()

    def row(
        self, path: str, room: Room, faults: Faults, names: str, make: Callable[[Faults], dict[str, Any] | None]
    ) -> dict[str, Any] | None:
        """Return the result of `make` for the entry at `path`, from this or an earlier pass, and add its faults.

        The result has to depend only on the files of the entry, the shipped catalog and `names`.
        """
        seen = None if self._seen is None else self._seen.get(path)
        row = self._before.get(path)
        if row is not None and row["seen"] == [seen, names] and room.take(row["used"]):
            self._rows[path] = row
            faults.restore(path, row["faults"])
            value: dict[str, Any] | None = row["value"]
            return value
        is_over = self._is_over()
        if is_over or room.is_closed:
            faults.may_pass |= is_over
            faults.add(path, f".nexus/{path}", f".nexus/{path}: {NO_TIME if is_over else NO_ROOM}")
            return None
        of, before = faults.for_entry(), room.left()
        made = make(of)
        faults.restore(path, of.as_json(path))
        faults.may_pass |= of.may_pass
        if seen is not None and not (of.may_pass or room.is_closed):
            used = [had - has for had, has in zip(before, room.left(), strict=True)]
            self._keep(path, {"seen": [seen, names], "used": used, "value": made, "faults": of.as_json(path)})
        return made

    def end(self) -> None:
        """Save the unsaved rows."""
        if self._unsaved and self._save is not None:
            self._save(self._rows)
            self._unsaved = 0

    def _keep(self, path: str, row: Row) -> None:
        self._rows[path] = row
        self._unsaved += 1
        if self._save is not None and time.monotonic() - self._saved_at > SAVE_EVERY_S:
            self._save({**self._before, **self._rows})
            self._unsaved = 0
            self._saved_at = time.monotonic()


def is_rows(value: Any) -> bool:
    """Return whether `value` has the structure of rows: another program may have written it."""
    return isinstance(value, dict) and all(
        isinstance(row, dict)
        and row.keys() == {"seen", "used", "value", "faults"}
        and isinstance(row["used"], list)
        and len(row["used"]) == 3
        and all(type(used) is int and used >= 0 for used in row["used"])
        and (row["value"] is None or isinstance(row["value"], dict))
        and _is_faults(row["faults"])
        for row in value.values()
    )


def _is_faults(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(of, list)
        and len(of) == 2
        and isinstance(of[0], list)
        and bool(of[0])
        and all(isinstance(text, str) for text in of[0])
        and type(of[1]) is int
        for of in value.values()
    )
