"""Queue the tool calls and read requests of one connection and run them in arrival order on one thread."""

from __future__ import annotations

import threading
from collections import deque

from nexus_mcp import log
from nexus_mcp.errors import UnknownTool
from nexus_mcp.progress import listening
from nexus_mcp.server.faults import INVALID_PARAMS, Fault, internal_error
from nexus_mcp.server.pipes import MAX_LINE
from nexus_mcp.server.side_reader import SideReader
from nexus_mcp.server.stopping import STOPPING

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.server.app import Answer, App, ReadResult
    from nexus_mcp.server.faults import Id
    from nexus_mcp.server.pipes import Sink, Source
    from nexus_mcp.server.protocol import Call, ReadRequest
    from nexus_mcp.server.side_reader import ReadOn
    from nexus_mcp.server.stopping import Stop


MAX_WAITING = 64
# The maximum bytes of all lines whose calls wait or run. Parsed values can take 30 times the bytes of a line, so the
# limit is only a little above the size of the largest line.
MAX_BYTES = MAX_LINE + 256 * 1024
_CHECK_INTERVAL_S = 0.1
_SCRIPTED_CALL_S = 0.001  # a scripted client, without a model, sends its next call within this time
RETAINED_BYTES = 2 << 20
"""The size of a block that is allocated and freed once. From then on glibc keeps twice as much memory for later blocks
(mallopt(3), M_MMAP_THRESHOLD), and does not return it to the system after each call.
"""


class _Job:
    __slots__ = ("call", "cancelled", "key", "size")

    def __init__(self, call: Call | ReadRequest, size: int) -> None:
        self.call = call
        self.key = correlation_key(call.id)
        self.size = size
        self.cancelled = False


class CallQueue:
    """The calls of one connection: at most `MAX_WAITING` wait while one runs, with lines of at most `MAX_BYTES` in all.

    The thread that reads adds calls, and one thread begins and runs them. During a call the thread of the side reader
    reads, by `read_on`. The constructor raises OSError or RuntimeError when the system has no descriptor or no thread
    left.
    """

    def __init__(self, app: App, source: Source, sink: Sink, stop: Stop, read_on: ReadOn) -> None:
        bytes(RETAINED_BYTES)
        self._app = app
        self._source = source
        self._sink = sink
        self._stop = stop
        self._waiting: deque[_Job] = deque()
        self._begun: _Job | None = None
        self._bytes = 0
        # The newest job of each correlation key. If two requests in flight have the same id, both run and both get a
        # response, and a cancellation applies to the later one, as with the official SDK.
        self._known: dict[str | int, _Job] = {}
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._ended = False
        self._side_reader = SideReader(source, stop, read_on, self._end_of_input)

    @property
    def has_constant_reader(self) -> bool:
        """Return whether the side reader's thread does all the reading, so that the caller must not read."""
        return self._side_reader.is_constant

    def add(self, call: Call | ReadRequest, size: int) -> None:
        """Append a call whose line had `size` bytes. The caller checks `has_room` first."""
        job = _Job(call, size)
        with self._lock:
            self._known[job.key] = job
            self._waiting.append(job)  # the last step that may raise: if it does, the call is not queued
            self._bytes += size
            self._tell()

    def has_room(self, size: int) -> bool:
        """Return whether a line of `size` bytes may be parsed."""
        return len(self._waiting) < MAX_WAITING and (not self._bytes or self._bytes + size <= MAX_BYTES)

    def wait_for_room(self, size: int) -> None:
        """Block until there is room, or until the server has to stop."""
        with self._changed:
            while not (self._stop.is_due() or self.has_room(size)):
                self._changed.wait(_CHECK_INTERVAL_S)  # a timeout, because a stop request does not wake this thread

    def cancel(self, id: Id) -> None:
        """Drop a waiting call; let a running one finish without a response. Unknown ids are ignored."""
        with self._lock:
            job = self._known.get(correlation_key(id))
            if job is not None:
                job.cancelled = True
                if job in self._waiting:
                    self._waiting.remove(job)
                    self._forget(job)
                    self._give_room(job.size)

    def begin(self) -> bool:
        """Take the next waiting call. Return False if no call waits, or if the server has to stop."""
        with self._lock:
            return self._begin()

    def wait(self) -> bool:
        """Wait for a call and begin it. Return False at the end of the input, or if the server has to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended or self._stop.requested)
            return self._begin()  # under the lock, so that the call cannot be cancelled in between

    def carry_out(self) -> None:
        """Run the call that has begun, and send its response unless the call is cancelled."""
        job, self._begun = self._begun, None
        assert job is not None
        try:
            self._serve(job)
        finally:
            self._side_reader.rest()
            with self._lock:
                size = job.size
                self._forget(job)
                del job  # free the values of the call before its room in the queue is released
                self._give_room(size)

    def warm_up(self) -> bool:
        """Prepare for the first call until input arrives. Return whether the preparation is finished.

        The steps that every call needs come first. Then a short wait follows, so that the first call of a scripted
        client does not have to wait for the steps that only some calls need.
        """
        waits = iter([_SCRIPTED_CALL_S])
        return self._app.warm_up(
            lambda: bool(self._waiting) if self._side_reader.is_constant else self._source.is_ready(next(waits, 0))
        )

    def finish(self) -> None:
        """End the thread of the side reader. No call runs afterwards."""
        self._side_reader.end()

    def _end_of_input(self) -> None:
        """Note that no more lines come: the input has ended, or the server has to stop."""
        if self._stop.requested:
            log.info(STOPPING)
            self._app.stop()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _serve(self, job: _Job) -> None:
        answer, message = self._run(job.call, self._reports(job))
        sent = not self._is_cancelled(job) and self._sink.send(message, self._side_reader.begin)
        if answer is not None:
            try:
                if sent:
                    answer.confirm_delivery()
                else:
                    answer.drop_delivery()
            except Exception as error:  # noqa: BLE001 - the response was sent, and other calls wait
                log.error(f"{job.call.name}, after its response: {type(error).__name__}: {error}")

    def _reports(self, job: _Job) -> Callable[[str], None] | None:
        """Return the listener for the stages of a call, None if the client wants no progress notifications."""
        token = job.call.progress_token
        if token is None:
            return None
        from nexus_mcp.server.reports import Reports

        return Reports(token, self._sink, lambda: job.cancelled)

    def _run(
        self, call: Call | ReadRequest, reports: Callable[[str], None] | None
    ) -> tuple[Answer | ReadResult | None, dict[str, Any]]:
        """Return (the result to notify of delivery, or None, and the response message)."""
        try:
            with self._side_reader, listening(reports):
                answer = call.run(self._app)
                return answer, {"jsonrpc": "2.0", "id": call.id, "result": call.result(answer.rendered_result)}
        except UnknownTool as error:
            return None, Fault(INVALID_PARAMS, str(error), call.id).response()
        except Fault as fault:
            return None, fault.of(call.id).response()
        except BaseException as error:  # noqa: BLE001 - a defect in one call must not end the others
            log.error(f"{call.name}: {type(error).__name__}: {error}")
            return None, internal_error(call.id).response()

    def _is_cancelled(self, job: _Job) -> bool:
        with self._lock:
            self._forget(job)  # from here on the response is sent: too late to cancel
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
        if self._side_reader.is_constant:  # otherwise no thread waits on this condition
            self._changed.notify_all()

    def _forget(self, job: _Job) -> None:
        if self._known.get(job.key) is job:
            del self._known[job.key]


def correlation_key(id: Id) -> str | int:
    """Return the form in which ids are compared: some clients echo ids as text, so "7" and 7 are the same request."""
    if isinstance(id, str):
        try:
            return int(id)
        except ValueError:
            return id
    return id or 0
