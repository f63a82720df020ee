"""The kinds of pieces: random histories, a death at each point of a close, and a stall at each point."""

from __future__ import annotations

import itertools
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.reliability.mutants import planted
from tests.reliability.suite import Piece, Tally
from tests.reliability.suites.linearizable.checker import Undecided, check
from tests.reliability.suites.linearizable.history import History, told
from tests.reliability.suites.linearizable.model import Model, State
from tests.reliability.suites.linearizable.recording import Fate, Recorder, Script
from tests.reliability.suites.linearizable.scripts import call, drawn
from tests.reliability.suites.linearizable.stalls import stall
from tests.reliability.suites.points import CHANGING

_JOURNAL = ".nexus/state/txn.json"
_MOST = 0.5  # least share of histories without a lock to reject: in some no calls meet, or a call retries


def by_chance(piece: Piece) -> Tally:
    """Record and check random histories, each of four processes; `histories` in the item is their number."""
    tally = Tally()
    for number in range(piece.item["histories"]):
        recorder = _recorded(piece.folder / str(number), piece.rng)
        tally.counts["histories of 4 processes"] += 1
        tally.counts["calls in histories"] += len(recorder.history.ops)
        tally.counts["kills in histories"] += recorder.kills
        tally.failures += recorder.faults + judged(recorder.history, tally)
    return tally


def unlocked(piece: Piece) -> Tally:
    """Run the same without the lock: the checker has to reject the history."""
    tally, told, rejected = Tally(), Tally(), 0
    with planted("no-lock"):
        for number in range(piece.item["histories"]):
            recorder = _recorded(piece.folder / str(number), piece.rng)
            tally.failures += recorder.faults
            rejected += bool(judged(recorder.history, told))
    tally.counts["histories without the lock"] += piece.item["histories"]
    tally.counts["histories without the lock that the checker rejected"] += rejected
    if rejected < _MOST * piece.item["histories"]:
        tally.failures.append(f"of {piece.item['histories']} histories without a lock {rejected} were rejected")
    return tally


def deaths(piece: Piece) -> Tally:
    """Let a process that runs `tools` die before each of its system calls that change files.

    Its client continues with the remaining calls, and repeats an unanswered close.
    """
    tally, unique = Tally(), itertools.count(1)
    number = 0
    while True:
        number += 1
        root = piece.folder / str(number)
        root.mkdir()
        recorder = Recorder(root, piece.rng)
        calls = [call(tool, piece.rng, unique) for tool in piece.item["tools"]]
        recorder.run([Script(calls, Fate(at_call=number, of=CHANGING))])
        recorder.finish()
        faults = recorder.faults + judged(recorder.history, tally)
        tally.failures += [f"a death before call {number} of {piece.item['tools']}: {fault}" for fault in faults]
        if not recorder.kills or tally.failures:
            return tally
        tally.counts["deaths before a chosen system call"] += 1


def stalls(piece: Piece) -> Tally:
    """Pause a process with the calls `first` before each of its system calls (with `step` 3, each third of them).

    Meanwhile another process makes the calls `second`. With `died`, a third process made those calls before, and died
    as soon as its journal existed."""
    tally = Tally()
    dies_at = _journaled(piece) if piece.item["died"] else 0
    stood, number = True, 1
    while stood and not tally.failures:
        stood, recorder = _stalled(piece, number, dies_at)
        told = f"a stall before call {number} of {piece.item['first']}, then {piece.item['second']}"
        tally.failures += [f"{told}: {fault}" for fault in recorder.faults + judged(recorder.history, tally)]
        tally.counts["pauses before a chosen system call"] += stood
        number += piece.item["step"]
    return tally


def unlocked_stalls(piece: Piece) -> Tally:
    """Run the same without the lock: at some point the checker has to reject the history."""
    stood, number = True, 1
    while stood:
        with planted("no-lock"):
            stood, recorder = _stalled(piece, number)
        if recorder.faults:
            return Tally(failures=recorder.faults)
        if judged(recorder.history, Tally()):
            return Tally(Counter({"histories of pauses without the lock that the checker rejected": 1}))
        number += piece.item["step"]
    return Tally(failures=["no history of a stall without a lock was rejected"])


def judged(history: History, tally: Tally) -> list[str]:
    """Check the history; return why it is not linearizable, [] if it is."""
    try:
        verdict = check(history.ops, State(), Model(history).step)
    except Undecided as error:
        return [f"not decided {error}"]
    tally.peak("states at most in the check of one history", verdict.tried)
    if verdict.is_linearizable:
        return []
    return [f"not linearizable: of {told(history.ops)} no more is explained than {told(verdict.order)}"]


def _recorded(root: Path, rng: random.Random) -> Recorder:
    root.mkdir()
    recorder = Recorder(root, rng)
    recorder.run(drawn(rng, itertools.count(1)))
    recorder.finish()
    shutil.rmtree(root)
    return recorder


def _journaled(piece: Piece) -> int:
    """Return the first system call before which the journal of the tools in `died` exists."""
    number, root = 0, piece.folder / "died"
    while not (root / _JOURNAL).exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        number += 1
        recorder = Recorder(root, piece.rng)
        recorder.run([_dies(piece, number, itertools.count(1))])
        if not recorder.kills:
            raise AssertionError(f"{piece.item['died']} leaves no journal")
    shutil.rmtree(root)
    return number


def _dies(piece: Piece, number: int, unique: Iterator[int]) -> Script:
    calls = [call(tool, piece.rng, unique) for tool in piece.item["died"]]
    return Script(calls, Fate(at_call=number, of=CHANGING), goes_on=False)


def _stalled(piece: Piece, number: int, dies_at: int = 0) -> tuple[bool, Recorder]:
    """Return (whether the first process reached its call `number`, the recorded history)."""
    root = piece.folder / str(number)
    root.mkdir()
    recorder, unique = Recorder(root, piece.rng), itertools.count(1)
    if dies_at:
        recorder.run([_dies(piece, dies_at, unique)])
    first = [call(tool, piece.rng, unique) for tool in piece.item["first"]]
    second = [call(tool, piece.rng, unique) for tool in piece.item["second"]]
    stood = stall(recorder, root, number, first, second)
    recorder.finish()
    return stood, recorder
