"""Attack a server on raw sockets: malformed and slow requests, idle streams, and one token that takes everything."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from tests.reliability.suite import Piece, Tally
from tests.reliability.suites.http.attack_requests import malformed, request, smuggling
from tests.reliability.suites.http.server import HttpServer, Site
from tests.reliability.suites.http.storm import log_faults
from tests.reliability.suites.http.wire import LIMIT_S, Connection, modern, post

_MIB = 1 << 20
_AT_ONCE = 60
_PROBES = 20
_MOST_PER_STREAM = 512 << 10
"""Bytes of memory for each idle stream, at most."""
_DEFECTS = range(500, 503)
_LATEST = 6
"""A slow request must be cut off within so many of its deadlines. The server gives answers after each of them, so it
has been at work since, however busy the machine is.
"""
_MALFORMED, _SLOW, _STREAMS = "malformed requests", "slow requests", "idle streams"


def attack(piece: Piece) -> Tally:
    """Run one piece."""
    tally = Tally()
    site = Site(piece.folder, 5, 20)
    asyncio.run(_attack(piece, site, tally))
    tally.failures += log_faults(site)
    if any(any(root.iterdir()) for root in site.roots.values()):
        tally.failures.append("an attack has changed a project")
    return tally


async def _attack(piece: Piece, site: Site, tally: Tally) -> None:
    server = HttpServer(site, **piece.item["limits"])
    await server.started()
    try:
        await _ATTACKS[piece.item["attack"]](piece, site, server, tally)
        tally.failures += await _probe(site, server)
    finally:
        code = await server.end(signal.SIGTERM)
    if code != 0:
        tally.failures.append(f"the server ended with {code} after SIGTERM")


async def _probe(site: Site, server: HttpServer) -> list[str]:
    """Return a fault unless each call of the last token is answered."""
    connection = Connection(server.port, site.tokens[-1])
    try:
        for _ in range(_PROBES):
            message, headers = modern(1, "tools/call", {}, name="task_list", arguments={})
            reply = await connection.send("/p/p1/mcp", message, headers)
            if reply.status != HTTPStatus.OK:
                return [f"a call of another token was answered with {reply.status}"]
    except Exception as error:  # noqa: BLE001 - any failure counts
        return [f"a call of another token failed: {type(error).__name__}: {error}"]
    finally:
        connection.close()
    return []


async def status_of(port: int, data: bytes) -> int:
    """Send bytes on a connection of their own; return the status of the answer, 0 if the server only closed it. Raise
    TimeoutError.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(LIMIT_S):
            writer.write(data)
            while True:
                line = await reader.readline()
                if not line.startswith(b"HTTP/1.1 100"):
                    break
                await reader.readline()
    except (ConnectionError, ValueError):
        return 0
    finally:
        writer.transport.abort()
    return int(line.split(b" ")[1]) if line.startswith(b"HTTP/1.") else 0


async def _send_malformed(piece: Piece, site: Site, server: HttpServer, tally: Tally) -> None:
    """Send malformed requests: none causes an internal error or a hang, and each shape of smuggling is refused."""
    rng, free = piece.rng, asyncio.Semaphore(_AT_ONCE)
    for what, data in smuggling(site.tokens[0]).items():
        status = await status_of(server.port, data)
        tally.counts["shapes of request smuggling"] += 1
        if status and not HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
            tally.failures.append(f"{what} was answered with {status}")

    async def one(seed: float) -> None:
        data = malformed(random.Random(seed), site.tokens[0])
        async with free:
            try:
                status = await status_of(server.port, data)
            except TimeoutError:
                tally.failures.append(f"no answer and no end for {data[:300]!r}")
                return
        tally.counts[_MALFORMED] += 1
        tally.counts["malformed requests refused"] += status >= HTTPStatus.BAD_REQUEST
        if status in _DEFECTS:
            tally.failures.append(f"status {status} for {data[:300]!r}")

    await asyncio.gather(*(one(rng.random()) for _ in range(piece.item["number"])))


async def _send_slowly(piece: Piece, site: Site, server: HttpServer, tally: Tally) -> None:
    """Send heads and bodies a byte at a time: each is cut off after its deadline, and other clients are served."""
    head = request(site.tokens[0])
    body = head.index(b"\r\n\r\n") + 4
    deadline = max(piece.item["limits"].values())

    async def one(begin: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head[:begin])
        feeding = asyncio.ensure_future(feed(writer, head[begin:-1]))
        try:
            line = await reader.readline()
            if b" 408 " not in line and line:
                tally.failures.append(f"a slow request was answered with {line!r}")
            tally.counts[_SLOW] += 1
        except ConnectionError:
            tally.counts[_SLOW] += 1
        finally:
            feeding.cancel()
            writer.transport.abort()

    async def feed(writer: asyncio.StreamWriter, data: bytes) -> None:
        for byte in data:
            writer.write(bytes([byte]))
            await asyncio.sleep(deadline / 10)

    slow = [asyncio.ensure_future(one(10 if n % 2 else body)) for n in range(piece.item["number"])]
    tally.failures += await _probe(site, server)
    left = set(slow)
    for _ in range(_LATEST):
        _, left = await asyncio.wait(left, timeout=deadline)
        if not left:
            break
        tally.failures += await _probe(site, server)
    tally.failures += ["a slow request was not cut off"] * len(left)
    for task in left:
        task.cancel()
    await asyncio.gather(*(task for task in slow if task not in left))
    await asyncio.gather(*left, return_exceptions=True)


async def _open_streams(piece: Piece, site: Site, server: HttpServer, tally: Tally) -> None:
    """Keep streams open without reading more than their first event: memory is bounded, and others are served."""
    before, number = server.memory(), piece.item["number"]
    message, headers = modern(1, "subscriptions/listen", {}, notifications={"promptsListChanged": True})
    writers = []
    for index in range(number):
        token, path = site.tokens[index % 19], f"/p/p{index // 19 % 5}/mcp"
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writers.append(writer)
        writer.write(post(token, path, message, headers))
        async with asyncio.timeout(LIMIT_S):
            if b" 200 " in await reader.readline():
                tally.counts[_STREAMS] += 1
            while b"subscriptions/acknowledged" not in await reader.readline():
                pass
    tally.failures += await _probe(site, server)
    growth = server.memory() - before
    tally.peak("MB more memory with the idle streams", round(growth / _MIB, 1))
    if growth > number * _MOST_PER_STREAM + 32 * _MIB:
        tally.failures.append(f"{number} idle streams took {growth >> 20} MiB")
    if tally.counts[_STREAMS] != number:
        tally.failures.append(f"{tally.counts[_STREAMS]} of {number} streams were opened")
    for writer in writers:
        writer.transport.abort()


async def _take_everything(piece: Piece, site: Site, server: HttpServer, tally: Tally) -> None:
    """Open more requests of one token than there may be in all: it gets half of them, and others are served."""
    number, room = piece.item["number"], int(piece.item["limits"]["requests"])
    most = room // 2
    head = request(site.tokens[0])[:-1]  # the last byte of the body is missing
    writers, refused = [], list[asyncio.Task[bytes]]()
    for _ in range(number):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writers.append(writer)
        writer.write(head)
        refused.append(asyncio.ensure_future(reader.readline()))
    # Those that have no room without a share either are refused in any case: then the others have all that they get.
    for least in sorted({number - room if number > room else number - most, number - most}):
        async with asyncio.timeout(LIMIT_S):
            while sum(task.done() for task in refused) < least:
                await asyncio.sleep(0.05)
        if faults := await _probe(site, server):
            tally.failures += faults
            break
    statuses = [task.result().split(b" ")[1] for task in refused if task.done()]
    tally.counts["requests of one token beyond its share"] += len(statuses)
    if statuses != [b"429"] * (number - most):
        tally.failures.append(f"{len(statuses)} requests of {number} were refused, with {set(statuses)}")
    for task in refused:
        task.cancel()
    for writer in writers:
        writer.transport.abort()


_ATTACKS: dict[str, Callable[[Piece, Site, HttpServer, Tally], Awaitable[None]]] = {
    "malformed": _send_malformed,
    "slow": _send_slowly,
    "streams": _open_streams,
    "share": _take_everything,
}
