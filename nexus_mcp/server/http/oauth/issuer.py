"""Keep the keys of the issuer: find them (RFC 8414, OpenID Connect), and fetch them again when they are old or when a
token may be signed with a newer key.

Clients can send any key id. So there is always a pause between the beginnings of two fetches.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nexus_mcp import log
from nexus_mcp.server.http.limits import Throttle
from nexus_mcp.server.http.oauth.fetch import FetchError
from nexus_mcp.server.http.oauth.keys import keys_of
from nexus_mcp.server.http.oauth.settings import JWKS, is_local, is_safe
from nexus_mcp.server.http.refusal import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.server.http.oauth.fetch import Fetcher
    from nexus_mcp.server.http.oauth.keys import Key
    from nexus_mcp.server.http.oauth.settings import OAuthSettings

PAUSE_S = 10.0
"""Seconds between the beginnings of two fetches, at least."""
FRESH_S = 300.0
"""Age of the keys in seconds from which the next token causes a fetch. Its request does not wait for the fetch."""
LONGEST_S = 3600.0
"""Seconds for which fetched keys are used while no fetch succeeds: the longest life of a withdrawn key."""
_MOST_WAITING = 100
_CLOCKS_S = 60.0


class Issuer:
    """The issuer, and the keys of the last successful fetch."""

    def __init__(self, settings: OAuthSettings, fetcher: Fetcher, now: Callable[[], float] = time.monotonic) -> None:
        self.url = settings.issuer
        self._named_jwks = settings.jwks
        self._jwks = settings.jwks
        self._fetcher = fetcher
        self._now = now
        self._keys: tuple[Key, ...] = ()
        self._fetched = self._begun = -math.inf
        self._task: asyncio.Task[None] | None = None
        self._waiting = 0
        self._lines = Throttle(now)

    async def keys(self) -> tuple[Key, ...]:
        """Return the keys. Raise Unavailable."""
        age = self._now() - self._fetched
        if age >= LONGEST_S:
            await self._wait()
            if self._now() - self._fetched >= LONGEST_S:
                raise Unavailable
        elif age >= FRESH_S:
            self.begin()
        return self._keys

    async def newer_keys(self) -> tuple[Key, ...]:
        """Return the keys after another fetch; the same keys if it fails or is not allowed yet. Raise Unavailable."""
        await self._wait()
        return self._keys

    def begin(self) -> None:
        """Begin a fetch, unless a fetch runs or began within the pause."""
        if self._task is None and self._now() - self._begun >= PAUSE_S:
            self._begun = self._now()
            self._task = asyncio.create_task(self._fetch())

    async def _wait(self) -> None:
        """Begin a fetch if allowed, and wait for the running one. Raise Unavailable if too many requests wait."""
        self.begin()
        if self._task is None:
            return
        if self._waiting >= _MOST_WAITING:
            raise Unavailable
        self._waiting += 1
        try:
            await asyncio.shield(self._task)
        finally:
            self._waiting -= 1

    async def _fetch(self) -> None:
        jwks = self._jwks
        try:
            jwks = jwks or await self._find()
            fetched = await self._fetcher.get(jwks)
            self._keys = keys_of(fetched.document)
            self._jwks, self._fetched = jwks, self._now()
            self._note(fetched.ahead_s)
        except (FetchError, ValueError) as error:
            self._note_failure(str(error) if isinstance(error, FetchError) else f"{jwks} {error}")
        except Exception as error:  # noqa: BLE001 - a library refuses the document; waiting requests must not fail
            self._note_failure(f"{jwks} {type(error).__name__}".strip())
        finally:
            self._task = None

    def _note_failure(self, why: str) -> None:
        self._jwks = self._named_jwks
        self._lines.log(log.error, "fetch", f"the keys of {self.url} cannot be fetched: {why}")

    async def _find(self) -> str:
        """Return the URL of the keys from the issuer's metadata. Raise FetchError."""
        why = ""
        for url in _descriptions(self.url):
            try:
                document = (await self._fetcher.get(url)).document
            except FetchError as error:
                if error.is_absent:
                    why = str(error)
                    continue
                raise
            if document.get("issuer") != self.url:
                raise FetchError(f"{url} describes another issuer")
            jwks = document.get("jwks_uri")
            if not isinstance(jwks, str) or not is_safe(jwks) or (is_local(jwks) and not is_local(self.url)):
                raise FetchError(f"{url} has no jwks_uri of https")
            return jwks
        raise FetchError(f"it has no metadata document, {why}; name the URL of its keys with {JWKS}")

    def _note(self, ahead_s: float) -> None:
        if not self._keys:
            self._lines.log(log.error, "keys", f"{self.url} has no key that can verify tokens")
        if abs(ahead_s) > _CLOCKS_S:
            which = "behind" if ahead_s > 0 else "ahead of"
            text = f"the clock of this machine is {abs(ahead_s):.0f} s {which} that of {self.url}: set it right"
            self._lines.log(log.warning, "clock", text)


def _descriptions(issuer: str) -> list[str]:
    """Return the URLs at which an issuer may have its metadata."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    return [
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}{path}/.well-known/openid-configuration",
    ]
