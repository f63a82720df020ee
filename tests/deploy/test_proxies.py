"""The proxies of Debian with the files of deploy/: calls, streams, sessions, cancellation and limits through TLS.

A proxy that is not installed skips its tests; .ci/run installs both, or says that they did not run.
"""

from __future__ import annotations

import contextlib
import json
import socket
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.server.subscriptions.streams import MOST_STREAMS
from tests.deploy.proxies import NAME, PROXIES, behind, find
from tests.server.http.serving import ACCEPT, headers_of
from tests.wire.connection import initialize, modern, request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPResponse, HTTPSConnection

    from tests.deploy.proxies import Place

Json = Any
TRIES = 500
CALL = modern(1, "tools/call", name="task_list", arguments={})
LISTEN = modern(1, "subscriptions/listen", notifications={"resourceSubscriptions": ["nexus://tasks"]})


@pytest.fixture(scope="module", params=PROXIES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A server behind each proxy."""
    if find(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    with behind(request.param) as made:
        yield made


def send(connection: HTTPSConnection, place: Place, message: Json, **more: str) -> HTTPResponse:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    headers = {"Authorization": f"Bearer {place.token}", "Accept": ACCEPT, "Content-Type": "application/json"}
    connection.request("POST", "/mcp", data, {**headers, **more})
    return connection.getresponse()


def ask(place: Place, message: Json, **more: str) -> tuple[int, str]:
    """Return status and body of a request on a connection of its own."""
    headers = {} if isinstance(message, bytes) else headers_of(message)
    with contextlib.closing(place.connect()) as connection:
        answer = send(connection, place, message, **{**headers, **more})
        return answer.status, answer.read().decode()


def listen(place: Place) -> tuple[HTTPSConnection, HTTPResponse]:
    """Open a stream, and return it after its first line."""
    connection = place.connect()
    answer = send(connection, place, LISTEN, **headers_of(LISTEN))
    return connection, answer


def leave(connection: HTTPSConnection) -> None:
    """Close a connection whose response is open, as a client that cancels."""
    connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()


def line_with(stream: HTTPResponse, text: bytes) -> bytes:
    """Return the next line of a stream with this text. The timeout of the connection ends a wait without one."""
    while text not in (line := stream.readline()):
        assert line, "the stream has ended"
    return line


def test_call_is_answered_through_tls(place: Place) -> None:
    """The certificate is valid, Host is passed on, and the response is that of the server."""
    status, body = ask(place, CALL)
    assert (status, json.loads(body)["result"]["isError"]) == (200, False)


def test_wrong_host_and_token_are_refused_by_the_server(place: Place) -> None:
    """The proxy passes the server's refusals on: 421 for another Host, 401 for another token."""
    assert ask(place, CALL, Host=f"{NAME}:1")[0] == 421
    assert ask(place, CALL, Authorization="Bearer x")[0] == 401


def test_event_of_a_stream_arrives_while_it_is_open(place: Place) -> None:
    """A subscriber gets the acknowledgement, then the change of another client, and comments in between."""
    connection, stream = listen(place)
    line_with(stream, b"notifications/subscriptions/acknowledged")
    line_with(stream, b": ping")
    added = modern(2, "tools/call", name="task_add", arguments={"title": "T", "context": "C"})
    assert ask(place, added)[0] == 200
    line_with(stream, b"notifications/resources/updated")
    leave(connection)


def test_session_streams_and_ends(place: Place) -> None:
    """A session of the handshake era has its stream, and DELETE ends both."""
    connection = place.connect()
    answer = send(connection, place, initialize())
    session = answer.headers["mcp-session-id"]
    assert answer.read()
    headers = {"Authorization": f"Bearer {place.token}", "Accept": ACCEPT, "Mcp-Session-Id": session}
    other = place.connect()
    other.request("GET", "/mcp", headers=headers)
    stream = other.getresponse()
    assert stream.status == 200
    assert send(connection, place, request(2, "ping"), **headers).read()
    connection.request("DELETE", "/mcp", headers=headers)
    gone = connection.getresponse()
    gone.read()
    assert gone.status == 200
    assert b"event: message" not in stream.read(), "the end of the session ends its stream"
    assert send(connection, place, request(3, "ping"), **headers).status == 404
    for one in (connection, other):
        one.close()


def test_closed_streams_are_cancelled_at_the_server(place: Place) -> None:
    """When a client closes its streams, the server frees them: a token at its limit can open streams again."""
    opened = [listen(place) for _ in range(MOST_STREAMS)]
    for _, stream in opened:
        line_with(stream, b"acknowledged")
    assert "error" in ask(place, LISTEN)[1]
    for connection, _ in opened:
        leave(connection)
    for _ in range(TRIES):
        connection, stream = listen(place)
        if b"event: message" in stream.readline():
            leave(connection)
            return
        connection.close()
    pytest.fail("the streams of clients that went away stay open")


def test_bodies_up_to_4_mib_pass(place: Place) -> None:
    """The server answers the largest request, and refuses a larger one.

    The refusal comes while the proxy still sends the request. nginx passes 413 on; Caddy may notice first that its
    connection was closed: then it answers 502, or closes the connection of the client.
    """
    empty = json.dumps(modern(1, "tools/call", name="task_add", arguments={"title": ""})).encode()
    most = (4 << 20) - len(empty)
    headers = headers_of(modern(1, "tools/call", name="task_add", arguments={}))
    status, body = ask(place, empty.replace(b'"title": ""', b'"title": "%b"' % (b"x" * most)), **headers)
    assert (status, json.loads(body)["result"]["isError"]) == (200, True)
    try:
        status = ask(place, b"x" * ((4 << 20) + 1), **headers)[0]
    except (OSError, HTTPException):
        status = 502
    assert status in ((413,) if place.proxy == "nginx" else (413, 502))
    assert ask(place, CALL)[0] == 200
