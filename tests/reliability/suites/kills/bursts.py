"""Several clients, each with a server of its own on one project; the servers are killed at random moments."""

from __future__ import annotations

import random
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.reliability.suite import Piece, Tally
from tests.reliability.suites import points
from tests.reliability.suites.kills.client_records import Book, Sent
from tests.reliability.suites.kills.files import Reader
from tests.reliability.suites.kills.load import asked
from tests.reliability.suites.kills.recovery import numbers, settle
from tests.reliability.suites.kills.server import Server, call_under_way

_ROUND = 10  # kills between two checks of all files
_ORDERLY = 0.04  # share of the servers that end because their input ends
_AT_A_CALL = 0.15  # share of the forked servers that kill themselves before one of their system calls
_HALF = 0.5  # share of these that have written half of the data of that call
_LATEST = 0.006  # seconds after an answer at most until the kill
_DEEPEST = 8  # maximum calls of a client in flight
_GLANCE = 0.001  # maximum seconds between two reads of the files


@dataclass
class Fate:
    """The planned end of a server: `delay` seconds after this number of answers (0: after its start)."""

    answers: int
    delay: float
    orderly: bool = False
    at_call: int = 0
    half: bool = False

    @classmethod
    def drawn(cls, rng: random.Random, *, program: bool) -> Fate:
        answers, delay = rng.randint(0, 12), rng.uniform(0, _LATEST * (10 if program else 1))
        if rng.random() < _ORDERLY:
            return cls(answers, 0.0, orderly=True)
        if not program and rng.random() < _AT_A_CALL:
            return cls(1 << 30, 0.0, at_call=rng.randint(1, 250), half=rng.random() < _HALF)
        return cls(answers, delay if rng.random() < 0.8 else 0.0)


@dataclass
class Client:
    """A client with `depth` calls in flight, and its present server."""

    piece: Piece
    book: Book
    unique: Iterator[int]
    depth: int
    program: bool
    number: int = 0
    answers: int = 0
    due: float = float("inf")
    ending: bool = False
    pending: list[Sent] = field(default_factory=list)

    def start(self) -> None:
        """Start a server, and choose its end."""
        self.fate = fate = Fate.drawn(self.piece.rng, program=self.program)
        self.number = self.book.new_server()
        self.book.fates[self.number] = f"{'program, ' if self.program else ''}{fate}"
        self.answers, self.ending, self.due = 0, False, float("inf")

        def dies() -> None:
            points.before_calls(points.dying(fate.at_call, half=fate.half), during=call_under_way)

        hook = dies if fate.at_call else None
        self.server = Server(self.piece.folder, hook=hook, program=self.program, mutant=self.piece.mutant)
        self._decide()

    def ask(self) -> None:
        """Send calls until `depth` of them are in flight."""
        self.pending = [call for call in self.pending if call.is_open]
        while len(self.pending) < self.depth and not self.ending:
            call = self.book.send(self.number, *asked(self.piece.rng, self.piece.item["load"], next(self.unique)))
            self.pending.append(call)
            self.server.call(call.number, call.tool, call.arguments)

    def listen(self) -> bool:
        """Record the received answers; return whether the server has ended."""
        messages, ended = self.server.receive()
        self.answers += self.book.take(messages)
        self._decide()
        return ended

    def _decide(self) -> None:
        if self.answers >= self.fate.answers and self.due == float("inf"):
            if self.fate.orderly:
                self.ending = True
                self.server.end_input()
            else:
                self.due = time.monotonic() + self.fate.delay

    def end(self, *, kill: bool) -> bool:
        """Wait for the end of the server, or kill it with `kill`; return whether a SIGKILL ended it."""
        messages, killed = self.server.end(kill=kill)
        self.book.take(messages)
        if not killed and not self.ending:
            self.book.faults.append("a server ended that was not killed")
        self.book.ended(self.number, killed=killed)
        self.pending.clear()
        return killed


def burst(piece: Piece) -> Tally:
    """Make this many kills among this many clients, in rounds; check everything after each round."""
    tally, item, book, unique = Tally(), piece.item, Book(), numbers()
    reader = Reader(piece.folder)
    left = item["kills"]
    while left > 0 and not tally.failures:
        clients = [
            Client(piece, book, unique, depth=piece.rng.randint(1, _DEEPEST), program=index < item["programs"])
            for index in range(item["clients"])
        ]
        left -= _round(clients, min(left, _ROUND), reader, tally)
        faults = settle(piece.folder, book, reader, tally, unique)
        if faults:
            tally.failures += [*faults, f"the ends of the servers so far: {book.fates}"]
    acknowledged = [call for call in book.calls if call.answer is not None]
    tally.counts["calls acknowledged"] += len(acknowledged)
    tally.counts["calls that a kill left unanswered"] += len([call for call in book.calls if call.is_open])
    tally.counts["raw reads of a file"] += reader.looks
    return tally


def _round(clients: list[Client], kills: int, reader: Reader, tally: Tally) -> int:
    """Kill this many servers, or a few more, start new ones in their place, and return the number of kills."""
    done = 0
    for client in clients:
        client.start()
    running = list(clients)
    while running:
        for client in running:
            client.ask()
        ended = _wait(running)
        reader.glance()
        now = time.monotonic()
        for client in [client for client in running if client in ended or client.due <= now]:
            killed = client.end(kill=client not in ended)
            done += killed
            tally.counts["random SIGKILLs"] += killed
            tally.counts["random SIGKILLs of server processes"] += killed and client.program
            if done + len(running) <= kills and not client.book.faults:
                client.start()
            else:
                running.remove(client)
    return done


def _wait(running: list[Client]) -> list[Client]:
    """Wait shortly for an answer or for a kill that is due; return the clients whose server has ended."""
    pause = min(_GLANCE, max(0.0, min(client.due for client in running) - time.monotonic()))
    by_descriptor = {client.server.out: client for client in running}
    ready, _, _ = select.select([*by_descriptor], [], [], pause)
    return [by_descriptor[fd] for fd in ready if by_descriptor[fd].listen()]
