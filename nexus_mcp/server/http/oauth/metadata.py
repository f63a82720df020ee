"""Answer requests for the metadata of a resource (RFC 9728). They need no token."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.responses import Response

from nexus_mcp.server.http.refusal import Refusal

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from nexus_mcp.server.http.oauth.resources import Resources


class Metadata:
    """The answers to the paths of metadata. Without `resources` there is no metadata."""

    def __init__(self, resources: Resources | None) -> None:
        self._resources = resources

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer a request for metadata; return False for any other path. Raise Refusal."""
        document = self._resources.metadata(scope["path"]) if self._resources is not None else None
        if document is None:
            return False
        if scope["method"] not in ("GET", "HEAD"):
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "GET and HEAD only.", {"allow": "GET, HEAD"})
        await Response(json.dumps(document), media_type="application/json")(scope, receive, send)
        return True
