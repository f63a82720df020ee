"""The two ends of the wire: bytes in, whole lines out, and nothing else on either."""

from __future__ import annotations

import errno
import json
import os
import select
import threading

from nexus_mcp import log
from nexus_mcp.server.faults import internal_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.server.stopping import Stop

_CHUNK = 65536
# A pipe that polls as writable takes this much without blocking, so no write outlasts a wish to stop.
_PIECE = getattr(select, "PIPE_BUF", 4096)
_PATIENCE = 1.0  # seconds without progress, once the server is to stop, until a client counts as gone
_GONE = (errno.EPIPE, errno.ECONNRESET)  # the client went away, which is how connections end
# Line ends to some readers of lines (Node's readline among them), though not to JSON.
_LINE_ENDS = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Source:
    """Standard input: chunks of bytes until its end or until the server is to stop."""

    def __init__(self, fd: int, stop: Stop) -> None:
        self._fd = fd
        self._stop = stop

    def read(self) -> bytes | None:
        """The next bytes; b"" at the end of the input; None when the server is to stop."""
        while True:
            if not self._stop.wait_for(self._fd):
                return None
            try:
                return os.read(self._fd, _CHUNK)
            except BlockingIOError:
                continue  # somebody else made the pipe non-blocking, and read it first
            except OSError:
                return b""  # the terminal or socket is gone: nothing will come any more


class Sink:
    """Standard output: whole lines, one at a time, from any thread. `broken` once the client cannot be reached."""

    def __init__(self, fd: int, stop: Stop, *, waits: bool = True) -> None:
        self._fd = fd
        self._stop = stop
        self._waits = waits  # whether a write may wait for the client to read
        self._lock = threading.Lock()
        self.broken = False

    def send(self, message: dict[str, Any]) -> bool:
        """Write a message as one line. False when it did not go out whole; then the server is asked to stop."""
        line = encode(message)
        with self._lock:
            if not self.broken and not self._write(line):
                self.broken = True
                self._stop.request()
            return not self.broken

    def _write(self, line: bytes) -> bool:
        rest = memoryview(line)
        while rest:
            if self._waits and not self._is_writable():
                return False
            try:
                rest = rest[os.write(self._fd, rest[:_PIECE] if self._waits else rest) :]
            except BlockingIOError:
                if not self._waits and not self._is_writable():
                    return False
            except OSError as error:
                if error.errno not in _GONE:
                    log.warning(f"an answer could not be written to standard output: {error.strerror}")
                return False
        return True

    def _is_writable(self) -> bool:
        """Wait for the client to read: as long as it takes, but with bounded patience once the server is to stop."""
        if not self._stop.requested and self._stop.wait_for(self._fd, writing=True):
            return True
        return self._stop.wait_for(self._fd, writing=True, seconds=_PATIENCE)


def encode(message: dict[str, Any]) -> bytes:
    """A JSON-RPC message as the bytes of its line. What cannot be encoded becomes an internal error of the same id."""
    try:
        text = _dump(message)
    except (TypeError, ValueError, RecursionError):
        text = _dump(internal_error(message.get("id")).response())
    if not text.isascii():
        for char, escape in _LINE_ENDS.items():
            text = text.replace(char, escape)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        from nexus_mcp.store.codec import without_surrogates  # a request's id or method may hold some, hardly ever

        return without_surrogates(text).encode() + b"\n"


def _dump(message: dict[str, Any]) -> str:
    result = message.get("result")
    if isinstance(result, dict) and not isinstance(result.get("structuredContent", {}), dict):
        from nexus_mcp.server import rendered  # for the answers of tools

        return rendered.message(message)
    return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
