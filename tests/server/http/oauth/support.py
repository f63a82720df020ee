"""A server over HTTP that accepts the tokens of the authorization server, at a fixed time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from nexus_mcp.server.http.oauth.settings import OAuthSettings
from tests.server.http.oauth.minting import BASE, NOW
from tests.server.http.serving import Client, serving

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from nexus_mcp.server.http.oauth.authority import Authority


class Clock:
    """A time that only tests change."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


def authority(client: Client) -> Authority:
    """Return the Authority in the server of a client."""
    assert client.service.oauth is not None
    return client.service.oauth


def run(
    tmp_path: Path,
    issuer: str,
    work: Callable[[Client, Clock], Awaitable[None]],
    *,
    oauth: dict[str, Any] | None = None,
    **settings: Any,
) -> None:
    """Run `work` with a client of a new server, and the clock of its key fetches."""

    async def served() -> None:
        chosen = OAuthSettings(issuer, **{"audience": BASE, **(oauth or {})})
        async with serving(tmp_path, oauth=chosen, **settings) as client:
            clock = Clock(0.0)
            decides = authority(client)
            decides.now = Clock(NOW)
            decides.issuer._now = decides.issuer._lines._now = clock
            await work(client, clock)

    asyncio.run(served())
