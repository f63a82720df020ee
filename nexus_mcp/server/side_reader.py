"""Read input on a second thread while a call runs, and notice a stop request meanwhile.

To pass each line from a reading thread to a working thread costs more than a short call (docs/decisions/0051). So one
thread reads the lines and runs the calls. The second thread sleeps in the kernel, which wakes it when input arrives
during a call.
"""

from __future__ import annotations

import os
import select
from _thread import allocate_lock, start_new_thread

from nexus_mcp import log

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Protocol

    from nexus_mcp.server.pipes import Source
    from nexus_mcp.server.stopping import Stop

    class ReadOn(Protocol):
        """Read the available input, or wait for it if `constantly`. Return False when reading must stop."""

        def __call__(self, *, constantly: bool) -> bool: ...


_ONESHOT = getattr(select, "EPOLLONESHOT", 0)
_READABLE = getattr(select, "EPOLLIN", 0) | _ONESHOT


class SideReader:
    """A context manager in which a separate thread reads the input with `read_on`.

    If the system cannot wake a thread for this input (`is_constant`), the thread reads constantly, up to the end of the
    input. The thread calls `over` when the server has to stop, and when its constant reading has ended. The constructor
    raises OSError or RuntimeError when the system has no descriptor or no thread left, and then leaves nothing behind.
    """

    def __init__(self, source: Source, stop: Stop, read_on: ReadOn, over: Callable[[], None]) -> None:
        self._source = source
        self._stop = stop
        self._read_on = read_on
        self._over = over
        self._lasts = False
        self._reader, self._writer = os.pipe()
        self._epoll: select.epoll | None = None
        try:
            self._epoll = self._make_epoll()
            self._has_ended = allocate_lock()
            self._has_ended.acquire()
            # threading.Thread is not used, because its start waits until the thread runs, which delays the first call
            # by 0.3 ms.
            start_new_thread(self._run, ())
        except BaseException:
            os.close(self._writer)
            self._close()
            raise

    @property
    def is_constant(self) -> bool:
        return self._epoll is None

    def begin(self) -> None:
        """Read input on the thread from now on."""
        if self._epoll is not None and not self._lasts:
            self._lasts = True
            self._watch(_READABLE)

    def rest(self) -> None:
        """Let the caller read from now on. A read that the thread has begun is still completed."""
        if self._epoll is not None and self._lasts:
            self._lasts = False
            self._watch(_ONESHOT)

    def _watch(self, events: int) -> None:
        assert self._epoll is not None
        try:
            self._epoll.modify(self._source.fd, events)
        except OSError as error:  # no memory: the input is read after the call
            log.warning(f"input that arrives during a call is read after it: {error.strerror}")

    __enter__ = begin

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.rest()

    def end(self) -> None:
        """End the thread."""
        os.close(self._writer)
        if hasattr(select, "poll"):
            self._has_ended.acquire()
            self._close()
        # Without poll the thread may hang in a read: then it ends with the process.

    def _make_epoll(self) -> select.epoll | None:
        """Return the epoll that wakes the thread; None on a system without epoll, and for input that is always
        ready, such as a file.
        """
        if not hasattr(select, "epoll"):
            return None
        epoll = select.epoll()
        try:
            epoll.register(self._reader, select.EPOLLIN)
            self._stop.register(epoll)
            epoll.register(self._source.fd, _ONESHOT)
        except PermissionError:
            epoll.close()
            return None
        except BaseException:
            epoll.close()
            raise
        return epoll

    def _run(self) -> None:
        try:
            if self._epoll is None:
                self._read_all()
            else:
                self._read_when_woken(self._epoll)
        except BaseException as error:  # noqa: BLE001 - a waiting thread must not wait for ever
            log.error(f"nothing more can be read: {type(error).__name__}: {error}")
            self._stop.request()
            self._over()
        finally:
            self._has_ended.release()

    def _read_when_woken(self, epoll: select.epoll) -> None:
        while True:
            ready = {fd for fd, _ in epoll.poll()}
            if self._stop.is_due():
                self._over()
                return
            if self._reader in ready:
                return
            if self._lasts and self._read_on(constantly=False) and self._lasts:
                epoll.modify(self._source.fd, _READABLE)

    def _read_all(self) -> None:
        while self._read_on(constantly=True):
            pass
        self._over()
        if not self._stop.requested and not self._stop.wait_for(self._reader):
            self._over()

    def _close(self) -> None:
        if self._epoll is not None:
            self._epoll.close()
        os.close(self._reader)
