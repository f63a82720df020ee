"""Fetch a JSON document of the issuer, bounded in size and time, without following redirects."""

from __future__ import annotations

import asyncio
import ssl
import time
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import httpx2

from nexus_mcp.errors import NexusError
from nexus_mcp.server.http.oauth.settings import is_local, is_safe
from nexus_mcp.store.codec import decode

LARGEST = 256 * 1024
WAIT_S = 5.0
_HEADERS = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "nexus-mcp"}


class FetchError(Exception):
    """The document cannot be fetched; the message says why. `is_absent`: the issuer has no document at this URL."""

    def __init__(self, why: str, *, is_absent: bool = False) -> None:
        super().__init__(why)
        self.is_absent = is_absent


class FetchedDocument(NamedTuple):
    """A document, and how many seconds the issuer's clock is ahead of ours."""

    document: dict[str, Any]
    ahead_s: float


class Fetcher:
    """Fetches documents. It trusts the certificates of the system, or those of SSL_CERT_FILE or SSL_CERT_DIR."""

    def __init__(self) -> None:
        self._trust = httpx2.create_ssl_context()

    async def get(self, url: str) -> FetchedDocument:
        """Return the JSON object at `url`, with the difference of the clocks. Raise FetchError."""
        if not is_safe(url):
            raise FetchError(f"{url!r} is not a URL of https")
        try:
            async with asyncio.timeout(WAIT_S):
                return await self._get(url)
        except TimeoutError:
            raise FetchError(f"{url} did not answer within {WAIT_S:.0f} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise FetchError(_why(url, error)) from error

    async def _get(self, url: str) -> FetchedDocument:
        # The proxies in the environment variables are only for requests to other machines.
        client = httpx2.AsyncClient(
            verify=self._trust, trust_env=not is_local(url), follow_redirects=False, headers=_HEADERS
        )
        async with client, client.stream("GET", url) as response:
            if response.is_redirect:
                raise FetchError(f"{url} redirects to another place, which is not followed", is_absent=True)
            if response.status_code != httpx2.codes.OK:
                is_absent = response.is_client_error
                raise FetchError(f"{url} answers with {response.status_code}", is_absent=is_absent)
            if response.headers.get("content-encoding", "identity") != "identity":
                raise FetchError(f"{url} answers with a compressed document")
            data = bytearray()
            async for part in response.aiter_raw():
                data += part
                if len(data) > LARGEST:
                    raise FetchError(f"{url} answers with more than {LARGEST // 1024} KiB")
            ahead_s = _ahead_s(response.headers)
        try:
            document = decode(bytes(data), url)
        except NexusError as error:
            raise FetchError(f"{url} answers with no JSON: {error.fault}") from error
        if not isinstance(document, dict):
            raise FetchError(f"{url} answers with no JSON object")
        return FetchedDocument(document, ahead_s)


def _why(url: str, error: Exception) -> str:
    """Return why a connection failed. An untrusted certificate gets its own text, because users can correct it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate of {url} is not trusted: {cause.verify_message}"
        cause = cause.__cause__ or cause.__context__
    return f"{url} cannot be reached: {error or type(error).__name__}"


def _ahead_s(headers: httpx2.Headers) -> float:
    """Return the seconds by which the sender's clock is ahead of ours, 0.0 if the response has no usable date."""
    try:
        sent = parsedate_to_datetime(headers["date"]).timestamp()
        return sent + int(headers.get("age", "0")) - time.time()
    except (KeyError, ValueError):
        return 0.0
