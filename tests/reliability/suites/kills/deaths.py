"""Let a server die before or within each of its system calls in turn, while it serves one client."""

from __future__ import annotations

import copy
import random
import select
import shutil
from pathlib import Path

from tests.reliability.suite import Json, Piece, Tally
from tests.reliability.suites import points
from tests.reliability.suites.kills.client_records import Book
from tests.reliability.suites.kills.files import Reader
from tests.reliability.suites.kills.load import arguments
from tests.reliability.suites.kills.recovery import Observer, numbers, settle
from tests.reliability.suites.kills.server import Server, call_under_way
from tests.store.crash_points import CALLS

_UNIQUE = 1000  # first number in the titles of the preparation
_FEWEST = 5  # minimum system calls of a change
_CALLS = {"all": CALLS, "changing": points.CHANGING}


def deaths(piece: Piece) -> Tally:
    """Run a piece. In its item `tools` are the calls in order, `calls` names the system calls before which to die.

    With `half` the death is within the system calls that write.
    """
    tally, item = Tally(), piece.item
    template, known = prepared(piece.folder / "template", piece.rng)
    number = 1
    while not tally.failures:
        root = piece.folder / str(number)
        shutil.copytree(template, root)
        book = copy.deepcopy(known)
        died = _die(root, book, item, number, piece.rng)
        reader = Reader(root)
        told = f"death {'within' if item['half'] else 'before'} call {number} ({item['calls']}) of {item['tools']}"
        tally.failures += [f"{told}: {line}" for line in settle(root, book, reader, tally, numbers())]
        shutil.rmtree(root)
        if not died:
            break
        tally.counts["SIGKILLs at a chosen call"] += 1
        number += 1
    if number < _FEWEST and not tally.failures:
        tally.failures.append(f"{item['tools']} made hardly a call to the system: none of its deaths was tried")
    return tally


def prepared(root: Path, rng: random.Random) -> tuple[Path, Book]:
    """Return (the folder of a project with a cycle, a plan and tasks; the record of the calls that made them)."""
    root.mkdir()
    book = Book()
    observer = Observer(root, book)
    unique = iter(range(_UNIQUE, 2 * _UNIQUE))
    for tool in ("task_add", "task_close", "plan_start", "task_add", "task_add"):
        observer(tool, **arguments(tool, rng, next(unique)))
    return root, book


def _die(root: Path, book: Book, item: Json, number: int, rng: random.Random) -> bool:
    """Send the calls at once; return whether the server died before it had carried them out."""
    death = points.dying(number, half=item["half"])
    server = Server(root, hook=lambda: points.before_calls(death, _CALLS[item["calls"]], call_under_way))
    name = book.new_server()
    for count, tool in enumerate(item["tools"]):
        call = book.send(name, tool, arguments(tool, rng, 2 * _UNIQUE + count))
        server.call(call.number, call.tool, call.arguments)
    server.end_input()
    ended = False
    while not ended:
        select.select([server.out], [], [])
        messages, ended = server.receive()
        book.take(messages)
    _, killed = server.end(kill=False)
    book.ended(name, killed=killed)
    return killed
