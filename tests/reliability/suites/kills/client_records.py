"""The clients' records: their calls, the acknowledged ones, and the calls that a dead server left unanswered."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.reliability.suite import Json

# Errors that a server may return, because another client has closed or renumbered the cycle meanwhile.
_REFUSALS = re.compile(
    r"tasks\.json not found|Task id \d+ not found|No active plan session|Issue \d+ not found|Could not get the lock .*"
)
HELLO = -1  # the id of a server's handshake; calls have their numbers


@dataclass
class Sent:
    """A call. `server` is the number of its server; `sent` and `over` are seconds on the monotonic clock.

    `over` is the time of the answer or of the end of the server: after it the call has no new effect. `answer` is the
    content of a successful answer, else None.
    """

    number: int
    server: int
    tool: str
    arguments: dict[str, Json]
    sent: float
    over: float = float("inf")
    answer: dict[str, Json] | None = None
    refused: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the client got no answer: the change may have been made or not."""
        return self.answer is None and not self.refused


@dataclass
class Book:
    """All calls in the order in which they were sent.

    `faults` are impossible answers, `killed` the killed servers, `fates` the planned end of each server.
    """

    calls: list[Sent] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    killed: set[int] = field(default_factory=set)
    fates: dict[int, str] = field(default_factory=dict)
    servers: int = 0

    def new_server(self) -> int:
        """Return a number for a server."""
        self.servers += 1
        return self.servers

    def send(self, server: int, tool: str, arguments: dict[str, Json]) -> Sent:
        call = Sent(len(self.calls), server, tool, arguments, time.monotonic())
        self.calls.append(call)
        return call

    def take(self, answers: list[Json]) -> int:
        """Record the answers, which are JSON-RPC messages; return how many of them answer calls."""
        of_calls = [message for message in answers if message.get("id") != HELLO]
        for message in of_calls:
            if "result" not in message or not isinstance(message.get("id"), int):
                self.faults.append(f"an answer is malformed: {str(message)[:200]}")
            else:
                self.answered(self.calls[message["id"]], message["result"])
        return len(of_calls)

    def answered(self, call: Sent, result: Json) -> None:
        if not call.is_open:
            self.faults.append(f"{call.tool} was answered twice")
        call.over = time.monotonic()
        content = result["structuredContent"]
        if not result["isError"]:
            call.answer = content
        elif _REFUSALS.match(content["error"]):
            call.refused = True
        else:
            call.refused = True
            self.faults.append(f"{call.tool} was refused: {content['error']}")

    def ended(self, server: int, *, killed: bool) -> None:
        """Record the end of a server. A server that was not killed must have answered all its calls."""
        now = time.monotonic()
        left = [call for call in self.calls if call.server == server and call.is_open]
        for call in left:
            call.over = min(call.over, now)
        if killed:
            self.killed.add(server)
        elif left:
            self.faults.append(f"{len(left)} calls unanswered at the end of a server that was not killed")

    def acknowledged(self, tool: str) -> list[tuple[Sent, dict[str, Json]]]:
        """Return the successful calls of a tool, with their answers."""
        return [(call, call.answer) for call in self.calls if call.tool == tool and call.answer is not None]

    def open(self, tool: str) -> list[Sent]:
        return [call for call in self.calls if call.tool == tool and call.is_open]

    def closed(self) -> Counter[str]:
        """Return how many answers of closes name each cycle."""
        return Counter(answer["cycle"] for _, answer in self.acknowledged("task_close"))

    def last_words(self) -> set[int]:
        """Return, for each killed server, the number of the last call that it answered."""
        last = {call.server: call.number for call in self.calls if not call.is_open}
        return {number for server, number in last.items() if server in self.killed}
