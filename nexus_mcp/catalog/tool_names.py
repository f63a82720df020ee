"""Tools of a harness by their names, which may be patterns: `*` stands for any characters, or none.

Not fnmatch: it builds a regular expression for each pattern, and hooks do not load `re`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeVar

    Found = TypeVar("Found")

ANY = "*"
_NEXUS = {
    "nexus_task_creation": "task_add",
    "nexus_task_state_transition": "task_update",
    "nexus_task_metadata_modification": "task_update",
}
"""The classes that a tool of nexus-mcp is of, whatever it is called."""


def matches(pattern: str, name: str) -> bool:
    """Whether `pattern` stands for the tool `name`. Each part of it is looked for once, where it comes first."""
    first, *rest = pattern.split(ANY)
    if not rest:
        return pattern == name
    *middle, last = rest
    if not name.startswith(first):
        return False
    at, end = len(first), len(name) - len(last)
    for part in middle:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return at <= end and name.endswith(last)


def named(patterns: Iterable[str], name: str) -> bool:
    """Whether one of them stands for the tool `name`."""
    return any(matches(pattern, name) for pattern in patterns)


def entry_of(table: Mapping[str, Found], name: str) -> Found | None:
    """What a table by patterns has for the tool `name`; its own name comes before any pattern. None for nothing."""
    if name in table:
        return table[name]
    return next((value for pattern, value in table.items() if matches(pattern, name)), None)


def called(naming: str, tool: str) -> str:
    """What a tool of nexus-mcp is called by a naming such as `mcp__nexus__*`."""
    return naming.replace(ANY, tool)


def of_class(known: Mapping[str, Any], name: str) -> list[str]:
    """Names and patterns of the tools of a class, by a capability map.

    Also what `nexus_tools` makes of a tool of nexus-mcp: no restriction goes with the name a server is mounted under.
    """
    tools = list(known["classes"].get(name, ()))
    own = called(known["nexus_tools"], _NEXUS[name]) if name in _NEXUS else ""
    return [*tools, own] if own and own not in tools else tools
