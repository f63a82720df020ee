"""Read the body of a request within its bounds, and replay it to the SDK."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from nexus_mcp.server.http.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    from starlette.datastructures import Headers
    from starlette.types import Message, Receive

    from nexus_mcp.server.http.limits import Limits, Room

    Parsed = TypeVar("Parsed")

_AT_ONCE = 1 << 16
"""Maximum size in bytes of a body that is parsed without a thread."""
MOST_MARKS = 200_000
"""The maximum number of structural characters (`[{,:`) in a message: the SDK parses the body again, in the event loop,
and many small values take seconds there.
"""
_FEW_MARKS = 1000
"""A body with at most this many of the characters `[{,:`, also within texts, takes no room beyond its bytes."""
_MARK_BYTES = 48
"""Room in bytes for each structural character: a body of empty objects becomes Python values of 20 times its size."""
_MARK_OR_TEXT = re.compile(rb'([\[{,:])|"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_CLOSE = {"connection": "close"}
_parsing: RunVar[anyio.CapacityLimiter] = RunVar("parsing")
"""Limits the threads that parse large bodies to one. Python runs one thread at a time, so more threads would gain
nothing, and would delay all other requests.
"""


class Body:
    """The body of one request. `release` frees the room that it takes. `marks` is the number of its structural
    characters, at most MOST_MARKS + 1, and 0 if they were too few to be counted.
    """

    def __init__(self, limits: Limits, room: Room, holder: str) -> None:
        self._limits = limits
        self._room = room
        self._holder = holder
        self._taken = 0
        self.data = bytearray()
        self.marks = 0

    async def read(self, headers: Headers, receive: Receive) -> bool:
        """Read the whole body; return False if the client disconnected. Raise Refusal: 400, 408, 413 or 503."""
        sizes = headers.getlist("content-length")
        if sizes and headers.getlist("transfer-encoding"):
            raise Refusal(HTTPStatus.BAD_REQUEST, "Send either Content-Length or Transfer-Encoding.", _CLOSE)
        if sizes and (not sizes[0].isdigit() or int(sizes[0][:20]) > self._limits.body):
            raise self._too_large()
        try:
            async with asyncio.timeout(self._limits.body_s):
                is_whole = await self._read(receive)
        except TimeoutError:
            raise Refusal(HTTPStatus.REQUEST_TIMEOUT, "The request took too long to arrive.", _CLOSE) from None
        if is_whole and sum(map(self.data.count, b"[{,:")) > _FEW_MARKS:
            self.marks = await parse_body(_count_marks, bytes(self.data))
            self._take(min(self.marks, MOST_MARKS) * _MARK_BYTES)
        return is_whole

    async def _read(self, receive: Receive) -> bool:
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return False
            part = message.get("body", b"")
            if len(self.data) + len(part) > self._limits.body:
                raise self._too_large()
            self._take(len(part))
            self.data += part
            if not message.get("more_body", False):
                return True

    def _take(self, size: int) -> None:
        if not self._room.take(self._holder, size):
            headers = {**_CLOSE, "retry-after": "1"}
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "Too many requests arrive at once.", headers)
        self._taken += size

    def release(self) -> None:
        """Free the room of the body."""
        self._room.give_back(self._holder, self._taken)
        self._taken = 0
        self.data = bytearray()

    def _too_large(self) -> Refusal:
        text = f"A request has at most {self._limits.body} bytes."
        return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text, _CLOSE)


async def parse_body(parse: Callable[[bytes], Parsed], data: bytes) -> Parsed:
    """Return `parse(data)`. A thread parses a large body, so that other requests need not wait for seconds."""
    if len(data) <= _AT_ONCE:
        return parse(data)
    limiter = _parsing.get(None)
    if limiter is None:
        _parsing.set(limiter := anyio.CapacityLimiter(1))
    return await anyio.to_thread.run_sync(parse, data, limiter=limiter)


def _count_marks(data: bytes) -> int:
    """Return the number of structural characters in JSON, without those in texts; at most MOST_MARKS + 1."""
    marks = (match for match in _MARK_OR_TEXT.finditer(data) if match.lastindex is not None)
    return sum(1 for _ in islice(marks, MOST_MARKS + 1))


def replay(data: bytes, receive: Receive, hang_up: asyncio.Event) -> Callable[[], Awaitable[Message]]:
    """Return a `receive` that first returns the body, then waits until the client disconnects or `hang_up` is set."""
    waiting: list[dict[str, Any]] = [{"type": "http.request", "body": data, "more_body": False}]

    async def receive_next() -> Message:
        if waiting:
            return waiting.pop()
        if hang_up.is_set():
            return {"type": "http.disconnect"}
        real = asyncio.ensure_future(receive())
        ended = asyncio.ensure_future(hang_up.wait())
        try:
            await asyncio.wait((real, ended), return_when=asyncio.FIRST_COMPLETED)
            return real.result() if real.done() else {"type": "http.disconnect"}
        finally:
            real.cancel()
            ended.cancel()

    return receive_next
