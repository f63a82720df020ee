"""Match tool names against names and patterns: `*` stands for any characters, or none.

Not fnmatch: it builds a regular expression for each pattern, and hooks do not load `re`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeVar

    Found = TypeVar("Found")

ANY = "*"


def matches(pattern: str, name: str) -> bool:
    """Return whether `pattern` matches the tool `name`. Each part matches at its first occurrence."""
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


def matches_any(patterns: Iterable[str], name: str) -> bool:
    """Return whether one of the patterns matches the tool `name`."""
    return any(matches(pattern, name) for pattern in patterns)


def classes_with(
    known: Mapping[str, Any], names: Iterable[str], tool: str, vocabulary: Mapping[str, Any]
) -> list[str]:
    """Return those of the classes `names` that have the tool in a capability map."""
    return [name for name in names if matches_any(of_class(known, name, vocabulary), tool)]


def entry_of(table: Mapping[str, Found], name: str) -> Found | None:
    """Return the value for the tool `name` in a table by patterns; the exact name wins. None without a match."""
    if name in table:
        return table[name]
    return next((value for pattern, value in table.items() if matches(pattern, name)), None)


def called(naming: str, tool: str) -> str:
    """Return the name of a nexus-mcp tool under a naming such as `mcp__nexus__*`."""
    return naming.replace(ANY, tool)


def of_class(known: Mapping[str, Any], name: str, vocabulary: Mapping[str, Any]) -> list[str]:
    """Return the names and patterns of the tools of a class in a capability map.

    Includes our tools of the class under the naming `nexus_tools`: a server's mount name removes no restriction.
    """
    own = [called(known["nexus_tools"], tool) for tool in own_tools(vocabulary, name)]
    return list(dict.fromkeys([*known["classes"].get(name, ()), *own]))


def own_tools(vocabulary: Mapping[str, Any], name: str) -> list[str]:
    """Return our tools of a class, in the order of the table TOOLS."""
    return [tool for tool, classes in vocabulary["tools"].items() if name in classes]
