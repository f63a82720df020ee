"""Call a server over HTTP from many connections of one thread. The times do not include the parsing in this client."""

from __future__ import annotations

import json
import selectors
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.client import HELLO, PATIENCE, NotMeasurable

_CHUNK = 1 << 18
_VERSION = "2025-06-18"
_MODERN = "2026-07-28"
_LAST_CHUNK = b"0\r\n\r\n"
_ID = 100_000_000
"""The id in a request: `rush` replaces it by ids of the same length, because a session uses each id once."""


@dataclass
class Target:
    """A server: its port, path and token ("" for none)."""

    name: str
    port: int
    path: str = "/mcp"
    token: str = ""

    def request(self, body: bytes, headers: Mapping[str, str]) -> bytes:
        """Return a POST with this body."""
        fields = {
            "Host": f"127.0.0.1:{self.port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Content-Length": str(len(body)),
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
            **headers,
        }
        lines = [f"POST {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def modern(self, method: str, params: Mapping[str, Any]) -> bytes:
        """Return a request of 2026-07-28."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": _MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": HELLO["clientInfo"],
        }
        body = {"jsonrpc": "2.0", "id": _ID, "method": method, "params": {**params, "_meta": meta}}
        headers = {"MCP-Protocol-Version": _MODERN, "Mcp-Method": method}
        if "name" in params:
            headers["Mcp-Name"] = str(params["name"])
        return self.request(_json(body), headers)

    def handshake(self, method: str, params: Mapping[str, Any], session: str) -> bytes:
        """Return a request in a session."""
        body = {"jsonrpc": "2.0", "id": _ID, "method": method, "params": params}
        return self.request(_json(body), {"MCP-Protocol-Version": _VERSION, "Mcp-Session-Id": session})


@dataclass
class Connection:
    """One connection for many requests."""

    target: Target
    socket: socket.socket = field(init=False)
    rest: bytes = b""

    def __post_init__(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.target.port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> bytes:
        """Return the whole response. Raise NotMeasurable."""
        self.socket.sendall(request)
        while (answer := self.take()) is None:
            pass
        return answer

    def take(self) -> bytes | None:
        """Read once; return the whole response, None while a part is missing. Raise NotMeasurable."""
        try:
            chunk = self.socket.recv(_CHUNK)
        except OSError as error:
            raise NotMeasurable(f"{self.target.name} gives no response: {error}") from error
        if not chunk:
            raise NotMeasurable(f"{self.target.name} closed a connection")
        self.rest += chunk
        if not _is_whole(self.rest):
            return None
        whole, self.rest = self.rest, b""
        return whole

    def begin_session(self) -> str:
        """Make the handshake and return the id of the session."""
        body = _json({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
        session = header(self.ask(self.target.request(body, {})), "mcp-session-id")
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        headers = {"MCP-Protocol-Version": _VERSION, "Mcp-Session-Id": session}
        self.ask(self.target.request(_json(told), headers))
        return session


def header(response: bytes, name: str) -> str:
    """Return a header of a response, "" if it has none with this name."""
    head = response.partition(b"\r\n\r\n")[0].decode("latin-1")
    found = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:])
    return found.get(name, "")


def message_in(response: bytes) -> dict[str, Any]:
    """Return the last JSON-RPC message of a response. Raise NotMeasurable."""
    body = response.partition(b"\r\n\r\n")[2]
    if header(response, "transfer-encoding") == "chunked":
        body = _joined(body)
    if header(response, "content-type").startswith("text/event-stream"):
        body = [line[6:] for line in body.splitlines() if line.startswith(b"data: ")][-1]
    try:
        found = json.loads(body)
    except ValueError:
        raise NotMeasurable(f"no JSON-RPC response: {response[:300]!r}") from None
    assert isinstance(found, dict)
    return found


def rush(connections: Sequence[Connection], requests: Sequence[bytes], each: int) -> tuple[float, list[float], bytes]:
    """Send `each` requests on every connection: concurrently on all, one after the other on each.

    Return (responses per second, milliseconds of each, the last response). Raise NotMeasurable.
    """
    times: list[float] = []
    left = [each - 1] * len(connections)
    sent = [0.0] * len(connections)
    last = b""
    with selectors.DefaultSelector() as waiting:
        begun = time.perf_counter()
        for place, connection in enumerate(connections):
            waiting.register(connection.socket, selectors.EVENT_READ, place)
            sent[place] = time.perf_counter()
            connection.socket.sendall(_with_id(requests[place], _ID + place))
        while waiting.get_map():
            events = waiting.select(PATIENCE)
            if not events:
                raise NotMeasurable(f"{connections[0].target.name} did not answer")
            for key, _ in events:
                place = key.data
                answer = connections[place].take()
                if answer is None:
                    continue
                now = time.perf_counter()
                times.append((now - sent[place]) * 1000)
                last = answer
                if left[place]:
                    left[place] -= 1
                    sent[place] = now
                    connections[place].socket.sendall(_with_id(requests[place], _ID + len(times) + len(left)))
                else:
                    waiting.unregister(connections[place].socket)
        return len(times) / (time.perf_counter() - begun), times, last


def _with_id(request: bytes, number: int) -> bytes:
    return request.replace(b'"id":%d' % _ID, b'"id":%d' % number, 1)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _is_whole(data: bytes) -> bool:
    head, separator, body = data.partition(b"\r\n\r\n")
    if not separator:
        return False
    low = head.lower()
    at = low.find(b"\r\ncontent-length:")
    if at >= 0:
        return len(body) >= int(low[at + 17 :].split(b"\r\n", 1)[0])
    if b"\r\ntransfer-encoding: chunked" in low:
        return body == _LAST_CHUNK or body.endswith(b"\r\n" + _LAST_CHUNK)
    return True


def _joined(body: bytes) -> bytes:
    parts = []
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size, 16)
        parts.append(body[:length])
        body = body[length + 2 :]
        if not length:
            break
    return b"".join(parts)
