"""Web pages: a browser lets those of `--allow-origin` call the server and read its responses, and no others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import generate_latest

from tests.server.http.serving import HOST, Client, serving
from tests.wire.connection import initialize, modern

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.http.serving import Reply

PAGE = "https://app.example.org"
OTHER = "https://evil.example"
ASKED = "authorization,content-type,mcp-protocol-version,mcp-method,mcp-param-region"


def run(tmp_path: Path, work: Any, *origins: str) -> None:
    """Run `work` with a client of a server that accepts pages of these origins."""

    async def served() -> None:
        async with serving(tmp_path, origins=origins) as client:
            await work(client)

    asyncio.run(served())


async def preflight(client: Client, origin: str, method: str = "POST") -> Reply:
    """Ask as a browser does before a call: without a token."""
    return await client.request(
        "OPTIONS",
        "/mcp",
        authorization=None,
        origin=origin,
        access_control_request_method=method,
        access_control_request_headers=ASKED,
    )


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_browser_may_send_the_headers_of_mcp(tmp_path: Path, method: str) -> None:
    """A preflight of an accepted origin allows the methods of MCP, and every header that the page wants to send."""

    async def work(client: Client) -> None:
        reply = await preflight(client, PAGE, method)
        assert reply.status == 200
        assert reply.headers["access-control-allow-origin"] == PAGE
        assert method in reply.headers["access-control-allow-methods"].split(", ")
        assert reply.headers["access-control-allow-headers"] == ASKED
        assert "origin" in reply.headers["vary"].lower()

    run(tmp_path, work, "https://App.example.org")


def test_preflight_of_another_page_is_refused(tmp_path: Path) -> None:
    """A page of another origin gets no permission, as its later request would; nor does a method that MCP does not
    use.
    """

    async def work(client: Client) -> None:
        reply = await preflight(client, OTHER)
        assert reply.status == 403
        assert not [name for name in reply.headers if name.startswith("access-control")]
        assert (await preflight(client, PAGE, "PUT")).status == 400

    run(tmp_path, work, PAGE)


def test_preflights_are_counted_and_keep_the_default_headers(tmp_path: Path) -> None:
    """The metrics have each response and each refusal, and no response may be stored by a proxy."""

    async def work(client: Client) -> None:
        for origin in (PAGE, OTHER):
            reply = await preflight(client, origin)
            assert (reply.headers["cache-control"], reply.headers["x-content-type-options"]) == ("no-store", "nosniff")
        shown = generate_latest(client.service.metrics.registry).decode()
        assert 'nexus_http_responses_total{code="200"} 1.0' in shown
        assert 'nexus_refusals_total{code="403",reason="origin"} 1.0' in shown

    run(tmp_path, work, PAGE)


def test_page_can_read_responses_and_refusals(tmp_path: Path) -> None:
    """Results, a new session's id and refusals carry the permission, so that a page can read them."""

    async def work(client: Client) -> None:
        replies = [
            await client.modern(modern(1, "tools/list"), origin=PAGE),
            await client.request("POST", "/mcp", initialize(), origin=PAGE),
            await client.modern(modern(2, "tools/list"), origin=PAGE, token="nexus_wrong"),
        ]
        assert [reply.status for reply in replies] == [200, 200, 401]
        for reply in replies:
            assert reply.headers["access-control-allow-origin"] == PAGE
        exposed = replies[1].headers["access-control-expose-headers"].lower().split(", ")
        assert replies[1].headers["mcp-session-id"]
        assert {"mcp-session-id", "retry-after", "www-authenticate"} <= set(exposed)

    run(tmp_path, work, PAGE)


def test_other_page_reads_nothing(tmp_path: Path) -> None:
    """A request of another origin is refused, and its response has no permission."""

    async def work(client: Client) -> None:
        reply = await client.modern(modern(1, "tools/list"), origin=OTHER)
        assert reply.status == 403
        assert "access-control-allow-origin" not in reply.headers

    run(tmp_path, work, PAGE)


def test_server_without_origins_answers_no_preflight(tmp_path: Path) -> None:
    """No page may call a server whose owner named none; its responses have no headers of CORS."""

    async def work(client: Client) -> None:
        reply = await preflight(client, PAGE)
        assert reply.status == 403
        reply = await client.modern(modern(1, "tools/list"), origin=f"http://{HOST}")
        assert reply.status == 200
        assert not [name for name in reply.headers if name.startswith("access-control")]

    run(tmp_path, work)
