"""Say what to add and where, when a part of the tests does not know a tool, an event, a check or a fixture."""

from __future__ import annotations


def unknown_to(part: str, what: str, add: str, where: str) -> str:
    """Return the message of an assertion: `part` of the tests does not know `what`; `add` belongs into `where`."""
    return f"{part} does not know {what}: add {add} in {where} (CONTRIBUTING.md, Where do I add)"
