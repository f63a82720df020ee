"""Tool calls, and looks at files, in arrival order on one thread, while the main thread goes on reading."""

from __future__ import annotations

import threading
from collections import deque

from nexus_mcp import log
from nexus_mcp.errors import UnknownTool
from nexus_mcp.server.faults import INVALID_PARAMS, Fault, internal_error
from nexus_mcp.server.framing import MAX_LINE
from nexus_mcp.server.stopping import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.server.app import Answer, App, Shown
    from nexus_mcp.server.asked import Lookup
    from nexus_mcp.server.faults import Id
    from nexus_mcp.server.pipes import Sink
    from nexus_mcp.server.protocol import Call
    from nexus_mcp.server.stopping import Stop

MAX_WAITING = 64
# Of lines whose calls wait or are under way. The values of a line can take thirty times its bytes, so there is room for
# the largest line and, beside it, for what a client sends while that is carried out.
MAX_BYTES = MAX_LINE + 256 * 1024


class _Job:
    __slots__ = ("call", "cancelled", "size")

    def __init__(self, call: Call | Lookup, size: int) -> None:
        self.call = call
        self.size = size
        self.cancelled = False


class Calls:
    """The calls of one connection: at most `MAX_WAITING` wait while one is under way, with `MAX_BYTES` of lines.

    `early`: none is there yet, so that there is time to do what the first of them would have to wait for. Making this
    raises OSError or RuntimeError when the system has no descriptor or no thread left.
    """

    def __init__(self, app: App, sink: Sink, stop: Stop, *, early: bool = False) -> None:
        self._app = app
        self._early = early
        self._sink = sink
        self._stop = stop
        self._waiting: deque[_Job] = deque()
        self._bytes = 0
        # By correlation key, the newest job of each: two requests in flight with one id are both run and
        # both answered, and a cancellation means the later of them, as with the official SDK.
        self._known: dict[str | int, _Job] = {}
        self._changed = threading.Condition()
        self._ended = False
        self._watch = Watch(stop, self._stopping)
        self._thread = threading.Thread(target=self._run, name="calls")
        try:
            self._thread.start()
        except BaseException:
            self._watch.end()
            raise

    def add(self, call: Call | Lookup, size: int) -> None:
        """Let a call, whose line had `size` bytes, wait for its turn. `wait_for_room` first."""
        job = _Job(call, size)
        with self._changed:
            self._waiting.append(job)
            self._bytes += size
            self._known[correlation_key(call.id)] = job
            self._changed.notify_all()

    def wait_for_room(self, size: int) -> None:
        """Block until a line of `size` bytes may be looked at; not any longer once the server is to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._stop.requested or self._has_room(size))

    def cancel(self, id: Id) -> None:
        """A waiting call is dropped, one under way finishes unanswered. An id that is not known is ignored."""
        with self._changed:
            job = self._known.get(correlation_key(id))
            if job is not None:
                job.cancelled = True
                if job in self._waiting:
                    self._waiting.remove(job)
                    self._forget(job)
                    self._give_room(job.size)

    def finish(self) -> None:
        """End after all calls that wait, or, once the server is to stop, after the one under way."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()
        self._watch.end()

    def _stopping(self) -> None:
        self._app.stop()
        with self._changed:
            self._changed.notify_all()

    def _run(self) -> None:
        if self._early:
            self._app.warm_up(lambda: bool(self._waiting))
        while (job := self._next()) is not None:
            try:
                self._serve(job)
            finally:
                with self._changed:
                    size = job.size
                    self._forget(job)
                    del job  # before the room is given away that its values take
                    self._give_room(size)

    def _has_room(self, size: int) -> bool:
        return len(self._waiting) < MAX_WAITING and (not self._bytes or self._bytes + size <= MAX_BYTES)

    def _next(self) -> _Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended or self._stop.requested)
            job = None if self._stop.is_due() or not self._waiting else self._waiting.popleft()
            self._changed.notify_all()
            return job

    def _serve(self, job: _Job) -> None:
        call = job.call
        answer: Answer | Shown | None = None
        try:
            answer = call.run(self._app)
            message = {"jsonrpc": "2.0", "id": call.id, "result": call.result(answer.rendered)}
        except UnknownTool as error:
            message = Fault(INVALID_PARAMS, str(error), call.id).response()
        except Fault as fault:
            message = fault.of(call.id).response()
        except BaseException as error:  # noqa: BLE001 - a defect in one call must not end the others
            log.error(f"{call.name}: {type(error).__name__}: {error}")
            message = internal_error(call.id).response()
        sent = not self._is_cancelled(job) and self._sink.send(message)
        if answer is not None:
            if sent:
                answer.delivered()
            else:
                answer.undelivered()

    def _is_cancelled(self, job: _Job) -> bool:
        with self._changed:
            self._forget(job)  # from here on the answer goes out: too late to cancel
            return job.cancelled

    def _give_room(self, size: int) -> None:
        self._bytes -= size
        self._changed.notify_all()

    def _forget(self, job: _Job) -> None:
        key = correlation_key(job.call.id)
        if self._known.get(key) is job:
            del self._known[key]


def correlation_key(id: Id) -> str | int:
    """The form in which ids are compared: "7" and 7 are one request to the clients that echo ids as text."""
    if isinstance(id, str):
        try:
            return int(id)
        except ValueError:
            return id
    return id or 0
