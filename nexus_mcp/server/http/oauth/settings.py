"""The settings of OAuth, and the checks of their URLs."""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import urlsplit

from nexus_mcp.errors import UsageError
from nexus_mcp.server.http.address import LOCALHOST, MCP

ISSUER, AUDIENCE, JWKS = "--oauth-issuer", "--oauth-audience", "--oauth-jwks"
_LONGEST = 500
_URL = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?(/[A-Za-z0-9._~%!$&'()*+,;=:@/-]*)?")
"""URLs without user, query and fragment. None of their characters can end a quoted string in a header."""


class OAuthSettings(NamedTuple):
    """The options of OAuth. `audience` is the URL of this server, "" for the address where it listens; `jwks` is the
    URL of the issuer's keys, "" to read it from the issuer's metadata; `accepts_plain` also accepts tokens with the
    type JWT or without a type, besides at+jwt.
    """

    issuer: str
    audience: str = ""
    jwks: str = ""
    accepts_plain: bool = False


def check_oauth(settings: OAuthSettings, *, is_exposed: bool) -> None:
    """Raise UsageError for URLs that cannot be used, and for an exposed server without an audience."""
    check_url(settings.issuer, ISSUER)
    if settings.jwks:
        check_url(settings.jwks, JWKS)
    if settings.audience:
        check_url(settings.audience, AUDIENCE)
    elif is_exposed:
        raise UsageError(
            f"{ISSUER} needs the URL of this server, which tokens have to name.",
            next_step=f"Name it: {AUDIENCE} https://nexus.example.org",
        )
    if settings.audience.rstrip("/").endswith(MCP):
        raise UsageError(
            f"{AUDIENCE} names the server, without {MCP}.",
            next_step=f"Write it so: {AUDIENCE} {settings.audience.rstrip('/').removesuffix(MCP)}",
        )


def check_url(url: str, option: str) -> None:
    """Raise UsageError for a malformed URL, and unless the scheme is https, or http on loopback."""
    if len(url) > _LONGEST or not _URL.fullmatch(url) or not _has_host(url):
        raise UsageError(
            f"{option}: {url[:_LONGEST]!r} is no URL that can be used here.",
            next_step=f"Write scheme and host, without user, query and fragment: {option} https://login.example.org",
        )
    if not is_safe(url):
        raise UsageError(
            f"{option} needs https: over http, other machines on the way could change the responses.",
            next_step="http is accepted only for loopback addresses, such as localhost, 127.0.0.1 and [::1].",
        )


def is_safe(url: str) -> bool:
    """Return whether no other machine can change the responses of the URL: https, or http on loopback."""
    return bool(_URL.fullmatch(url)) and _has_host(url) and (url.startswith("https://") or is_local(url))


def is_local(url: str) -> bool:
    """Return whether the URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == LOCALHOST


def _has_host(url: str) -> bool:
    """Return whether the URL has a valid host, and no invalid port."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
