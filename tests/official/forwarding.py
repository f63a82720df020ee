"""Forward requests to a server over HTTP, with its token and its names: the official suite cannot send a token."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_MOST_HEAD = 1 << 16
Change = Callable[[bytes], tuple[bytes, dict[str, str]]]
"""From the body of a request to another one, and to the values of its header Mcp-Name that are replaced."""


class Forwarder:
    """Listen on a free port of loopback. Each request gets the token, and a connection of its own to the server."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self.token = ""
        self.target = 0
        self.port = 0
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, limit=_MOST_HEAD)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def end(self) -> None:
        """End the open streams."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._pass_on(reader, writer)
        finally:
            self._open.discard(task)
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
        names = {line.partition(b":")[0].lower(): line.partition(b":")[2].strip() for line in head[1:]}
        body, replaced = self._change(await reader.readexactly(int(names.get(b"content-length", 0))))
        name = replaced.get(names.get(b"mcp-name", b"").decode("latin-1"), "")
        ours = {b"connection", b"content-length", *([b"mcp-name"] if name else [])}
        lines = [line for line in head if line.partition(b":")[0].lower() not in ours]
        # One request for each connection, so that the end of the response is the end of the connection.
        lines += [b"connection: close", b"authorization: Bearer " + self.token.encode()]
        lines += [b"content-length: %d" % len(body)] if b"content-length" in names else []
        lines += [b"mcp-name: " + name.encode()] if name else []
        back, out = await asyncio.open_connection("127.0.0.1", self.target)
        try:
            out.write(b"\r\n".join([*lines, b"", body]))
            ways = [asyncio.ensure_future(_copy(reader, out)), asyncio.ensure_future(_copy(back, writer))]
            try:  # the response, or a client that goes away, ends the exchange
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
        finally:
            out.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(_MOST_HEAD):
        sink.write(data)
        await sink.drain()


@contextmanager
def forwarding(change: Change) -> Iterator[Forwarder]:
    """Run a forwarder in a thread. Its `target` and `token` are set once the server listens."""
    forwarder, loop, is_up = Forwarder(change), asyncio.new_event_loop(), threading.Event()

    async def run() -> None:
        async with await forwarder.start():
            is_up.set()
            await ended.wait()
            await forwarder.end()

    ended = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    assert is_up.wait(60)
    try:
        yield forwarder
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(60)
        loop.close()
