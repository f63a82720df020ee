"""Handle resources/list, resources/templates/list and resources/read; turn resource errors into Faults."""

from __future__ import annotations

from functools import partial

from nexus_mcp import log
from nexus_mcp.errors import NexusError
from nexus_mcp.quoting import inert
from nexus_mcp.server.faults import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, Fault, check_cursor
from nexus_mcp.server.paging import page
from nexus_mcp.server.resources import RESOURCES
from nexus_mcp.server.resources.definition import BadUri, Missing, ResourceRefused
from nexus_mcp.state.times import stamp

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nexus_mcp.server.resources.definition import Content, Entry, ReadContext, Resource, Values

_YEAR_10000 = 253_402_300_800
"""In seconds since 1970. A file may have any modification time; one before 1970, or from this one on, is not shown."""


def resources(ctx: ReadContext, cursor: str | None) -> dict[str, Any]:
    """Return one page of MCP's ListResourcesResult. Raise Fault for an invalid cursor.

    An error in listing a kind is logged and ends the list of this kind: the other kinds are useful without it.
    """
    shown, following = page(cursor, [partial(_entries, resource, ctx) for resource in RESOURCES])
    return {"resources": shown, **({"nextCursor": following} if following else {})}


def templates(cursor: str | None) -> dict[str, Any]:
    """Return MCP's ListResourceTemplatesResult, on one page. Raise Fault for a cursor."""
    check_cursor(cursor)
    return {"resourceTemplates": [_template(resource) for resource in RESOURCES if resource.template.variables]}


def _entries(resource: Resource, ctx: ReadContext, after: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        for entry in resource.entries(ctx, after):
            yield entry.key, _describe(resource, entry)
    except NexusError as error:
        log.warning(f"{resource.template.text} is not listed: {error}")


def _describe(resource: Resource, entry: Entry) -> dict[str, Any]:
    name = entry.name or (f"{resource.name}/{entry.key}" if entry.key else resource.name)
    shown: dict[str, Any] = {
        "uri": resource.template.fill(entry.values),
        "name": inert(name),
        "title": inert(entry.title or resource.title),
        "description": inert(entry.description) or resource.description,
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


_ADVICE = "resources/list and resources/templates/list name the resources."


def read(ctx: ReadContext, uri: str) -> dict[str, Any]:
    """Return MCP's ReadResourceResult, {"contents"}. Raise Fault, with the URI in its data."""
    resource, values = resolve(uri, modern=ctx.is_modern)
    try:
        contents = resource.read(ctx, values)
    except Missing as error:
        raise _missing(uri, error.detail, modern=ctx.is_modern) from None
    except UnicodeEncodeError:  # no file can have this name in the locale of this process
        raise _missing(uri, "", modern=ctx.is_modern) from None
    except NexusError as error:
        log.info(f"{resource.template.text}: {error}")
        raise Fault(INTERNAL_ERROR, str(error), data={"uri": uri}) from None
    return {"contents": [_reading_shown(uri, content) for content in contents]}


def resolve(uri: str, *, modern: bool) -> tuple[Resource, Values]:
    """Return (resource kind, checked values) of a URI. Raise Fault."""
    for resource in RESOURCES:
        try:
            values = resource.template.match(uri)
            if values is not None:
                resource.check(values)
                return resource, values
        except (BadUri, ResourceRefused) as error:
            raise Fault(INVALID_PARAMS, f"Not a usable URI: {error}.", data={"uri": uri}) from None
    raise _missing(uri, "", modern=modern)


def _missing(uri: str, detail: str, *, modern: bool) -> Fault:
    code = INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
    return Fault(code, f"Resource not found: {detail or _ADVICE}", data={"uri": uri})


def _reading_shown(uri: str, content: Content) -> dict[str, Any]:
    if content.text is not None:
        return {"uri": uri, "mimeType": content.mime_type, "text": content.text}
    from base64 import b64encode

    return {"uri": uri, "mimeType": content.mime_type, "blob": b64encode(content.data).decode()}
