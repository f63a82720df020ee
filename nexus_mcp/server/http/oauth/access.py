"""Check an access token for the guard; refuse an invalid one with a challenge. This module imports no JWT library."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

from nexus_mcp.server.http.oauth.resources import SCOPE, SCOPES
from nexus_mcp.server.http.refusal import Refusal, TokenDenied, Unavailable

if TYPE_CHECKING:
    from nexus_mcp.server.http.oauth.authority import Authority
    from nexus_mcp.server.http.oauth.resources import Resources
    from nexus_mcp.server.http.tokens import Token

LONGEST = 16 * 1024
"""Maximum number of characters of an access token."""
_SHAPE = re.compile(r"[A-Za-z0-9_=-]+\.[A-Za-z0-9_=.-]+")


class Challenges:
    """The challenges of a server: the header WWW-Authenticate of refusals (RFC 6750, RFC 9728).

    With `resources` they have the URL of the metadata for OAuth clients.
    """

    def __init__(self, resources: Resources | None) -> None:
        self._resources = resources

    def challenge(self, project: str | None, error: str = "", description: str = "") -> dict[str, str]:
        """Return the header for a request without a valid token."""
        fields = {"error": error, "error_description": description}
        if self._resources is not None:
            fields |= {"resource_metadata": self._resources.metadata_url(project), "scope": " ".join(SCOPES)}
        return _header(fields)

    def refuse(self, project: str | None, right: str = "") -> dict[str, str]:
        """Return the header for a token that lacks `right`, or for one that has none of the rights if `right` is ""."""
        fields = {"error": "insufficient_scope", "scope": SCOPE + right if right else " ".join(SCOPES)}
        if self._resources is not None:
            fields["resource_metadata"] = self._resources.metadata_url(project)
        return _header(fields)


def _header(fields: dict[str, str]) -> dict[str, str]:
    """Return the header. The values are ours: none of them has a quotation mark or a backslash."""
    text = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)
    return {"www-authenticate": f"Bearer {text}".strip()}


def is_access_token(text: str) -> bool:
    """Return whether a text looks like a JWT. Tokens of the token file have no dot."""
    return len(text) <= LONGEST and _SHAPE.fullmatch(text) is not None


async def check_access(authority: Authority, challenges: Challenges, text: str, project: str | None) -> Token:
    """Return the caller of an access token. Raise Refusal: 401, 403 or 503."""
    try:
        return await authority.find(text, project)
    except Unavailable:
        raise Refusal(
            HTTPStatus.SERVICE_UNAVAILABLE, "The server cannot get the keys of the issuer now.", {"retry-after": "10"}
        ) from None
    except TokenDenied as denied:
        if denied.kind == "scope":
            raise Refusal(
                HTTPStatus.FORBIDDEN, f"This token does not suffice. {denied.text}", challenges.refuse(project)
            ) from None
        challenge = challenges.challenge(project, "invalid_token", denied.text)
        raise Refusal(HTTPStatus.UNAUTHORIZED, f"This token is not valid. {denied.text}", challenge) from None
