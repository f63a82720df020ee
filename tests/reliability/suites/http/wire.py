"""A small HTTP/1.1 client: one request at a time on a connection that it opens again after each failure."""

from __future__ import annotations

import asyncio
import json
from typing import NamedTuple

from tests.reliability.suite import Json
from tests.reliability.suites.http.server import HOST

LIMIT_S = 90.0
"""A request without an answer for so long counts as hung."""
_MODERN = "2026-07-28"
_META = {"io.modelcontextprotocol/protocolVersion": _MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
_ACCEPT = "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"


class Lost(Exception):
    """The connection ended before the whole answer was there."""


class Reply(NamedTuple):
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> Json:
        """Return the JSON-RPC message of the body, or of the last event."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            data = [line[6:] for line in self.body.decode().splitlines() if line.startswith("data: {")]
            return json.loads(data[-1])
        return json.loads(self.body)


class Connection:
    """A client's connection to `port`."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, path: str, message: Json, headers: str = "") -> Reply:
        """Return the answer to a POST of the message. Raise Lost, and TimeoutError if nothing comes."""
        try:
            async with asyncio.timeout(LIMIT_S):
                if self._streams is None:
                    self._streams = await asyncio.open_connection("127.0.0.1", self._port)
                reader, writer = self._streams
                writer.write(post(self._token, path, message, headers))
                await writer.drain()
                reply = await read_reply(reader)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            self.close()
            if isinstance(error, TimeoutError):
                raise
            raise Lost from error
        if reply.headers.get("connection") == "close":
            self.close()
        return reply

    def close(self) -> None:
        """End the connection."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


def post(token: str, path: str, message: Json, headers: str) -> bytes:
    """Return the bytes of a request."""
    body = json.dumps(message).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {token}\r\n{_ACCEPT}{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def read_reply(reader: asyncio.StreamReader) -> Reply:
    """Return a whole answer. Raise asyncio.IncompleteReadError, ValueError."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    status = int(head[0].split(" ")[1])
    body = b""
    if headers.get("transfer-encoding") == "chunked":
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readexactly(2)
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Reply(status, headers, body)


def modern(id_: int, method: str, meta: Json, **params: Json) -> tuple[Json, str]:
    """Return a message of 2026-07-28 and the headers that it needs."""
    name = f"Mcp-Name: {params['name']}\r\n" if "name" in params else ""
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": {"_meta": {**_META, **meta}, **params}}
    return message, f"Mcp-Protocol-Version: {_MODERN}\r\nMcp-Method: {method}\r\n{name}"


def initialize() -> Json:
    """Return the message that begins a session."""
    client = {"name": "proof", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
