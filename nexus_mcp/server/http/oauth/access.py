"""Check an access token for the guard, and refuse it with a challenge. This module imports no JWT library."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

from nexus_mcp.server.http.oauth.denied import Denied, Unavailable
from nexus_mcp.server.http.refusal import Refusal

if TYPE_CHECKING:
    from nexus_mcp.server.http.oauth.authority import Authority
    from nexus_mcp.server.http.oauth.challenges import Challenges
    from nexus_mcp.server.http.tokens import Token

LONGEST = 16 * 1024
"""Maximum number of characters of an access token."""
_SHAPE = re.compile(r"[A-Za-z0-9_=-]+\.[A-Za-z0-9_=.-]+")


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
    except Denied as denied:
        if denied.kind == "scope":
            raise Refusal(
                HTTPStatus.FORBIDDEN, f"This token does not suffice. {denied.text}", challenges.forbidden(project)
            ) from None
        challenge = challenges.unauthorized(project, "invalid_token", denied.text)
        raise Refusal(HTTPStatus.UNAUTHORIZED, f"This token is not valid. {denied.text}", challenge) from None
