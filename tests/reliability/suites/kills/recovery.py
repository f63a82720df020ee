"""Complete the leftovers by a call after all servers have ended, and check every rule."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.reliability.suite import Json, Tally
from tests.reliability.suites.kills.audit import audit
from tests.reliability.suites.kills.client_records import Book
from tests.reliability.suites.kills.files import Reader, leftovers, read
from tests.reliability.suites.kills.load import ARTIFACTS, text


class Observer:
    """A client with a server in this process, which is never killed. Its calls go into the book like all others."""

    def __init__(self, root: Path, book: Book) -> None:
        self._app = App(Workspace(str(root)))
        self._book = book
        self._server = book.new_server()

    def __call__(self, tool: str, **arguments: Json) -> Json:
        """Call the tool; return the content of the answer."""
        call = self._book.send(self._server, tool, arguments)
        answer = self._app.call(tool, arguments)
        self._book.answered(call, answer.result)
        answer.confirm_delivery()
        return answer.result["structuredContent"]


def settle(root: Path, book: Book, reader: Reader, tally: Tally, unique: Iterator[int]) -> list[str]:
    """Return the violations that are found after the end of all servers and a call of another one."""
    try:
        reader.look()
        observer = Observer(root, book)
        for tool in ("plan_status", "task_list", "history_search"):
            observer(tool)
        reader.look()
        return reader.faults + _retried(root, book, observer, tally) + _used(root, book, observer, unique)
    except (ValueError, KeyError) as error:
        return [*reader.faults, *book.faults, f"a file is torn or incomplete: {error!r}"]


def _retried(root: Path, book: Book, observer: Observer, tally: Tally) -> list[str]:
    """Check that a repeated close returns the answer of an undelivered close once, and adds no second cycle."""
    before = read(root)
    if before.plan or before.tasks or not before.cycles or before.cycles[-1]["completed_at"] in book.closed():
        return []
    # Nothing is open, so an unanswered close made the newest cycle, and nothing followed.
    tally.counts["closes repeated after a kill"] += 1
    newest = before.cycles[-1]["completed_at"]
    answer = observer("task_close")
    if answer.get("cycle") != newest or len(read(root).cycles) != len(before.cycles):
        return [f"a repeated close was answered with {answer} and added {len(read(root).cycles) - len(before.cycles)}"]
    again = observer("task_close")
    if again.get("cycle") == newest:
        return ["two repeated closes returned the answer of one close"]
    return []


def _used(root: Path, book: Book, observer: Observer, unique: Iterator[int]) -> list[str]:
    """Check that the project still works, no leftover of a crash stays, and every acknowledged change is stored."""
    number = next(unique)
    observer("task_add", title=f"t{number}", context="c")
    for name in ARTIFACTS:
        observer("artifact_write", filename=name, content=text(next(unique), 1))
    faults = audit(book, read(root))
    if left := leftovers(root):
        faults.append(f"the next write did not remove {left}")
    return faults


def numbers() -> Iterator[int]:
    """Yield numbers for titles and texts."""
    return itertools.count(1)
