"""Pause a server before each of its system calls in turn, those for the lock included, while another gets a call.

No timing is involved: the second server answers, or finds the lock taken. Then the first one continues, or is killed
at that call.
"""

from __future__ import annotations

import copy
import os
import random
import select
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.reliability.suite import Piece, Tally
from tests.reliability.suites import points
from tests.reliability.suites.kills.client_records import Book, Sent
from tests.reliability.suites.kills.deaths import prepared
from tests.reliability.suites.kills.files import Reader
from tests.reliability.suites.kills.load import arguments
from tests.reliability.suites.kills.recovery import numbers, settle
from tests.reliability.suites.kills.server import Server, call_under_way
from tests.store.crash_points import CALLS

_CALLS = {"all": (*CALLS, points.LOCKING), "locking": (points.LOCKING,)}


def stalls(piece: Piece) -> Tally:
    """Run a piece. In its item `tools` are the calls of the first and the second server.

    `calls` names the system calls before which the first one pauses; with `kill` it is killed there.
    """
    tally, item = Tally(), piece.item
    template, known = prepared(piece.folder / "template", piece.rng)
    number = 1 + piece.rng.randrange(item["step"])
    while not tally.failures:
        root = piece.folder / str(number)
        shutil.copytree(template, root)
        book = copy.deepcopy(known)
        stood = _Stall(root, book, piece.rng, number, _CALLS[item["calls"]]).run(*item["tools"], kill=item["kill"])
        told = f"{item['tools'][0]} paused before call {number}, then {item['tools'][1]}:"
        tally.failures += [f"{told} {line}" for line in settle(root, book, Reader(root), tally, numbers())]
        shutil.rmtree(root)
        if not stood:
            break
        tally.counts["stopped servers"] += 1
        tally.counts["SIGKILLs at a chosen call"] += item["kill"]
        number += item["step"]
    return tally


class _Stall:
    """Two servers. On a pipe the first one reports that it pauses, the second one that it waits for a lock."""

    def __init__(self, root: Path, book: Book, rng: random.Random, number: int, calls: Sequence[str]) -> None:
        self._book, self._rng = book, rng
        self._report, report = os.pipe()
        go, self._go = os.pipe()
        self._first = Server(
            root,
            hook=lambda: points.before_calls(points.standing(number, report, go), calls, call_under_way),
            keep=(report, go),
        )
        self._second = Server(root, hook=lambda: points.reporting_waits(report), keep=(report,))
        os.close(report)
        os.close(go)

    def run(self, first: str, second: str, *, kill: bool) -> bool:
        """Run both calls; return whether the first server paused before it answered."""
        one = self._ask(self._first, first, 1)
        stood = self._until(self._first, one)
        other = self._ask(self._second, second, 2)
        self._until(self._second, other)
        killed = stood and kill
        if not killed:
            os.close(self._go)
            self._answered(self._first, one)
        self._end(self._first, one, kill=killed)
        self._answered(self._second, other)
        self._end(self._second, other, kill=False)
        if killed:
            os.close(self._go)
        os.close(self._report)
        return stood

    def _ask(self, server: Server, tool: str, count: int) -> Sent:
        call = self._book.send(self._book.new_server(), tool, arguments(tool, self._rng, 2000 + count))
        server.call(call.number, call.tool, call.arguments)
        return call

    def _until(self, server: Server, call: Sent) -> bool:
        """Wait for the response or for a report; return whether a report came."""
        while call.is_open:
            ready, _, _ = select.select([server.out, self._report], [], [])
            if self._report in ready:
                return os.read(self._report, 1) != b""
            self._take(server)
        return False

    def _answered(self, server: Server, call: Sent) -> None:
        while call.is_open and not self._book.faults:
            select.select([server.out], [], [])
            self._take(server)

    def _take(self, server: Server) -> None:
        messages, ended = server.receive()
        self._book.take(messages)
        if ended:
            self._book.faults.append("a server ended that was not killed")

    def _end(self, server: Server, call: Sent, *, kill: bool) -> None:
        server.end_input()
        messages, killed = server.end(kill=kill)
        self._book.take(messages)
        self._book.ended(call.server, killed=killed)
