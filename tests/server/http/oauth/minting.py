"""Make access tokens, right and wrong ones, with the keys of the authorization server."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Any

from jwt import get_algorithm_by_name

if TYPE_CHECKING:
    from tests.server.http.oauth.authorization import AuthorizationServer

NOW = 1_800_000_000
BASE = "http://127.0.0.1:8750"
RESOURCE = f"{BASE}/mcp"
SCOPES = "nexus:read nexus:write nexus:close"
GONE = object()
"""A value of a claim or of a header field that is left out."""


def part(value: Any) -> str:
    """Return a part of a JWT. Bytes stand for themselves."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(header: Any, claims: Any, key: Any, algorithm: str) -> str:
    """Return a JWT. Nothing of it is checked."""
    text = f"{part(header)}.{part(claims)}"
    made = get_algorithm_by_name(algorithm)
    return f"{text}.{part(made.sign(text.encode(), made.prepare_key(key)))}"


def claims(issuer: str, **changes: Any) -> dict[str, Any]:
    """Return the claims of a token that holds, with changes."""
    right = {
        "iss": issuer,
        "aud": RESOURCE,
        "sub": "alice",
        "client_id": "editor",
        "scope": SCOPES,
        "iat": NOW,
        "exp": NOW + 300,
        "jti": "1",
    }
    return {name: value for name, value in {**right, **changes}.items() if value is not GONE}


def mint(server: AuthorizationServer, *, header: dict[str, Any] | None = None, **changes: Any) -> str:
    """Return a token of the server's newest key, with changes to its claims and to its header."""
    key = server.keys[-1]
    fields = key.as_dict(private=False)
    head = {"typ": "at+jwt", "alg": fields["alg"], "kid": fields["kid"], **(header or {})}
    kept = {name: value for name, value in head.items() if value is not GONE}
    return sign(kept, claims(server.issuer, **changes), key.private_key, str(fields["alg"]))
