"""resources/read: from a URI to what there is. The one place where what goes wrong with a resource becomes a Fault."""

from __future__ import annotations

from nexus_mcp import log
from nexus_mcp.errors import NexusError
from nexus_mcp.server.faults import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, Fault
from nexus_mcp.server.resources import RESOURCES
from nexus_mcp.server.resources.definition import Missing, Refused
from nexus_mcp.server.resources.uris import BadUri

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.server.resources.definition import Content, Look, Resource, Values

_ADVICE = "resources/list and resources/templates/list show what there is."


def read(look: Look, uri: str) -> dict[str, Any]:
    """MCP's ReadResourceResult: {"contents"}. Raises Fault, with the URI in its data."""
    resource, values = found(uri, modern=look.is_modern)
    try:
        contents = resource.read(look, values)
    except Missing as error:
        raise _missing(uri, error.told, modern=look.is_modern) from None
    except UnicodeEncodeError:  # a name that no file can have in the locale of this process
        raise _missing(uri, "", modern=look.is_modern) from None
    except NexusError as error:
        log.info(f"{resource.template.text}: {error}")
        raise Fault(INTERNAL_ERROR, str(error), data={"uri": uri}) from None
    return {"contents": [_shown(uri, content) for content in contents]}


def found(uri: str, *, modern: bool) -> tuple[Resource, Values]:
    """(the kind of resource that a URI is of, the values in it, which can be). Raises Fault."""
    for resource in RESOURCES:
        try:
            values = resource.template.match(uri)
            if values is not None:
                resource.check(values)
                return resource, values
        except (BadUri, Refused) as error:
            raise Fault(INVALID_PARAMS, f"Not a usable URI: {error}.", data={"uri": uri}) from None
    raise _missing(uri, "", modern=modern)


def _missing(uri: str, told: str, *, modern: bool) -> Fault:
    code = INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
    return Fault(code, f"Resource not found: {told or _ADVICE}", data={"uri": uri})


def _shown(uri: str, content: Content) -> dict[str, Any]:
    if content.text is not None:
        return {"uri": uri, "mimeType": content.mime_type, "text": content.text}
    from base64 import b64encode

    return {"uri": uri, "mimeType": content.mime_type, "blob": b64encode(content.data).decode()}
