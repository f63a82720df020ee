"""Refuse a message that the official client would take too much memory to validate.

The client holds each part of a message that has a model against it and keeps every fault: a list of 250,000 numbers
where content blocks belong takes more than a gigabyte.
"""

from __future__ import annotations

from typing import Any

MOST = 20_000
_FREE = frozenset(
    ("structuredContent", "inputSchema", "outputSchema", "requestedSchema", "_meta", "arguments", "data", "metadata")
)
"""Members that may hold anything, which the client does not look into."""


def fault(message: Any) -> str:
    """Return what is wrong with a JSON-RPC message as the client's classes have it, "" when nothing is."""
    left = [getattr(message, "result", None), getattr(message, "params", None)]
    count = 0
    while left:
        node = left.pop()
        inner = node if isinstance(node, list) else ()
        if isinstance(node, dict):
            inner = [member for name, member in node.items() if name not in _FREE]
        count += len(inner)
        if count > MOST:
            return f"sent a message of more than {MOST:,} parts beside its payload"
        left.extend(inner)
    return ""
