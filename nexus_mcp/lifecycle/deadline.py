"""Answer a hook in time, whatever the event is doing: a thread that ends the process once its time is over.

A harness that kills a hook after 3 s takes no answer for "go on", so a hook that takes long must answer before that.
Ending the process at any point is safe, because a kill at any point is. Processor time counts beside the clock: on a
busy machine a hook has more seconds, and what a file makes it compute is cut off just as soon.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock, start_new_thread

from nexus_mcp.lifecycle.definition import BLOCK, CONTINUE, DENY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.lifecycle.definition import EventContext

    Answer = dict[str, Any]

CPU_S = 0.5
"""Seconds of processor time that an event may take."""
READING_CPU_S = 0.3
"""Seconds of it after which no more files of a project's catalog are parsed."""
WALL_S = 2.5
"""Seconds from its start in which a hook answers, the wait for the lock and for stdin included."""
GRACE_S = 10.0
"""Seconds for recording an event of an agent after the answer is out, where only the clock was against it."""
LAST_S = 0.25
"""Seconds for finding an answer once the time is over; then it is one that needs no file."""
_FIRST_LOOK_S, _LOOK_S = 0.3, 0.05
_SWITCH_S = 0.0005
"""Seconds after which Python lets another thread run once the time is over: the answer waits for the event's thread."""
NOT_IN_TIME = "It could not be dealt with in time, so the answer is made from what was known by then."
AGAIN = "Use the tool again; if it stays so, tell whoever leads the work."

_begun: Deadline | None = None


class Deadline:
    """The time of one hook. `ctx` has what the event came to so far, once there is something."""

    __slots__ = (
        "_answer",
        "_claim",
        "_cpu",
        "_done",
        "_ended",
        "_is_over",
        "_last",
        "_records",
        "_wall",
        "_write",
        "ctx",
    )

    def __init__(
        self,
        answer: Callable[[], Answer],
        last: Callable[[], Answer],
        write: Callable[[Answer], None],
        records: Callable[[], bool] = bool,
    ) -> None:
        """`answer` finds an answer from what is known, `last` has one without looking at any file, `write` sends it.

        `records` says whether the event goes on being recorded once its answer was given early.
        """
        self._cpu = time.process_time() + CPU_S
        self._wall = time.monotonic() + WALL_S
        self._answer = answer
        self._last = last
        self._write = write
        self._claim = allocate_lock()  # of whoever answers
        self._ended = allocate_lock()
        self._ended.acquire()
        self._done = allocate_lock()
        self._done.acquire()
        self._records = records
        self._is_over = False
        self.ctx: EventContext | None = None

    def begin(self) -> None:
        """From now on the time runs."""
        global _begun  # noqa: PLW0603 - one event a process
        _begun = self
        # Where there is no thread to be had the event goes on without.
        try:
            start_new_thread(self._watch, ())
        except RuntimeError:
            return

    def end(self) -> bool:
        """The event has its own answer. False when the time was over before: then the process is about to end."""
        global _begun  # noqa: PLW0603
        _begun = None
        is_first = self._claim.acquire(blocking=False)
        (self._ended if is_first else self._done).release()
        return is_first

    def is_over(self) -> bool:
        """Whether no more files are to be parsed."""
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
            # A machine with too much to do must not make an agent unknown.
            if self._records() and time.process_time() <= self._cpu:
                self._done.acquire(timeout=GRACE_S)
        finally:
            os._exit(0)

    def _is_due(self) -> bool:
        return time.process_time() > self._cpu or time.monotonic() > self._wall


def is_over() -> bool:
    """Whether the time for parsing files is over; never where no hook runs in this process."""
    return _begun is not None and _begun.is_over()


def note(ctx: EventContext) -> None:
    """What comes together for the answer, for when it has to be given early."""
    if _begun is not None:
        _begun.ctx = ctx


def last_answer(name: str, harness_id: str, told: dict[str, Any] | None, *, is_deciding: bool) -> Answer:
    """An answer that needs no file. `told` is what the payload says, None when it was not read to its end.

    A tool is denied to an agent, and to whoever cannot be told from one; the session itself is asked to try again.
    """
    answer: Answer = {"event": name, "harness_id": harness_id, "decision": CONTINUE}
    if is_deciding:
        is_main = told is not None and not (told.get("agent_id") or told.get("agent_name"))
        answer |= {"decision": BLOCK if is_main else DENY, "reason": f"{NOT_IN_TIME} {AGAIN}"}
    return {**answer, "warnings": [f"The event {name}: {NOT_IN_TIME}"]}
