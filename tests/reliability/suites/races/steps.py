"""Swap between two system calls of a write, at each place in turn."""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from nexus_mcp.store import atomic
from tests.reliability.suite import Piece, Tally
from tests.reliability.suites.races.exchange import at_once, can_exchange, one_by_one
from tests.reliability.suites.races.project import Ground, ground

# The calls that read, make, open or rename a file or folder.
_CALLS = (
    *("open", "close", "read", "write", "pread", "pwrite", "fstat", "fsync", "fchmod", "ftruncate"),
    *("stat", "lstat", "readlink", "listdir", "scandir", "mkdir", "rename", "replace", "link", "symlink"),
    *("unlink", "remove", "rmdir", "chmod", "truncate", "utime", "copy_file_range"),
)
_MOST_CALLS = 400  # more than a write makes
_FAILURES = 5


def attempt(piece: Piece, name: str, part: int, parts: int, whole: bool) -> Tally:
    """Write the artifact `name` with one swap per write, for the points whose number is `part` modulo `parts`.

    The swap is taken back before one of the next two calls or never; with `whole`, before each later call in turn.
    """
    tally = Tally()
    with ground(piece.folder) as made:
        swap = at_once if can_exchange(made.points[0].fd) else one_by_one
        calls = _counted(made, name)
        for number, point in enumerate(made.points):
            if number % parts != part:
                continue
            for first in range(calls):
                ends = range(first + 1, calls) if whole else range(first + 1, min(first + 3, calls))
                for back in (*ends, _MOST_CALLS):
                    refused, swaps = _swapped(made, name, {first, back}, partial(swap, point.fd, point.name))
                    point.replant()
                    made.move_copies_away()
                    tally.counts["writes with swaps at chosen places"] += 1
                    tally.counts["writes with swaps at chosen places that were refused"] += refused != ""
                    tally.counts["exchanges of two names by one system call"] += swaps
                    told = made.trespasses()
                    told += [refused] if refused.startswith("Internal error") else []
                    if told:
                        when = f"{point.shown} a link before call {first}, back before call {back} of a write of {name}"
                        tally.failures.append(f"{when}: {'; '.join(told)}")
                if len(tally.failures) >= _FAILURES:
                    return tally
        if refused := made.write(name, "last"):
            tally.failures.append(f"{name} cannot be written after all swapping has ended: {refused}")
    return tally


def _swapped(made: Ground, name: str, when: set[int], swap: Callable[[], None]) -> tuple[str, int]:
    """Return (the refusal of a write, the number of swaps), with a swap before each of these calls of the write."""
    number = swaps = 0

    def step() -> None:
        nonlocal number, swaps
        if number in when:
            swap()
            swaps += 1
        number += 1

    with _steps(step):
        refused = made.write(name, "stepped")
    if swaps % 2:
        swap()
        swaps += 1
    return refused, swaps


def _counted(made: Ground, name: str) -> int:
    """Return the number of calls of an undisturbed write."""
    number = 0

    def step() -> None:
        nonlocal number
        number += 1

    with _steps(step):
        assert made.write(name, "counted") == ""
    assert 0 < number < _MOST_CALLS
    return number


@contextmanager
def _steps(step: Callable[[], None]) -> Iterator[None]:
    """Call `step()` before each call of the operating system that Python makes."""
    busy = False

    def stepping(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal busy
            if not busy:
                busy = True
                try:
                    step()
                finally:
                    busy = False
            return real(*arguments, **named)

        return call

    with ExitStack() as stack:
        for name in filter(partial(hasattr, os), _CALLS):
            stack.enter_context(patch.object(os, name, stepping(getattr(os, name))))
        stack.enter_context(patch.object(atomic, "exchange", stepping(atomic.exchange)))
        for module in (builtins, io):
            stack.enter_context(patch.object(module, "open", stepping(open)))
        yield
