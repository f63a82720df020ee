"""One request to a server over HTTP: its bytes, the forms of a response, and each way in which it can fail."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from nexus_mcp.remote import proxy
from nexus_mcp.remote.address import Address, parse
from nexus_mcp.remote.connection import Connection, Unreachable
from tests.remote.listener import Listener, make_certificate

TOKEN = "nexus_secret"
WAIT_S = 60
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nX: y\r\n\r\n"
UNTIL_CLOSE = b"HTTP/1.0 200 OK\r\n\r\n{}"
CONTINUED = b"HTTP/1.1 100 Continue\r\n\r\n" + OK
FORMS = {"a length": OK, "chunks": CHUNKED, "the end of the connection": UNTIL_CLOSE, "after 100": CONTINUED}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "NEXUS_CA", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)


def at(listener: Listener, scheme: str = "http", host: str = "127.0.0.1") -> Address:
    return parse(f"{scheme}://{host}:{listener.port}/mcp", "--url")


def post(address: Address, seconds: float = WAIT_S) -> tuple[int, bytes]:
    connection = Connection(address)
    try:
        return connection.send("POST", address.hook_path, b"{}", TOKEN, seconds)
    finally:
        connection.close()


@pytest.mark.parametrize("form", FORMS)
def test_response_is_read_in_each_form(form: str) -> None:
    """The body ends after its length, with its last chunk, or with the connection."""
    with Listener(FORMS[form]) as listener:
        assert post(at(listener)) == (200, b"{}")


def test_request_has_the_token_and_its_length() -> None:
    """The server gets one request with Host, token and body."""
    with Listener(OK) as listener:
        post(at(listener))
    head, _, body = listener.heard[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /hook HTTP/1.1"
    assert {f"Host: 127.0.0.1:{listener.port}", f"Authorization: Bearer {TOKEN}", "Content-Length: 2"} <= {*lines}
    assert body == b"{}"


def test_redirect_is_not_followed() -> None:
    """A redirect is returned as it is, and the other server gets nothing."""
    with Listener(OK) as other:
        there = f"http://127.0.0.1:{other.port}/hook".encode()
        moved = b"HTTP/1.1 307 Moved\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % there
        with Listener(moved) as listener:
            assert post(at(listener))[0] == 307
        assert other.connections == 0


FAULTS = {
    "no answer at all": (b"", "in the middle"),
    "a cut body": (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "in the middle"),
    "a cut head": (b"HTTP/1.1 200 OK\r\nContent-", "in the middle"),
    "a cut chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "in the middle"),
    "another protocol": (b"SSH-2.0-x\r\n\r\n", "does not speak HTTP"),
    "an endless head": (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, "does not speak HTTP"),
    "a body that is too large": (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", "too large"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_malformed_response_raises_unreachable(fault: str) -> None:
    """A response that is truncated, too large or no HTTP raises Unreachable with the reason."""
    answer, reason = FAULTS[fault]
    with Listener(answer) as listener, pytest.raises(Unreachable, match=reason):
        post(at(listener))


def test_silent_server_is_given_up() -> None:
    """If a server accepts the connection and sends nothing, the request fails after the time limit."""
    with Listener(None) as listener, pytest.raises(Unreachable, match="did not answer in time"):
        post(at(listener), 0.2)


def test_port_without_a_server_is_named() -> None:
    """If no server listens on the port, the reason says so."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        port = made.getsockname()[1]
    with pytest.raises(Unreachable, match="nothing listens there"):
        post(parse(f"http://127.0.0.1:{port}/mcp", "--url"))


def test_connection_is_kept_and_replaced_when_it_has_ended() -> None:
    """Two requests share a connection; after the server has closed it, the next one opens another."""
    closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
    with Listener(OK, OK, closing, OK, keeps=True) as listener:
        connection = Connection(at(listener))
        for _ in range(3):
            assert connection.send("POST", "/hook", b"", TOKEN, WAIT_S) == (200, b"{}")
        assert listener.connections == 1
        assert connection.send("POST", "/hook", b"", TOKEN, WAIT_S) == (200, b"{}")
        assert listener.connections == 2
        connection.close()


def test_certificate_has_to_be_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A self-signed certificate is refused without NEXUS_CA or SSL_CERT_FILE, and accepted with either of them."""
    own = make_certificate(tmp_path)
    with Listener(OK, OK, OK, certificate=own) as listener:
        address = at(listener, "https")
        with pytest.raises(Unreachable, match="certificate that cannot be trusted") as caught:
            post(address)
        assert "into NEXUS_CA" in caught.value.next_step
        monkeypatch.setenv("NEXUS_CA", str(own[0]))
        assert post(address) == (200, b"{}")
        monkeypatch.delenv("NEXUS_CA")
        monkeypatch.setenv("SSL_CERT_FILE", str(own[0]))
        assert post(address) == (200, b"{}")
    assert all(TOKEN.encode() in heard for heard in listener.heard)
    assert len(listener.heard) == 2, "the token went to a server that could not be trusted"


def test_certificate_of_another_host_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A known certificate for another name gets no token."""
    own = make_certificate(tmp_path, "other.example")
    monkeypatch.setenv("NEXUS_CA", str(own[0]))
    untrusted = pytest.raises(Unreachable, match="certificate that cannot be trusted")
    with Listener(OK, certificate=own) as listener, untrusted as caught:
        post(at(listener, "https"))
    assert listener.heard == []
    assert caught.value.next_step == ""


def test_missing_file_of_certificates_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the file of NEXUS_CA is missing, the server gets no request."""
    monkeypatch.setenv("NEXUS_CA", str(tmp_path / "none.pem"))
    unnamed = pytest.raises(Unreachable, match="NEXUS_CA names no file of certificates")
    with Listener(OK, certificate=make_certificate(tmp_path)) as listener, unnamed:
        post(at(listener, "https"))
    assert listener.heard == []


def test_proxy_is_for_https_of_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback, http:// and the hosts of NO_PROXY go without a proxy."""
    environ = {"HTTPS_PROXY": "http://u:p@proxy.example:3128", "NO_PROXY": ".inside.example,one.example:8443"}

    def found(url: str) -> str:
        one = proxy.find(parse(url, "--url", is_plain_allowed=True), environ)
        return "" if one is None else f"{one.credentials}@{one.host}:{one.port}"

    assert found("https://nexus.example.org/mcp") == "u:p@proxy.example:3128"
    without = ("http://nexus.example.org/mcp", "https://127.0.0.1/mcp", "https://a.inside.example/mcp")
    assert [found(url) for url in (*without, "https://one.example/mcp")] == ["", "", "", ""]
    assert proxy.find(parse("https://a.example/mcp", "--url"), {"HTTPS_PROXY": "socks5://x:1"}) is None


def test_tunnel_leads_to_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the proxy the server has to prove its name, and gets the request; the proxy has seen its name only."""
    own = make_certificate(tmp_path, "nexus.example.org")
    monkeypatch.setenv("NEXUS_CA", str(own[0]))
    with Listener(OK, certificate=own, is_proxy=True) as listener:
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:word@127.0.0.1:{listener.port}")
        assert post(parse("https://nexus.example.org/mcp", "--url")) == (200, b"{}")
    asked, request = listener.heard
    assert b"Proxy-Authorization: Basic dXNlcjp3b3Jk\r\n" in asked
    assert TOKEN.encode() not in asked
    assert f"Authorization: Bearer {TOKEN}".encode() in request


def test_proxy_that_answers_byte_by_byte_is_given_up() -> None:
    """The time of a request is for the whole tunnel, not for each byte of the proxy."""
    ours, theirs = socket.socketpair()
    seconds = iter((60.0, 60.0))

    def left() -> float:
        try:
            return next(seconds)
        except StopIteration:
            raise Unreachable("did not answer in time") from None

    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 200")
        with pytest.raises(Unreachable):
            proxy.open_tunnel(ours, proxy.Proxy("proxy", 3128, ""), parse("https://a.example/mcp", "--url"), left)


def test_proxy_gets_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy gets a CONNECT request without the token; if it refuses, the reason says so."""
    with Listener(b"HTTP/1.1 403 No\r\n\r\n") as listener:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{listener.port}")
        with pytest.raises(Unreachable, match="the proxy refused the connection"):
            post(parse("https://nexus.example.org/mcp", "--url"))
    assert listener.heard[0].startswith(b"CONNECT nexus.example.org:443 HTTP/1.1\r\n")
    assert TOKEN.encode() not in listener.heard[0]
