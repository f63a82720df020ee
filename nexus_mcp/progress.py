"""Report the stage of a long call to a listener, which sends it to the client.

The store notes its stages here and does not depend on a transport. A thread runs one call at a time, so each thread
has its own listener. Most calls have no listener; then a note costs one look-up.
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
    """Report the current stage to the listener of this thread. A long stage is noted repeatedly."""
    listener = _here.listener
    if listener is not None:
        listener(stage)


class listening:
    """Call `listener` with each stage that this thread notes within the block. The listener must not raise."""

    __slots__ = ("_before", "_listener")

    def __init__(self, listener: Callable[[str], None] | None) -> None:
        self._listener = listener

    def __enter__(self) -> None:
        self._before = _here.listener
        _here.listener = self._listener

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _here.listener = self._before
