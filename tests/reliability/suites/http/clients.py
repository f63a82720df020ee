"""A client that repeats each call with its idempotency key until it has the answer."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from http import HTTPStatus

from nexus_mcp.state.idempotency import META_NAME
from tests.reliability.suite import Json
from tests.reliability.suites.http.wire import Connection, Lost, Reply, initialize, modern
from tests.reliability.suites.kills.client_records import Book, Sent
from tests.reliability.suites.kills.load import asked
from tests.support import READ_ONLY

_PAUSE_S = 0.02
_AGAIN = 0.06
"""The share of the answered calls that are repeated although their answer came."""
_OTHERWISE = 0.06
"""The share of the answered calls whose key is then sent with other arguments."""
_BUSY = (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS)
_SESSION_ENDED = (HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST)
REUSED = "for a call with another tool or other arguments"


class Client:
    """A client of one project. Its number stands for a server in the book, because it has one call under way at a time.

    Keys are unique among the clients of one token only, so that two tokens use the same ones. `keys` has the key of
    each answered write, by the call's number in the book.
    """

    def __init__(self, number: int, path: str, book: Book, connection: Connection, *, is_modern: bool) -> None:
        self.number = number
        self._path = path
        self._book = book
        self._connection = connection
        self._is_modern = is_modern
        self._session = ""
        self._sent = 0
        self.counts: Counter[str] = Counter()
        self.keys: dict[int, str] = {}

    async def run(self, rng: random.Random, calls: int, place: str) -> None:
        """Send calls, one after the other. `place` is the client's number among those of its token."""
        for number in range(calls):
            tool, arguments = asked(rng, "mixed", len(self._book.calls))
            call = self._book.send(self.number, tool, arguments)
            key = f"{place}-{number}"
            result = await self._answer(tool, arguments, key)
            self._book.answered(call, result)
            if tool not in READ_ONLY and not result["isError"]:
                self.keys[call.number] = key
                await self._ask_again(rng, call, key, result)
        self._connection.close()

    async def _ask_again(self, rng: random.Random, call: Sent, key: str, result: Json) -> None:
        """Repeat an answered call, or send its key with other arguments. Record wrong answers as failures."""
        chance = rng.random()
        if chance < _AGAIN:
            self.counts["answered calls repeated"] += 1
            if await self._answer(call.tool, call.arguments, key) != result:
                self._book.faults.append(f"{call.tool} repeated with its key got another answer")
        elif chance < _AGAIN + _OTHERWISE:
            self.counts["keys sent with another call"] += 1
            other = await self._answer("task_add", {"title": f"never {call.number}", "context": "x"}, key)
            if not other["isError"] or REUSED not in other["structuredContent"]["error"]:
                self._book.faults.append(f"the key of a {call.tool} was taken for another call")

    async def _answer(self, tool: str, arguments: Json, key: str) -> Json:
        """Return the result of a call, which is sent until an answer comes."""
        while True:
            try:
                reply = await self._try(tool, arguments, key)
            except Lost:
                self.counts["attempts without an answer"] += 1
                await asyncio.sleep(_PAUSE_S)
                continue
            if reply.status in _BUSY:
                self.counts["attempts refused as busy"] += 1
                await asyncio.sleep(_PAUSE_S)
            elif self._session and reply.status in _SESSION_ENDED:
                self._session = ""  # it ended with the server
            elif reply.status != HTTPStatus.OK:
                raise AssertionError(f"{tool} was answered with {reply.status}: {reply.body[:200]!r}")
            else:
                return reply.message["result"]

    async def _try(self, tool: str, arguments: Json, key: str) -> Reply:
        self._sent += 1
        meta = {META_NAME: key}
        if self._is_modern:
            message, headers = modern(self._sent, "tools/call", meta, name=tool, arguments=arguments)
            return await self._connection.send(self._path, message, headers)
        if not self._session:
            begun = await self._connection.send(self._path, initialize())
            if begun.status != HTTPStatus.OK:
                return begun
            self._session = begun.headers["mcp-session-id"]
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": self._sent, "method": "tools/call", "params": params}
        return await self._connection.send(self._path, message, f"Mcp-Session-Id: {self._session}\r\n")
