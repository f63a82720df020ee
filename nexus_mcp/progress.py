"""Tell the client of a long call which stage it is in.

The store notes its stages here, and knows no transport. A thread carries out one call at a time, so the listener
belongs to the thread. Without a listener, as for most calls, a note costs one look-up.
"""

from __future__ import annotations

from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

WAITING_FOR_TURN = "waiting for earlier calls"
WAITING_FOR_LOCK = "waiting for the lock of the project, which another process holds"
WORKING = "working"
READING = "reading the history"
SEARCHING = "searching the history"
WRITING = "writing"


class _Here(_local):
    listener: Callable[[str], None] | None = None


_here = _Here()


def note(stage: str) -> None:
    """Tell the listener of this thread the present stage. A long stage is noted again and again."""
    listener = _here.listener
    if listener is not None:
        listener(stage)


class listening:
    """Call `listener` with each stage that this thread notes within the block. It may not raise."""

    __slots__ = ("_before", "_listener")

    def __init__(self, listener: Callable[[str], None] | None) -> None:
        self._listener = listener

    def __enter__(self) -> None:
        self._before = _here.listener
        _here.listener = self._listener

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _here.listener = self._before
