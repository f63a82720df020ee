"""How long a call waits for others: for whoever has the lock, and for the programs that it asks."""

from __future__ import annotations

import time
from contextlib import contextmanager

from nexus_mcp.errors import JournalError
from nexus_mcp.store import journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.store.folder import Folder

SOON = 16 << 20
"""Bytes of a journal that can be completed in the time of an event. A change of smaller files than that fits."""


class Patience:
    """`seconds` for each wait for the lock; with `in_all` for all that the call waits for together, from now on."""

    __slots__ = ("_end", "seconds")

    def __init__(self, seconds: float, *, in_all: bool = False) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds if in_all else None

    def at(self, state: Folder) -> float:
        """How many seconds to wait for the lock in this folder.

        Raises JournalError where a change waits that takes longer to be completed than such a call has time.
        """
        waiting = None if self._end is None else state.look(journal.NAME)
        if waiting is not None and waiting.st_size > SOON:
            raise JournalError(
                journal.SHOWN,
                f"is to hold a change that was begun, and is larger than the {SOON >> 20} MiB that a hook completes",
                next_step="Call a tool, such as task_list: it completes the change, or says what is wrong with it.",
            )
        return self.left()

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """Wait no longer than this for the lock each time, while the block lasts."""
        usual, self.seconds = self.seconds, min(self.seconds, seconds)
        try:
            yield
        finally:
            self.seconds = usual

    def left(self, most: float | None = None) -> float:
        """How many seconds a wait may take now; `most` is for one that is not for the lock."""
        wanted = self.seconds if most is None else most
        return wanted if self._end is None else max(0.0, min(wanted, self._end - time.monotonic()))
