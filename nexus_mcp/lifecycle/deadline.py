"""Answer a hook before its deadline: a watcher thread sends an early answer and ends the process.

Some harnesses kill a hook after 3 s and read the missing answer as "continue", so a slow hook must answer earlier. The
process may end at any point, because a kill at any point is safe. There are two limits: a short one of CPU time for
files that are expensive to read, and a longer one of clock time for a busy machine.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock, start_new_thread

from nexus_mcp.lifecycle.definition import AGAIN, BLOCK, CONTINUE, DENY, failure_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext

    Answer = dict[str, Any]

CPU_S = 0.5
"""CPU seconds that an event may take."""
READING_CPU_S = 0.3
"""CPU seconds after which no more catalog files of a project are parsed."""
WALL_S = 2.5
"""Seconds from the start until a hook answers, including waits for the lock and for stdin."""
GRACE_S = 10.0
"""Seconds to record an agent event after the early answer, if only the limit of clock time was reached."""
LAST_S = 0.25
"""Seconds to compute an early answer; after that the hook sends an answer that needs no file."""
_FIRST_LOOK_S, _LOOK_S = 0.3, 0.05
_SWITCH_S = 0.0005
"""The thread switch interval in seconds after the deadline. It is short, so that the event's thread delays the answer
less.
"""
NOT_IN_TIME = "The event could not be handled in time, so the answer uses only what was known by then."

_begun: Deadline | None = None


class Deadline:
    """The deadline of one hook. `ctx` is the partial result of the event, None at first."""

    def __init__(
        self,
        answer: Callable[[], Answer],
        last: Callable[[], Answer],
        write: Callable[[Answer], None],
        records: Callable[[], bool] = bool,
    ) -> None:
        """`answer` makes an answer from the partial result, `last` makes one without reading a file, and `write` sends
        one.

        `records` returns whether the event is still recorded after an early answer.
        """
        self._cpu = time.process_time() + CPU_S
        self._wall = time.monotonic() + WALL_S
        self._answer = answer
        self._last = last
        self._write = write
        self._claim = allocate_lock()  # the thread that answers holds it
        self._ended = allocate_lock()
        self._ended.acquire()
        self._done = allocate_lock()
        self._done.acquire()
        self._records = records
        self._is_over = False
        self.ctx: EventContext | None = None

    def begin(self) -> None:
        """Start the watcher. Without a thread the event runs without a deadline."""
        global _begun  # noqa: PLW0603 - one event a process
        _begun = self
        try:
            start_new_thread(self._watch, ())
        except RuntimeError:
            return

    def end(self) -> bool:
        """Stop the watcher. Return False if the watcher has answered already; then the process ends soon."""
        global _begun  # noqa: PLW0603
        _begun = None
        is_first = self._claim.acquire(blocking=False)
        (self._ended if is_first else self._done).release()
        return is_first

    def is_over(self) -> bool:
        """Return whether no more files may be parsed."""
        if self._is_over:
            return True
        left = self._cpu - CPU_S + READING_CPU_S - time.process_time()
        return left <= 0 or time.monotonic() > self._wall - LAST_S

    def _watch(self) -> None:
        wait = _FIRST_LOOK_S
        while not self._is_due():
            if self._ended.acquire(timeout=wait):
                return
            wait = _LOOK_S
        self._is_over = True
        sys.setswitchinterval(_SWITCH_S)
        found: list[Answer] = []
        done = allocate_lock()
        done.acquire()

        def find() -> None:
            try:
                found.append(self._answer())
            finally:
                done.release()

        try:
            start_new_thread(find, ())
            done.acquire(timeout=LAST_S)
        except RuntimeError:
            pass
        answer = found[0] if found else self._last()
        if not self._claim.acquire(blocking=False):
            return
        try:
            self._write(answer)
            # Agents must be recorded even on an overloaded machine.
            if self._records() and time.process_time() <= self._cpu:
                self._done.acquire(timeout=GRACE_S)
        finally:
            os._exit(0)

    def _is_due(self) -> bool:
        return time.process_time() > self._cpu or time.monotonic() > self._wall


def is_over() -> bool:
    """Return whether the time to parse files is over; False if no hook runs in this process."""
    return _begun is not None and _begun.is_over()


def note(ctx: EventContext) -> None:
    """Register the context of the event as the source of an early answer."""
    if _begun is not None:
        _begun.ctx = ctx


def last_answer(name: str, harness_id: str, payload: dict[str, Any] | None, *, is_deciding: bool) -> Answer:
    """Return an answer that needs no file. `payload` is None if it was not read completely.

    A tool is denied to agents and unknown callers; the main session is blocked, and may try again.
    """
    answer: Answer = {"event": name, "harness_id": harness_id, "decision": CONTINUE}
    if is_deciding:
        is_main = payload is not None and not (payload.get("agent_id") or payload.get("agent_name"))
        answer |= {"decision": BLOCK if is_main else DENY, "reason": f"{NOT_IN_TIME} {AGAIN}"}
    return {**answer, "warnings": [failure_text(name, NOT_IN_TIME)]}
