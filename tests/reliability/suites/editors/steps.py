"""Save between two system calls, at each place of a call in turn."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

from nexus_mcp.store import atomic
from tests.reliability.suite import Piece, Tally
from tests.reliability.suites.editors.project import ACKNOWLEDGED, SCENES, Ground
from tests.reliability.suites.editors.saves import TOKEN, WAYS
from tests.store.crash_points import Died

_CALLS = (
    *("open", "close", "read", "write", "pread", "pwrite", "fstat", "fsync", "fchmod", "ftruncate", "stat", "listdir"),
    *("mkdir", "replace", "link", "unlink", "rmdir", "utime", "copy_file_range"),
)
_MOST = 400
_FAILURES = 3
Plan = dict[int, Callable[[], None]]


class Seen:
    """The numbers of two system calls: `met` is the first that names the file `name`, `taken` the one that takes it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.met = self.taken = _MOST

    def add(self, call: str, arguments: tuple[Any, ...], number: int) -> None:
        if arguments and arguments[0] == self._name:
            self.met = min(self.met, number)
        if call in ("exchange", "link"):
            self.taken = min(self.taken, number)


def attempt(piece: Piece, scene: int, way: str, stride: int, more: int) -> Tally:
    """Save before each `stride`-th system call, then make `more` tries with two saves, or with a save and a death."""
    tally, rng = Tally(), piece.rng
    made = Ground(piece.folder, SCENES[scene], saved=way == "dated_back")
    made.reset()
    with _steps({}) as undisturbed:
        made.call()
    places = len(undisturbed)
    assert 0 < places < _MOST
    steps = len(WAYS[way](made.path, ""))
    for place in range(rng.randrange(stride), places, stride):
        last = [place] if steps == 1 else sorted({place + 1, rng.randrange(place + 1, places + 5)})
        for end in last:
            _try(made, way, [place] if steps == 1 else [place, end], _MOST, tally)
    taking = [place for place, name in enumerate(undisturbed) if name in ("exchange", "replace")]
    for place in taking if steps == 1 and (stride == 1 or way == "by_rename") else ():
        for death in range(place + 1, place + 6, 1 if stride == 1 else 2):  # while it holds the saved file
            _try(made, way, [place], death, tally)
    for _ in range(more):
        first, second = sorted(rng.sample(range(places + 3), 2))
        death = _MOST if rng.random() < 0.4 else rng.randrange(first, first + places)
        chosen = [first] if steps == 1 and death < _MOST else [first, second]
        _try(made, way, chosen, death, tally)
        if len(tally.failures) >= _FAILURES:
            break
    return tally


def _try(made: Ground, way: str, places: list[int], death: int, tally: Tally) -> None:
    """Make one call with saves at these places; the process dies before its system call number `death`."""
    made.reset()
    plan, tokens = _planned(made, way, places)
    answer: Any = None
    seen = Seen(made.path.name)
    with suppress(Died), _steps(plan, death, seen):
        answer = made.call()
    if death < _MOST:
        gc.collect()  # closes the files of the dead process, as the kernel would
    for place in sorted(plan):  # the remaining saves follow the call
        plan.pop(place)()
    made.settle()
    texts = made.texts()
    tally.counts["saves" if way != "removed" else "removals"] += len(tokens)
    told = f"{made.scene.told}, {way} before call {places}" + f", death before {death}" * (death < _MOST)
    lost = [token for token in tokens if token not in texts and token not in made.undo_texts()]
    if made.is_written_over and (places[0] <= seen.met or (way == "in_halves" and places[1] > seen.taken)):
        lost = []  # the call may overwrite a save that came before its first read
    if way == "dated_back":
        lost = lost if lost == tokens or tokens[-1] in lost else []  # a second save replaces the first token
    if lost and way != "removed":
        tally.failures.append(f"{told}: {lost} is lost")
    error = answer["structuredContent"].get("error", "") if answer else ""
    if error.startswith("Internal error"):
        tally.failures.append(f"{told}: {error}")
    tally.counts["calls refused"] += bool(error)
    if answer and not error and ACKNOWLEDGED in str(made.scene.arguments) and way != "removed":
        tally.failures += [f"{told}: the acknowledged change is lost"] * (ACKNOWLEDGED not in texts)
    tally.counts["conflict copies"] += sum(1 for _ in (made.root / ".nexus").rglob("conflict-*"))


def _planned(made: Ground, way: str, places: list[int]) -> tuple[Plan, list[str]]:
    saves = WAYS[way](made.path, TOKEN % 1)
    if len(saves) == 2:
        return dict(zip(places, saves, strict=True)), [TOKEN % 1]
    plan = {place: WAYS[way](made.path, TOKEN % number)[0] for number, place in enumerate(places, 1)}
    return plan, [TOKEN % number for number in range(1, len(places) + 1)]


@contextmanager
def _steps(plan: Plan, death: int = _MOST, seen: Seen | None = None) -> Iterator[list[str]]:
    """Run the entry of `plan` for its number before each system call that Python makes; raise Died at `death`."""
    names: list[str] = []
    busy = False

    def stepping(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal busy
            if busy:
                return real(*arguments, **named)
            if len(names) in plan:
                busy = True
                try:
                    plan.pop(len(names))()
                finally:
                    busy = False
            if len(names) >= death and name != "close":
                raise Died
            names.append(name)
            if seen is not None:
                seen.add(name, arguments, len(names) - 1)
            return real(*arguments, **named)

        return call

    patches = [patch.object(os, name, stepping(name, getattr(os, name))) for name in _CALLS if hasattr(os, name)]
    patches.append(patch.object(atomic, "exchange", stepping("exchange", atomic.exchange)))
    for each in patches:
        each.start()
    try:
        yield names
    finally:
        for each in patches:
            each.stop()
