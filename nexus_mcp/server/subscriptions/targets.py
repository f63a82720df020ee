"""What a subscription is about, and the files below .nexus that tell whether that changed."""

from __future__ import annotations

from nexus_mcp.server.faults import INVALID_PARAMS, Fault
from nexus_mcp.server.resources import reading
from nexus_mcp.server.resources.definition import Refused
from nexus_mcp.server.resources.files import checked
from nexus_mcp.server.subscriptions.lookout import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UPDATED = "notifications/resources/updated"
LISTS = {
    "resourcesListChanged": "notifications/resources/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
}
"""The lists that can change while a server runs, as a filter of 2026-07-28 names them. That of the tools cannot."""
_LISTED = ("memory", "context", "rules", "agents", "skills", "state/artifacts")
_PATHS = {
    "resourcesListChanged": tuple(f"{folder}{NAMES}" for folder in _LISTED),
    "promptsListChanged": (f"skills{NAMES}", "skills/"),
}
_TRUE = frozenset({"1", "t", "y", "yes", "on", "true"})


def of_uri(uri: str) -> tuple[str, ...]:
    """The paths for a resource, which need not be there yet. Raises Fault, as reading it would before 2026-07-28."""
    resource, values = reading.found(uri, modern=False)
    paths = resource.watched(values)
    try:
        for path in paths:
            checked(path.rstrip("/"))
    except Refused as error:
        raise Fault(INVALID_PARAMS, f"Not a usable URI: {error}.", data={"uri": uri}) from None
    return paths


def of_list(name: str) -> tuple[str, ...]:
    """The paths for one of LISTS."""
    return _PATHS[name]


def honoured(asked: dict[str, Any]) -> dict[str, Any]:
    """The part of a filter that this server can keep: its own URIs, each once, and the lists that can change."""
    kept: dict[str, Any] = {name: True for name in LISTS if _is_true(asked.get(name))}
    uris = list(dict.fromkeys(uri for uri in asked.get("resourceSubscriptions") or () if _is_ours(uri)))
    return {**kept, "resourceSubscriptions": uris} if uris else kept


def _is_ours(uri: str) -> bool:
    try:
        return bool(of_uri(uri))
    except Fault:
        return False


def _is_true(value: Any) -> bool:
    """As the check of the params takes a boolean (server/shapes.py)."""
    return value.lower() in _TRUE if isinstance(value, str) else bool(value)
