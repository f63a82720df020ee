"""Verify the access token of a request, a JWT that the issuer signed for this server, and return its caller.

Only servers with OAuth import this module: its libraries are slow to import.
"""

from __future__ import annotations

import re
import time
from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING, Any

from jwt import PyJWS
from jwt.exceptions import PyJWTError

from nexus_mcp import log
from nexus_mcp.errors import NexusError
from nexus_mcp.server.http.limits import Throttle
from nexus_mcp.server.http.oauth import claims as claims_of
from nexus_mcp.server.http.oauth.claims import ExpectedClaims
from nexus_mcp.server.http.oauth.fetch import Fetcher
from nexus_mcp.server.http.oauth.issuer import Issuer
from nexus_mcp.server.http.oauth.keys import ALGORITHMS, choose
from nexus_mcp.server.http.oauth.resources import Resources
from nexus_mcp.server.http.refusal import TokenDenied
from nexus_mcp.store.codec import decode

if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.server.http.address import Place
    from nexus_mcp.server.http.oauth.keys import Key
    from nexus_mcp.server.http.oauth.settings import OAuthSettings
    from nexus_mcp.server.http.tokens import Token

_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_TYPE = "at+jwt"
_PLAIN_TYPES = ("", "jwt")
_DEPTH = 16


class Authority:
    """Decides which access tokens are valid.

    `has_projects` is true if the server has a projects file. `now` returns the time that `exp`, `nbf` and `iat` are
    compared with.
    """

    def __init__(self, issuer: Issuer, resources: Resources, *, has_projects: bool, accepts_plain: bool) -> None:
        self.issuer = issuer
        self.resources = resources
        self._has_projects = has_projects
        self._accepts_plain = accepts_plain
        self._verifier = PyJWS(algorithms=sorted(ALGORITHMS))
        self._lines = Throttle()
        self.now: Callable[[], float] = time.time

    async def find(self, text: str, project: str | None) -> Token:
        """Return the caller for a request to a project. Raise TokenDenied, Unavailable."""
        if not _SHAPE.fullmatch(text):
            raise TokenDenied("", "It is no signed JWT.")
        key_id, algorithm = self._header(text)
        claims = await self._verify(text, key_id, algorithm)
        expected = ExpectedClaims(self.issuer.url, self.resources, project, self._has_projects, self.now())
        try:
            return claims_of.caller(claims, expected)
        except TokenDenied as denied:
            self._note(denied, claims)
            raise

    def _header(self, text: str) -> tuple[str, str]:
        """Return the key id ("" without one) and the algorithm from the header of a token. Raise TokenDenied.

        A key (jwk, x5c) or the URL of one (jku, x5u) in the header is ignored: a token must not choose its own key.
        """
        header = _object(text.partition(".")[0])
        type_, algorithm, key_id = header.get("typ", ""), header.get("alg"), header.get("kid", "")
        if not isinstance(type_, str) or not isinstance(key_id, str) or "crit" in header or "b64" in header:
            raise TokenDenied("", "Its header is malformed.")
        plain = type_.lower().removeprefix("application/")
        if plain != _TYPE and not (self._accepts_plain and plain in _PLAIN_TYPES):
            raise TokenDenied("", "It is no access token (at+jwt).")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise TokenDenied("", "Its algorithm is not accepted.")
        return key_id, algorithm

    async def _verify(self, text: str, key_id: str, algorithm: str) -> dict[str, Any]:
        """Verify the signature, and return the claims. Raise TokenDenied, Unavailable."""
        keys = await self.issuer.keys()
        key = choose(keys, key_id, algorithm)
        if key is None or (not key_id and not self._is_signed(text, key, algorithm)):
            # The key may be newer than ours: its id is unknown, or the token names no id and our keys do not fit.
            key = choose(await self.issuer.newer_keys(), key_id, algorithm)
        if key is None or not self._is_signed(text, key, algorithm):
            raise TokenDenied("", "Its signature is not right.")
        return _object(text.split(".")[1])

    def _is_signed(self, text: str, key: Key, algorithm: str) -> bool:
        try:
            self._verifier.decode_complete(text, key.public, [algorithm])
        except (PyJWTError, ValueError, TypeError):
            return False
        return True

    def _note(self, denied: TokenDenied, claims: dict[str, Any]) -> None:
        """Log why a token of the issuer was refused: the cause is often a wrong setting or clock."""
        text = f"a token of {self.issuer.url} was refused. {denied.text}"
        if denied.kind == "audience":
            text += f" Audience: {claims_of.shown_audience(claims)}, not {self.resources.base}"
        if denied.kind == "clock":
            text += f" This machine's clock says {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(self.now()))}"
        self._lines.log(log.warning, denied.kind, text)


def make_authority(settings: OAuthSettings, place: Place, *, is_tls: bool, has_projects: bool) -> Authority:
    """Return the Authority of a server that listens at `place`."""
    host = f"[{place.host}]" if ":" in place.host else place.host
    base = settings.audience or f"{'https' if is_tls else 'http'}://{host}:{place.port}"
    return Authority(
        Issuer(settings, Fetcher()),
        Resources(base, settings.issuer),
        has_projects=has_projects,
        accepts_plain=settings.accepts_plain,
    )


def _object(part: str) -> dict[str, Any]:
    """Return the JSON object in a part of a token. Raise TokenDenied."""
    try:
        value = decode(urlsafe_b64decode(part + "=" * (-len(part) % 4)), "token", _DEPTH)
    except (NexusError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise TokenDenied("", "It is malformed.")
    return value
