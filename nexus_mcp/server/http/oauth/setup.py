"""Put the parts of OAuth together. Only servers with OAuth import this module: its libraries are slow to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nexus_mcp.server.http.oauth.authority import Authority
from nexus_mcp.server.http.oauth.fetch import Fetcher
from nexus_mcp.server.http.oauth.issuer import Issuer
from nexus_mcp.server.http.oauth.resources import Resources

if TYPE_CHECKING:
    from nexus_mcp.server.http.address import Place
    from nexus_mcp.server.http.oauth.settings import OAuthSettings


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
