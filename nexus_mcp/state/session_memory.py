"""Session memory as a value: the active skill of each session, and the parts that the model was shown last."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]

MOST = 16
"""Sessions. A session that comes back after so many others gets everything anew."""
_LONGEST_ID = 200
_TEXTS = ("session_id", "at", "skill", "mode", "work", "history", "by")


def parse(value: object) -> list[Entry] | None:
    """Return the sessions in the value of remembered.extension.json, None if the value is malformed.

    Checked by hand, because every message reads the file, and schemas/lifecycle/remembered.schema.json has patterns.
    """
    entries = value.get("sessions") if isinstance(value, dict) else None
    return entries if isinstance(entries, list) and all(map(_is_entry, entries)) else None


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or "session_id" not in entry:
        return False
    shown = entry.get("given", {})
    return (
        all(isinstance(entry.get(name, ""), str) for name in _TEXTS)
        and isinstance(shown, dict)
        and all(isinstance(seen, str) for seen in shown.values())
    )


def find(entries: list[Entry], session: str) -> Entry:
    """Return the entry of a session; an empty one for an unknown session."""
    return next((entry for entry in entries if entry["session_id"] == session[:_LONGEST_ID]), {})


def note(entries: list[Entry], session: str, now: str, fields: dict[str, Any]) -> list[Entry]:
    """Return the sessions with these fields of one session set, which is then the latest. Fields that are None are
    removed.
    """
    known = find(entries, session)
    merged = {**known, "session_id": session[:_LONGEST_ID], "at": now, **fields}
    new = {name: value for name, value in merged.items() if value is not None}
    return [*(entry for entry in entries if entry is not known), new][-MOST:]


def forget(entries: list[Entry], session: str) -> list[Entry]:
    """Return the sessions without this one."""
    known = find(entries, session)
    return [entry for entry in entries if entry is not known]
