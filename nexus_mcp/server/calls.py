"""The calls of a connection, and looks at files, that wait or are under way: run in arrival order, by one thread."""

from __future__ import annotations

import threading
from collections import deque

from nexus_mcp import log
from nexus_mcp.errors import UnknownTool
from nexus_mcp.server.aside import Aside
from nexus_mcp.server.faults import INVALID_PARAMS, Fault, internal_error
from nexus_mcp.server.framing import MAX_LINE
from nexus_mcp.server.stopping import STOPPING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.server.app import Answer, App, Shown
    from nexus_mcp.server.aside import ReadOn
    from nexus_mcp.server.asked import Lookup
    from nexus_mcp.server.faults import Id
    from nexus_mcp.server.pipes import Sink, Source
    from nexus_mcp.server.protocol import Call
    from nexus_mcp.server.stopping import Stop

MAX_WAITING = 64
# Of lines whose calls wait or are under way. The values of a line can take thirty times its bytes, so there is room for
# the largest line and, beside it, for what a client sends while that is carried out.
MAX_BYTES = MAX_LINE + 256 * 1024
_LOOK_UP = 0.1  # seconds
_MOMENT = 0.001  # seconds in which a program calls that need not ask a model what
KEPT = 2 << 20
"""Bytes of a block that is allocated, and freed without ever being touched: from then on glibc keeps twice as much for
the next blocks (mallopt(3), M_MMAP_THRESHOLD). It would give it back after each call otherwise, and take it again."""


class _Job:
    __slots__ = ("call", "cancelled", "key", "size")

    def __init__(self, call: Call | Lookup, size: int) -> None:
        self.call = call
        self.key = correlation_key(call.id)
        self.size = size
        self.cancelled = False


class Calls:
    """The calls of one connection: at most `MAX_WAITING` wait while one is under way, with `MAX_BYTES` of lines.

    Whoever reads adds them; one thread begins them and carries them out, while `read_on` is called on another one.
    Making this raises OSError or RuntimeError when the system has no descriptor or no thread left.
    """

    def __init__(self, app: App, source: Source, sink: Sink, stop: Stop, read_on: ReadOn) -> None:
        bytes(KEPT)
        self._app = app
        self._source = source
        self._sink = sink
        self._stop = stop
        self._waiting: deque[_Job] = deque()
        self._begun: _Job | None = None
        self._bytes = 0
        # By correlation key, the newest job of each: two requests in flight with one id are both run and
        # both answered, and a cancellation means the later of them, as with the official SDK.
        self._known: dict[str | int, _Job] = {}
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._ended = False
        self._aside = Aside(source, stop, read_on, self._over)

    @property
    def are_read_aside(self) -> bool:
        """Whether the other thread reads all the time, so that nobody else is to read any more."""
        return self._aside.is_constant

    def add(self, call: Call | Lookup, size: int) -> None:
        """Let a call, whose line had `size` bytes, wait for its turn. See to it that it `has_room`."""
        job = _Job(call, size)
        with self._lock:
            self._known[job.key] = job
            self._waiting.append(job)  # the last step that may fail: what is raised is answered, and is not run
            self._bytes += size
            self._tell()

    def has_room(self, size: int) -> bool:
        """Whether a line of `size` bytes may be looked at."""
        return len(self._waiting) < MAX_WAITING and (not self._bytes or self._bytes + size <= MAX_BYTES)

    def wait_for_room(self, size: int) -> None:
        """Block until it is there; not any longer once the server is to stop."""
        with self._changed:
            while not (self._stop.is_due() or self.has_room(size)):
                self._changed.wait(_LOOK_UP)  # who waits here does not read, and so is not woken by the wish to stop

    def cancel(self, id: Id) -> None:
        """A waiting call is dropped, one under way finishes unanswered. An id that is not known is ignored."""
        with self._lock:
            job = self._known.get(correlation_key(id))
            if job is not None:
                job.cancelled = True
                if job in self._waiting:
                    self._waiting.remove(job)
                    self._forget(job)
                    self._give_room(job.size)

    def begin(self) -> bool:
        """Take the next call from those that wait, to be carried out. False when there is none, or is to be none."""
        with self._lock:
            return self._begin()

    def wait(self) -> bool:
        """Begin a call, once there is one. False when none is to come: at the end of the input, or to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended or self._stop.requested)
            return self._begin()  # while it is locked: else what waits could be cancelled meanwhile

    def carry_out(self) -> None:
        """Run the call that has begun, and answer it."""
        job, self._begun = self._begun, None
        assert job is not None
        try:
            self._serve(job)
        finally:
            self._aside.rest()
            with self._lock:
                size = job.size
                self._forget(job)
                del job  # before the room is given away that its values take
                self._give_room(size)

    def warm_up(self) -> bool:
        """Do what the first call would have to wait for, until something comes that is to be read. Whether it is done.

        What every call needs comes first, then a moment, then what some calls need: who has his call ready is not to
        wait for that.
        """
        waits = iter([_MOMENT])
        return self._app.warm_up(
            lambda: bool(self._waiting) if self._aside.is_constant else self._source.is_ready(next(waits, 0))
        )

    def finish(self) -> None:
        """End the thread that reads. No call is carried out afterwards."""
        self._aside.end()

    def _over(self) -> None:
        """Nothing more is read: the input has ended, or the server is to stop."""
        if self._stop.requested:
            log.info(STOPPING)
            self._app.stop()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _serve(self, job: _Job) -> None:
        answer, message = self._run(job.call)
        sent = not self._is_cancelled(job) and self._sink.send(message, self._aside.begin)
        if answer is not None:
            try:
                if sent:
                    answer.delivered()
                else:
                    answer.undelivered()
            except Exception as error:  # noqa: BLE001 - it is answered, and others wait for theirs
                log.error(f"{job.call.name}, once it was answered: {type(error).__name__}: {error}")

    def _run(self, call: Call | Lookup) -> tuple[Answer | Shown | None, dict[str, Any]]:
        """(What is told whether its message has gone out, the message)."""
        try:
            with self._aside:
                answer = call.run(self._app)
                return answer, {"jsonrpc": "2.0", "id": call.id, "result": call.result(answer.rendered)}
        except UnknownTool as error:
            return None, Fault(INVALID_PARAMS, str(error), call.id).response()
        except Fault as fault:
            return None, fault.of(call.id).response()
        except BaseException as error:  # noqa: BLE001 - a defect in one call must not end the others
            log.error(f"{call.name}: {type(error).__name__}: {error}")
            return None, internal_error(call.id).response()

    def _is_cancelled(self, job: _Job) -> bool:
        with self._lock:
            self._forget(job)  # from here on the answer goes out: too late to cancel
            return job.cancelled

    def _begin(self) -> bool:
        if self._waiting and not self._stop.requested:
            self._begun = self._waiting.popleft()
            self._tell()
        return self._begun is not None

    def _give_room(self, size: int) -> None:
        self._bytes -= size
        self._tell()

    def _tell(self) -> None:
        if self._aside.is_constant:  # else nobody waits for another thread
            self._changed.notify_all()

    def _forget(self, job: _Job) -> None:
        if self._known.get(job.key) is job:
            del self._known[job.key]


def correlation_key(id: Id) -> str | int:
    """The form in which ids are compared: "7" and 7 are one request to the clients that echo ids as text."""
    if isinstance(id, str):
        try:
            return int(id)
        except ValueError:
            return id
    return id or 0
