"""Check the claims of a token after its signature was verified (RFC 9068), and name the caller.

Claims are text of the issuer: subject, client and audience are escaped and shortened before they are shown.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote as percent_encode

from nexus_mcp.quoting import quote
from nexus_mcp.server.http.oauth.resources import SCOPE
from nexus_mcp.server.http.refusal import TokenDenied
from nexus_mcp.server.http.tokens import RIGHTS, Token

if TYPE_CHECKING:
    from nexus_mcp.server.http.oauth.resources import Resources

LEEWAY_S = 60
"""Seconds by which the clocks of the issuer and of this machine may differ."""
PROJECTS = "nexus_projects"
"""The claim with the names of projects."""
ALL = "*"
"""The entry of the claim that means all projects."""
PREFIX = "oauth:"
"""The prefix of names and ids made from claims. Names in the token file have no colon, so the two always differ."""
_LONGEST_CLAIM = 1000
_LONGEST_PART = 64
_HASH_CHARACTERS = 16
_LAST_SECOND = 1e12


class ExpectedClaims(NamedTuple):
    """The values that claims are checked against. `project` is the project of the request. `has_projects` is true if
    the server has a projects file.
    """

    issuer: str
    resources: Resources
    project: str | None
    has_projects: bool
    now: float


def caller(claims: dict[str, Any], expected: ExpectedClaims) -> Token:
    """Return a Token with the name, projects and rights from the claims. Raise TokenDenied."""
    if claims.get("iss") != expected.issuer:
        raise TokenDenied("issuer", "It is of another issuer.")
    expires = _check_times(claims, expected.now)
    projects = _projects(claims, expected)
    name, id_ = _identity(claims, expected.issuer)
    rights = _rights(claims)
    if not rights:
        raise TokenDenied("scope", "It has none of the scopes of this server.")
    return Token(name, id_, projects, rights, expires=expires)


def _check_times(claims: dict[str, Any], now: float) -> float:
    """Return the time from which the token is refused, in seconds of the epoch. Raise TokenDenied."""
    ends = _time(claims, "exp") + LEEWAY_S
    if now >= ends:
        raise TokenDenied("clock", "It has expired.")
    for name in ("nbf", "iat"):
        if name in claims and _time(claims, name) > now + LEEWAY_S:
            raise TokenDenied("clock", "It is not valid yet.")
    return ends


def _time(claims: dict[str, Any], name: str) -> float:
    """Return a time in seconds of the epoch. Raise TokenDenied."""
    value = claims.get(name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or abs(value) > _LAST_SECOND:
        raise TokenDenied("claims", f"It has no time {name}.")
    return float(value)


def _projects(claims: dict[str, Any], expected: ExpectedClaims) -> tuple[str, ...] | None:
    """Return the projects that the token is for, None for all. Raise TokenDenied for a token that is not for this
    server.

    The audience names one project, or the server. If it names a server with a projects file, the claim PROJECTS has to
    name the projects. If it names a project that the claim leaves out, the result is ().
    """
    audiences = _texts(claims, "aud")
    project, named = expected.project, _named_projects(claims)
    if project is not None and expected.resources.url_of(project) in audiences:
        return (project,) if named is None or ALL in named or project in named else ()
    if not any(name in audiences for name in expected.resources.names):
        raise TokenDenied("audience", "It is for another audience.")
    if named is None and expected.has_projects:
        raise TokenDenied("projects", f"It names no project: neither its audience nor the claim {PROJECTS} does.")
    return None if named is None or ALL in named else named


def _named_projects(claims: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the projects in the claim PROJECTS, None without this claim. Raise TokenDenied."""
    if PROJECTS not in claims:
        return None
    return tuple(_texts(claims, PROJECTS))


def _rights(claims: dict[str, Any]) -> frozenset[str]:
    """Return the rights in the scopes. Some issuers write scopes into `scp`, also as a list. Raise TokenDenied."""
    name = next((name for name in ("scope", "scp") if name in claims), "")
    scopes = " ".join(_texts(claims, name)).split(" ") if name else ()
    return frozenset(right for right in RIGHTS if SCOPE + right in scopes)


def _identity(claims: dict[str, Any], issuer: str) -> tuple[str, str]:
    """Return the caller's name, made from subject and client, and id, a hash of these and the issuer. Raise
    TokenDenied.
    """
    subject = claims.get("sub")
    client = claims.get("client_id", claims.get("azp", ""))
    if not isinstance(subject, str) or not isinstance(client, str) or not subject:
        raise TokenDenied("claims", "It names no subject and client.")
    if max(len(subject), len(client)) > _LONGEST_CLAIM:
        raise TokenDenied("claims", "Its subject or client is too long.")
    digest = hashlib.sha256(json.dumps([issuer, subject, client]).encode()).hexdigest()
    name = PREFIX + _plain(subject) + (f"/{_plain(client)}" if client else "")
    return name, PREFIX + digest


def _plain(text: str) -> str:
    """Return the text in letters, digits and `_.-~@%`; a long text is replaced by its beginning, `*` and a hash."""
    plain = percent_encode(text, safe="@", errors="surrogatepass")
    if len(plain) <= _LONGEST_PART:
        return plain
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{plain[: _LONGEST_PART - _HASH_CHARACTERS - 1]}*{digest[:_HASH_CHARACTERS]}"


def _texts(claims: dict[str, Any], name: str) -> list[str]:
    """Return the texts of a claim that is a text or a list of texts. Raise TokenDenied."""
    value = claims.get(name)
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise TokenDenied("claims", f"Its claim {name} is no list of texts.")
    return texts


def shown_audience(claims: dict[str, Any]) -> str:
    """Return the audience of a token for a log line."""
    return quote(json.dumps(claims.get("aud")), 200)
