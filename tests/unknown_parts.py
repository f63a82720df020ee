"""The message about a tool, event, check or fixture that a part of the tests does not know: what to add, and where."""

from __future__ import annotations


def unknown_to(part: str, what: str, add: str) -> str:
    """Return the message of an assertion: `part` does not know `what`; `add` says what to add, and where."""
    return f"{part}: {what} is unknown. Add {add} (CONTRIBUTING.md, Where do I add)."
