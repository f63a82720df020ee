"""The URLs of this server in OAuth: its resources (RFC 8707), and their metadata (RFC 9728) with the responses.

Each project is a resource with its own URL. The URL of the server is the resource of the whole server. A token for the
whole server may name projects in a claim, and has to if the server has a projects file (claims.py).
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.responses import Response

from nexus_mcp.server.http.address import path_of, project_in
from nexus_mcp.server.http.refusal import Refusal
from nexus_mcp.server.http.tokens import RIGHTS

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

SCOPE = "nexus:"
"""The prefix of a right in a scope."""
SCOPES = tuple(SCOPE + right for right in RIGHTS)
WELL_KNOWN = "/.well-known/oauth-protected-resource"


class Resources:
    """The resources of the server that clients call at `base`, and the issuer of the tokens for them."""

    def __init__(self, base: str, issuer: str) -> None:
        self.base = base.rstrip("/")
        self._issuer = issuer
        parts = urlsplit(self.base)
        self._origin, self._path = f"{parts.scheme}://{parts.netloc}", parts.path

    @property
    def names(self) -> tuple[str, ...]:
        """Return the audiences that mean the whole server: libraries add a slash to a URL without a path."""
        return (self.base, f"{self.base}/")

    def url_of(self, project: str | None) -> str:
        """Return the resource URL of a project, that of the server for None."""
        return self.base if project is None else self.base + path_of(project)

    def metadata_url(self, project: str | None) -> str:
        """Return the URL of the metadata of a project, that of the server for None."""
        return self._origin + WELL_KNOWN + self._path + ("" if project is None else path_of(project))

    def metadata(self, path: str) -> dict[str, Any] | None:
        """Return the metadata at a path; None for a path without metadata.

        Unknown projects have metadata, too: a request without a token must not find out which projects exist.
        """
        start = WELL_KNOWN + self._path
        if not path.startswith(start):
            return None
        rest = path[len(start) :]
        project = project_in(rest)
        if project is None and rest not in ("", "/"):
            return None
        return {
            "resource": self.url_of(project),
            "authorization_servers": [self._issuer],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "nexus-mcp",
        }


class Metadata:
    """The responses to requests for metadata, which need no token. Without `resources` there is no metadata."""

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
