"""Map the URIs and lists of a subscription to the files below .nexus on which they depend."""

from __future__ import annotations

from nexus_mcp.server.faults import INVALID_PARAMS, Fault
from nexus_mcp.server.resources import requests
from nexus_mcp.server.resources.definition import Refused
from nexus_mcp.server.resources.files import check_name
from nexus_mcp.server.subscriptions.poller import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UPDATED = "notifications/resources/updated"
LISTS = {
    "resourcesListChanged": "notifications/resources/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
}
"""Lists that can change while a server runs, by their name in a filter of 2026-07-28. The list of tools cannot."""
_LISTED = ("memory", "context", "rules", "agents", "skills", "state/artifacts")
_PATHS = {
    "resourcesListChanged": tuple(f"{folder}{NAMES}" for folder in _LISTED),
    "promptsListChanged": (f"skills{NAMES}", "skills/"),
}
_TRUE = frozenset({"1", "t", "y", "yes", "on", "true"})


def of_uri(uri: str) -> tuple[str, ...]:
    """Return the paths of a resource, existing or not. Raises Fault, as reading it does before 2026-07-28."""
    resource, values = requests.resolve(uri, modern=False)
    paths = resource.watched(values)
    try:
        for path in paths:
            check_name(path.rstrip("/"))
    except Refused as error:
        raise Fault(INVALID_PARAMS, f"Not a usable URI: {error}.", data={"uri": uri}) from None
    return paths


def of_list(name: str) -> tuple[str, ...]:
    """Return the paths for one of LISTS."""
    return _PATHS[name]


def supported_filter(requested: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a filter that this server supports: its own URIs, each once, and the lists in LISTS."""
    granted: dict[str, Any] = {name: True for name in LISTS if _is_true(requested.get(name))}
    uris = list(dict.fromkeys(uri for uri in requested.get("resourceSubscriptions") or () if _is_ours(uri)))
    return {**granted, "resourceSubscriptions": uris} if uris else granted


def _is_ours(uri: str) -> bool:
    try:
        return bool(of_uri(uri))
    except Fault:
        return False


def _is_true(value: Any) -> bool:
    """Interpret a boolean as the check of params does (server/methods.py)."""
    return value.lower() in _TRUE if isinstance(value, str) else bool(value)
