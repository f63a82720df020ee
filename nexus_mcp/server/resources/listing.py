"""resources/list and resources/templates/list."""

from __future__ import annotations

from functools import partial

from nexus_mcp import log
from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import inert
from nexus_mcp.server.paging import page
from nexus_mcp.server.resources import RESOURCES
from nexus_mcp.state.times import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.server.resources.definition import Entry, Look, Resource

_YEAR_10000 = 253_402_300_800
"""In seconds since 1970. A file may claim any time; one that cannot be written as a date is not told."""


def resources(look: Look, cursor: str | None) -> dict[str, Any]:
    """MCP's ListResourcesResult: what there is now, a page of it. Raises Fault for a cursor that is none of ours.

    What cannot be listed is left out, and told in the log: the rest is of use without it.
    """
    shown, following = page(cursor, [partial(_entries, resource, look) for resource in RESOURCES])
    return {"resources": shown, **({"nextCursor": following} if following else {})}


def templates() -> dict[str, Any]:
    """MCP's ListResourceTemplatesResult, on one page."""
    return {"resourceTemplates": [_template(resource) for resource in RESOURCES if resource.template.variables]}


def _entries(resource: Resource, look: Look, after: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        for entry in resource.entries(look, after):
            yield entry.key, _shown(resource, entry)
    except NexusError as error:
        log.warning(f"{resource.template.text} is not listed: {error}")


def _shown(resource: Resource, entry: Entry) -> dict[str, Any]:
    name = f"{resource.name}/{entry.key}" if entry.key else resource.name
    shown: dict[str, Any] = {
        "uri": resource.template.filled(entry.values),
        "name": inert(name),
        "title": inert(entry.title or resource.title),
        "description": resource.description,
    }
    kind = entry.mime_type or resource.mime_type
    if kind is not None:
        shown["mimeType"] = kind
    if entry.size is not None:
        shown["size"] = entry.size
    annotations: dict[str, Any] = {"audience": list(resource.audience), "priority": resource.priority}
    if entry.modified is not None and 0 <= entry.modified < _YEAR_10000:
        annotations["lastModified"] = stamp(entry.modified)
    return {**shown, "annotations": annotations}


def _template(resource: Resource) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "uriTemplate": resource.template.text,
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
    }
    if resource.mime_type is not None:
        shown["mimeType"] = resource.mime_type
    return {**shown, "annotations": {"audience": list(resource.audience), "priority": resource.priority}}
