"""Derive the right that a request needs from its method and the table of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.server.http.tokens import CLOSE, READ, WRITE
from nexus_mcp.server.methods import SKILL_METHODS, SUBSCRIPTION_METHODS
from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.definition import CYCLE_CLOSE

if TYPE_CHECKING:
    from nexus_mcp.server.messages import Message
    from nexus_mcp.tools.definition import Tool

_READING = frozenset(
    (
        "completion/complete",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        *SKILL_METHODS,
        *SUBSCRIPTION_METHODS,
    )
)
"""Methods whose results have data of the project."""
ENDING = (_READING - SUBSCRIPTION_METHODS) | {"server/discover", "tools/list"}
"""Methods whose requests end by themselves and send no notifications."""


def right_of(tool: Tool) -> str:
    """Return the right that calls of the tool need."""
    if tool.read_only:
        return READ
    return CLOSE if CYCLE_CLOSE in tool.classes else WRITE


class Rights:
    """The rights that requests need, for tool names with the prefix of the server."""

    def __init__(self, prefix: str) -> None:
        self._tools = {prefix + tool.name: right_of(tool) for tool in TOOLS}

    def ends_by_itself(self, message: Message) -> bool:
        """Return whether the request only reads and wants no notification, so that it needs no cancellation."""
        params = message.params or {}
        meta = params.get("_meta")
        if isinstance(meta, dict) and "progressToken" in meta:
            return False
        if message.method == "tools/call":
            name = params.get("name")
            return isinstance(name, str) and self._tools.get(name) == READ
        return message.method in ENDING

    def needed_right(self, message: Message) -> str:
        """Return the right that a message needs, "" if none. Unknown tools need none: the SDK server refuses them."""
        if message.method == "tools/call":
            name = (message.params or {}).get("name")
            return self._tools.get(name, "") if isinstance(name, str) else ""
        return READ if message.method in _READING else ""
