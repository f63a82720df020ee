"""The server reads forwarded headers of named proxies only: the client's address and the scheme."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from starlette.datastructures import Headers

from nexus_mcp import log
from nexus_mcp.errors import UsageError
from nexus_mcp.server.http.forwarded import Proxies
from nexus_mcp.server.http.refusal import Refusal
from tests.server.http.serving import make_token, serving
from tests.wire.connection import modern

if TYPE_CHECKING:
    from pathlib import Path

PROXY, OTHER = "10.0.0.5", "10.0.0.6"
NAMED = (PROXY, "10.1.0.0/16", "2001:db8::/32")
Rows = list[tuple[str, str]]


def headers(rows: Rows) -> Headers:
    return Headers(raw=[(name.encode(), value.encode()) for name, value in rows])


def client(peer: str, rows: Rows) -> str:
    return Proxies(NAMED, "--forwarded-from").client({"client": (peer, 1)}, headers(rows))


FOR, FORWARDED, PROTO = "x-forwarded-for", "forwarded", "x-forwarded-proto"
CLIENTS: dict[str, tuple[str, Rows, str]] = {
    "no header": (PROXY, [], PROXY),
    "a client": (PROXY, [(FOR, "203.0.113.7")], "203.0.113.7"),
    "a client that is no proxy": (OTHER, [(FOR, "203.0.113.7")], OTHER),
    "a client that is no proxy, and says it is local": (OTHER, [(FOR, "127.0.0.1")], OTHER),
    "what the client wrote before": (PROXY, [(FOR, "127.0.0.1, 203.0.113.7")], "203.0.113.7"),
    "a header before that of the proxy": (PROXY, [(FOR, "127.0.0.1"), (FOR, "203.0.113.7")], "203.0.113.7"),
    "two proxies": (PROXY, [(FOR, "1.1.1.1, 203.0.113.7, 10.1.2.3")], "203.0.113.7"),
    "proxies alone": (PROXY, [(FOR, "10.1.2.3")], "10.1.2.3"),
    "no address": (PROXY, [(FOR, "203.0.113.7, localhost")], PROXY),
    "no address before a proxy": (PROXY, [(FOR, "unknown, 10.1.2.3")], "10.1.2.3"),
    "an empty one": (PROXY, [(FOR, "")], PROXY),
    "commas": (PROXY, [(FOR, ",,,")], PROXY),
    "a port": (PROXY, [(FOR, "203.0.113.7:4711")], "203.0.113.7"),
    "IPv6": (PROXY, [(FOR, "2001:db9::7")], "2001:db9::7"),
    "IPv6 with a port": (PROXY, [(FOR, "[2001:db9::7]:4711")], "2001:db9::7"),
    "IPv4 in IPv6": (f"::ffff:{PROXY}", [(FOR, "::ffff:203.0.113.7")], "203.0.113.7"),
    "an IPv6 proxy": ("2001:db8::1", [(FOR, "203.0.113.7")], "203.0.113.7"),
    "a zone": (PROXY, [(FOR, "fe80::1%eth0")], "fe80::1%eth0"),
    "a line break": (PROXY, [(FOR, "203.0.113.7\\nx")], PROXY),
    "the standard header": (PROXY, [(FORWARDED, 'for="[2001:db9::7]:4711";proto=https, for=10.1.2.3')], "2001:db9::7"),
    "the standard header, hidden": (PROXY, [(FORWARDED, "for=203.0.113.7, for=_hidden")], PROXY),
    "the standard header, malformed": (PROXY, [(FORWARDED, 'for="a"b, ;;=, for')], PROXY),
    "both headers": (PROXY, [(FOR, "203.0.113.7"), (FORWARDED, "for=203.0.113.7")], "203.0.113.7"),
    "two headers that differ": (PROXY, [(FOR, "203.0.113.7"), (FORWARDED, "for=127.0.0.1")], PROXY),
    "many": (PROXY, [(FOR, "1.1.1.1," * 1000 + "203.0.113.7")], "203.0.113.7"),
    "too many proxies": (PROXY, [(FOR, "203.0.113.7" + ",10.1.2.3" * 60)], "10.1.2.3"),
    "no peer": ("", [(FOR, "203.0.113.7")], ""),
}  # fmt: skip


@pytest.mark.parametrize("what", CLIENTS)
def test_address_of_the_client(what: str) -> None:
    """The client is the nearest address that is not a named proxy; else it is the peer of the connection."""
    peer, rows, expected = CLIENTS[what]
    assert client(peer, rows) == expected


SCHEMES: dict[str, tuple[str, Rows, bool]] = {
    "no header": (PROXY, [], True),
    "https": (PROXY, [(PROTO, "https")], True),
    "HTTPS": (PROXY, [(PROTO, "HTTPS")], True),
    "http": (PROXY, [(PROTO, "http")], False),
    "both": (PROXY, [(PROTO, "https, http")], False),
    "twice": (PROXY, [(PROTO, "https"), (PROTO, "http")], False),
    "the standard header": (PROXY, [(FORWARDED, "for=1.1.1.1;proto=http")], False),
    "the standard header says otherwise": (PROXY, [(PROTO, "http"), (FORWARDED, "proto=https")], False),
    "the standard header with https": (PROXY, [(FORWARDED, 'proto="https";for=1.1.1.1')], True),
    "no proxy": (OTHER, [(PROTO, "http")], True),
}


@pytest.mark.parametrize("what", SCHEMES)
def test_request_in_clear_text_is_refused(what: str) -> None:
    """A named proxy that got a request by http says so, and the request is refused with 403."""
    peer, rows, is_accepted = SCHEMES[what]
    proxies = Proxies(NAMED, "--forwarded-from")
    if is_accepted:
        proxies.check_scheme({"client": (peer, 1)}, headers(rows))
        return
    with pytest.raises(Refusal) as caught:
        proxies.check_scheme({"client": (peer, 1)}, headers(rows))
    assert caught.value.status == 403


@pytest.mark.parametrize("name", ["", "localhost", "10.0.0.5/8", "*", "10.0.0.0/33"])
def test_proxy_is_named_by_an_address_or_a_network(name: str) -> None:
    """Host names and networks with host bits are refused, because they are ambiguous."""
    with pytest.raises(UsageError, match="is no address and no network"):
        Proxies([name], "--forwarded-from")


@pytest.mark.parametrize(("named", "shown"), [(("127.0.0.1",), "203.0.113.7"), ((), "127.0.0.1")])
def test_refusals_are_logged_with_the_address(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], named: tuple[str, ...], shown: str
) -> None:
    """The log line of a refused request has the address of its client, but not its token."""

    async def work() -> None:
        make_token(tmp_path, "laptop")
        settings: dict[str, Any] = {"is_behind_proxy": True, "hosts": ("127.0.0.1:8750",), "forwarded_from": named}
        async with serving(tmp_path, **settings) as one:
            rows: dict[str, Any] = {"x_forwarded_for": "203.0.113.7", "x_forwarded_host": "evil.example"}
            reply = await one.modern(modern(1, "tools/list"), token="nexus_secret", **rows)
            assert reply.status == 401
            reply = await one.modern(modern(1, "tools/list"), token="nexus_secret", x_forwarded_proto="http")
            assert reply.status == (403 if named else 401)

    log.set_level("info")
    try:
        asyncio.run(work())
    finally:
        log.set_level("warning")
    err = capfd.readouterr().err
    assert f"refused a request of {shown}: 401 This token is not valid." in err
    assert "secret" not in err
