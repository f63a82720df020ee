"""Request a stop of the server, by a signal or from a thread, and wait for input or output until such a request.

A signal may arrive while the main thread waits for input, for the client to read, or for a tool call. So a signal only
writes a byte into a pipe that is never drained: every wait polls that pipe beside its own descriptor.
"""

from __future__ import annotations

import os
import select
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import Any

STOPPING = "stopping: the call under way is finished, no other begins"
_NAMES = ("SIGTERM", "SIGINT", "SIGHUP")
_HAS_POLL = hasattr(select, "poll")


class Stop:
    """A context manager in which SIGTERM, SIGINT and SIGHUP set `requested`.

    At the end it restores the old handlers; if one of these signals came, it ignores them instead.
    """

    def __init__(self) -> None:
        self.requested = False
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._handlers: dict[int, Any] = {}
        self._wakeup: int | None = None
        self._signalled = False

    def __enter__(self) -> Stop:
        try:
            # The interpreter itself writes to this descriptor the moment a signal comes. A Python handler
            # alone would run too late for a poll that began just before.
            self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        except ValueError:
            return self  # only the main thread can handle signals, and this is another one
        for name in _NAMES:
            number = getattr(signal, name, None)
            # An ignored signal stays ignored, as nohup requires.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._handlers.items():
            # After a signal the process is ending: a second one must not change its exit code.
            signal.signal(number, signal.SIG_IGN if self._signalled else handler)
        if self._wakeup is not None:
            signal.set_wakeup_fd(self._wakeup)
        os.close(self._reader)
        os.close(self._writer)

    def register(self, poller: select.epoll) -> None:
        """Make `poller` report a stop request, in every poll after the request."""
        poller.register(self._reader, select.EPOLLIN)

    def is_due(self) -> bool:
        """Return whether the server is to stop, even if the signal's Python handler has not run yet."""
        if not self.requested and _HAS_POLL:
            poll = select.poll()
            poll.register(self._reader, select.POLLIN)
            self.requested = bool(poll.poll(0))
        return self.requested

    def request(self) -> None:
        """Ask the server to stop. May be called from any thread."""
        self.requested = True
        try:
            os.write(self._writer, b".")
        except BlockingIOError:
            return  # the pipe is full of earlier requests, so every poll returns at once

    def wait_for(
        self, fd: int, *, writing: bool = False, seconds: float | None = None, ignore_stop: bool = False
    ) -> bool:
        """Wait until `fd` can be read (or written) or has failed, and return True; return False if the time is over, or
        the server is to stop and `ignore_stop` is false. On a system without poll, return True at once.
        """
        if not _HAS_POLL:
            return True
        poll = select.poll()
        poll.register(fd, select.POLLOUT if writing else select.POLLIN)
        if not ignore_stop:
            poll.register(self._reader, select.POLLIN)
        return self._is_ready(fd, poll.poll(None if seconds is None else seconds * 1000))

    def reading(self, fd: int) -> Callable[[], bool]:
        """Return `wait_for(fd)` as a function, prepared for repeated calls."""
        if not _HAS_POLL:
            return lambda: True
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        poll.register(self._reader, select.POLLIN)
        return lambda: self._is_ready(fd, poll.poll())

    def _is_ready(self, fd: int, events: list[tuple[int, int]]) -> bool:
        ready = {number for number, _ in events}
        if self._reader in ready:
            self.requested = True
            return False
        return fd in ready

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signalled = True
        self.request()


class Watch:
    """A thread that calls `act` once the server is to stop, whatever the other threads wait for.

    The constructor raises OSError or RuntimeError when the system has no descriptor or no thread left, and then leaves
    nothing behind.
    """

    def __init__(self, stop: Stop, act: Callable[[], None]) -> None:
        import threading  # imported late: every start loads this module, but only this class needs threads

        self._stop = stop
        self._act = act
        self._reader, self._writer = os.pipe()
        self._thread = threading.Thread(target=self._run, name="watch")
        try:
            self._thread.start()
        except BaseException:
            os.close(self._writer)
            os.close(self._reader)
            raise

    def end(self) -> None:
        """End the thread; a call of `act` under way is completed first."""
        os.close(self._writer)
        self._thread.join()
        os.close(self._reader)

    def _run(self) -> None:
        if not self._stop.wait_for(self._reader):
            self._act()
