"""One tool call at a time, each from its beginning until its answer was written out or never will be."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from nexus_mcp.server.app import Answer

Id = str | int


class Turns:
    """First come, first served. `at_once`: for transports that cannot tell when an answer was written out."""

    def __init__(self, *, at_once: bool = False) -> None:
        self._at_once = at_once
        self._turn = anyio.Semaphore(1)
        self._unwritten: dict[Id, list[Answer]] = defaultdict(list)

    async def begin(self) -> None:
        """Wait for one's turn, which ends with `give_up`, or with `answer` and `settle`."""
        await self._turn.acquire()

    def give_up(self) -> None:
        """There is no answer to be written: the next, please."""
        self._turn.release()

    def answer(self, id: Id, answer: Answer) -> None:
        """The SDK gets the answer to write."""
        self._unwritten[id].append(answer)
        if self._at_once:
            self.settle(id, delivered=True)

    def settle(self, id: Id, *, delivered: bool) -> None:
        """The answer was written, or cannot be. Without effect for an id that no call's answer has."""
        answers = self._unwritten.get(id)
        if not answers:
            return
        answer = answers.pop(0)
        if not answers:
            del self._unwritten[id]
        if delivered:
            answer.delivered()
        else:
            answer.undelivered()
        self._turn.release()

    def end(self) -> None:
        """Nothing more will be written."""
        for id in list(self._unwritten):
            while id in self._unwritten:
                self.settle(id, delivered=False)
