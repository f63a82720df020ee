"""Writing to a process that may not be reading."""

from __future__ import annotations

import asyncio
import os
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 1 << 16


class Feed:
    """The writing end of a pipe. Never waits: what the reader does not take yet is kept.

    `on_broken` is called when the reader closed its end, which closes this one.
    """

    def __init__(self, pipe: IO[bytes], on_broken: Callable[[], None]) -> None:
        self._pipe = pipe
        self._on_broken = on_broken
        self._waiting = bytearray()
        self._ends = False
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe.fileno(), False)

    def send(self, data: bytes) -> None:
        """Writes as soon as it is taken; dropped when the pipe is closed."""
        if not self._pipe.closed:
            self._waiting += data
            self._write()

    def finish(self) -> None:
        """Closes the pipe as soon as all is taken."""
        self._ends = True
        if not self._pipe.closed:
            self._write()

    def close(self) -> None:
        """Closes the pipe; what is waiting is dropped."""
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()

    def _write(self) -> None:
        fd = self._pipe.fileno()
        try:
            while self._waiting:
                del self._waiting[: os.write(fd, self._waiting[:_CHUNK])]
        except BlockingIOError:
            self._loop.add_writer(fd, self._write)
            return
        except OSError:
            self.close()
            self._on_broken()
            return
        self._loop.remove_writer(fd)
        if self._ends:
            self.close()
