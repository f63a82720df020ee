"""Start a server for a session, and connect the official client to it over HTTP."""

from __future__ import annotations

import asyncio
import re
import secrets
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nexus_mcp.conformance.client.transport import HttpTransport

if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.conformance.processes.process import Allowance, ServerProcess

_TOKEN = re.compile(rb"Token: (\S{1,4096})\r?")
_POLL_S = 0.02
_LINGER_S = 0.5
"""Seconds for the client to read the last output of a server that has ended."""
_PORTS = range(10_000, 32_000)
"""Ports below those that systems assign to programs: the server binds its port seconds after we choose it."""
_TRIES = 100


def free_port() -> int:
    """Return an unused port of loopback, if possible one that the system does not assign to other programs."""
    for port in (*(secrets.choice(_PORTS) for _ in range(_TRIES)), 0):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            found: int = one.getsockname()[1]
            return found
    raise OSError("no port of loopback is free")


class ServedTransport(HttpTransport):
    """A process that serves HTTP at `url`, as a transport for `mcp.Client`.

    If the process prints a line `Token: ...` before it listens, the client sends this bearer token.
    """

    def __init__(
        self,
        start: Callable[[Callable[[bytes], None], Callable[[], None]], ServerProcess],
        url: str,
        allowance: Allowance,
    ) -> None:
        super().__init__(url, allowance)
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 0)
        self.process = start(self._line, self._on_end)

    async def __aenter__(self) -> tuple[Any, Any]:
        await self._listening()
        return await super().__aenter__()

    async def _listening(self) -> None:
        """Wait until the port is open. The caller bounds the time. Raise OSError if the process ends before that."""
        while True:
            if self.process.ended:
                raise ConnectionRefusedError("the server ended before it listened")
            try:
                _, writer = await asyncio.open_connection(*self._address)
            except OSError:
                await asyncio.sleep(_POLL_S)
                continue
            writer.close()
            return

    def _line(self, line: bytes) -> None:
        if match := _TOKEN.fullmatch(line):
            self.token = match[1].decode("utf-8", "replace")

    def _on_end(self) -> None:
        asyncio.get_running_loop().call_later(_LINGER_S, self.ended.set)
