"""What a server answers beside the calls of tools: resources, prompts, completion. Each looks, and changes nothing.

(A note that is read is counted as read; that is all.)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.server.resources.definition import Look

    Params = dict[str, Any]


def _resources(look: Look, params: Params) -> dict[str, Any]:
    from nexus_mcp.server.resources import listing

    return listing.resources(look, params.get("cursor"))


def _templates(_: Look, params: Params) -> dict[str, Any]:
    from nexus_mcp.server.protocol import check_cursor
    from nexus_mcp.server.resources import listing

    check_cursor(params.get("cursor"))
    return listing.templates()


def _read(look: Look, params: Params) -> dict[str, Any]:
    from nexus_mcp.server.resources import reading

    return reading.read(look, params["uri"])


def _prompts(look: Look, params: Params) -> dict[str, Any]:
    from nexus_mcp.server.prompts import getting

    return getting.listed(look, params.get("cursor"))


def _prompt(look: Look, params: Params) -> dict[str, Any]:
    from nexus_mcp.server.prompts import getting

    return getting.get(look, params["name"], params.get("arguments") or {})


def _complete(look: Look, params: Params) -> dict[str, Any]:
    from nexus_mcp.server import completion

    return completion.complete(look, params["ref"], params["argument"]["name"], params["argument"]["value"])


METHODS: dict[str, Callable[[Look, Params], dict[str, Any]]] = {
    "resources/list": _resources,
    "resources/templates/list": _templates,
    "resources/read": _read,
    "prompts/list": _prompts,
    "prompts/get": _prompt,
    "completion/complete": _complete,
}


def answer(look: Look, method: str, params: Params) -> dict[str, Any]:
    """The result of a request by one of METHODS, before an era adds to it. Raises Fault, without an id."""
    return METHODS[method](look, params)
