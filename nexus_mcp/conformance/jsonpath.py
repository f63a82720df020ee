"""JSONPath as fixtures use it: singular queries of RFC 9535, and `.length` as an extension.

The library jsonpath_rfc9535 parses the text. The lookup is our own, because a report names the nearest existing node.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from nexus_mcp.conformance.result import MISSING


@dataclass(frozen=True)
class FoundNode:
    """The node that a query selects: `value`, MISSING when there is no such node.

    `parent` is the normalized path of the nearest existing node above a missing one, "" when there is a value.
    """

    value: Any
    parent: str = ""


@dataclass(frozen=True)
class Query:
    """A singular query. `segments` are its names and indexes; `wants_length`: it ends in `.length`."""

    text: str
    segments: tuple[str | int, ...]
    wants_length: bool

    def find(self, document: Any) -> FoundNode:
        """Return the node in `document`, a value as json.loads returns it."""
        node = document
        passed: list[str | int] = []
        for place, segment in enumerate(self.segments):
            child = _child(node, segment)
            if child is MISSING and self.wants_length and place == len(self.segments) - 1:
                child = _length(node)
            if child is MISSING:
                return FoundNode(MISSING, normalize(passed))
            passed.append(segment if isinstance(segment, str) or segment >= 0 else len(node) + segment)
            node = child
        return FoundNode(node)


@functools.cache
def compile(text: str) -> Query:
    """Return the query for `text`.

    Raise ValueError, with the position of the fault, if it is no JSONPath; ValueError if it is no singular query.
    """
    import jsonpath_rfc9535 as rfc9535
    from jsonpath_rfc9535.selectors import IndexSelector, NameSelector

    try:
        query = rfc9535.compile(text)
    except rfc9535.JSONPathError as error:
        raise ValueError(f"is not a JSONPath: {error}") from error
    if not query.singular_query():
        raise ValueError("is not a singular JSONPath: use names and indexes only")
    segments: list[str | int] = []
    for (selector,) in (segment.selectors for segment in query.segments):
        if isinstance(selector, NameSelector):
            segments.append(selector.name)
        elif isinstance(selector, IndexSelector):
            segments.append(selector.index)
    return Query(text, tuple(segments), text.endswith(".length"))


def normalize(segments: list[str | int]) -> str:
    """Return the normalized path of RFC 9535, section 2.7, such as `$['issues'][0]`; indexes must not be negative."""
    from jsonpath_rfc9535.serialize import canonical_string

    return "$" + "".join(f"[{canonical_string(part) if isinstance(part, str) else part}]" for part in segments)


def _child(node: Any, segment: str | int) -> Any:
    if isinstance(segment, str):
        return node.get(segment, MISSING) if isinstance(node, dict) else MISSING
    if isinstance(node, list) and -len(node) <= segment < len(node):
        return node[segment]
    return MISSING


def _length(node: Any) -> Any:
    return len(node) if isinstance(node, (list, str)) else MISSING
