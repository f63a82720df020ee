"""Power cuts during real calls: every state that a reordering file system may leave.

scenarios.py has the calls, recording.py records them, disk.py computes the states after a cut, and client_check.py lets
a new server read each state.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Any

from tests.reliability import long
from tests.reliability.suite import Piece, Suite, Tally
from tests.reliability.suites.powercut.client_check import Found, faults, found_in
from tests.reliability.suites.powercut.disk import Disk, Mark, cut_at
from tests.reliability.suites.powercut.scenarios import SCENARIOS, Played, play

_SAMPLES, _ALL_UP_TO = 10_000, 8
_QUICK_SAMPLES, _QUICK_ALL_UP_TO, _QUICK_STEP = 12, 2, 4
_QUICK_SAMPLES_OF = {"another's change after a close": 40}  # enough samples to lose each change alone once
_LONG_SAMPLES, _LONG_ALL_UP_TO = 100, 3  # fewer: the index and texts of a long history are never synced
_MOST_OPERATIONS = 40  # maximum operations of one call; a death is tried after each of them
_LONG_STEP = 4  # in a long history, from one of these deaths to the next
_LIKELY = 25
_PAIRS = 250  # sampled pairs of places for two deaths
_PARTS = {"session": 40, "closes": 20, "undo": 4, "undo of two": 4, "searched close": 20, "searches": 20}
_ENOUGH = 3

_QUICK: tuple[tuple[str, list[int | str]], ...] = (
    ("artifact after a death", ["mkdir a"]),
    ("undo of artifacts after a death", ["remove txn.json"]),
    ("task after a death", ["link the temporary file as .gitignore"]),
    ("close after a death", ["rename the temporary file to txn.json"]),
    ("close after a death", ["exchange the temporary file and history.json"]),
    ("close", []),
    ("another's change after a close", []),
    ("plan", []),
    ("first task", []),
    ("artifact", []),
    ("undo of two", []),
    ("searched close", []),
    ("close after an artifact", []),
)


def plan(seed: int, quick: bool) -> Sequence[Any]:
    """Return a piece for each scenario and the places of its deaths; a long recording has several parts."""
    if quick:
        return [_piece(name, deaths, quick=True) for name, deaths in _QUICK]
    pieces: list[Any] = []
    places = range(1, _MOST_OPERATIONS + 1)
    for name in SCENARIOS:
        if "two deaths" in name:
            pairs = [[first, second] for first in places[:_LIKELY] for second in places[:_LIKELY]]
            pieces += [_piece(name, pair) for pair in random.Random(f"{name}:{seed}").sample(pairs, _PAIRS)]
        elif "death" in name:
            pieces += [_piece(name, [death]) for death in places[:: _LONG_STEP if SCENARIOS[name].long else 1]]
        else:
            parts = _PARTS.get(name, 1)
            pieces += [_piece(name, [], part, parts) for part in range(parts)]
    return pieces


def _piece(scenario: str, deaths: Sequence[int | str], part: int = 0, parts: int = 1, *, quick: bool = False) -> Any:
    piece = {"scenario": scenario, "deaths": deaths, "part": part, "parts": parts, "quick": quick}
    return {**piece, "long": long.SETTLED} if SCENARIOS[scenario].long else piece


def work(piece: Piece) -> Tally:
    """Play the scenario, cut the power at every operation of this part, and check each state that a cut may leave."""
    name, deaths = piece.item["scenario"], piece.item["deaths"]
    is_long, quick = SCENARIOS[name].long, piece.item["quick"]
    all_up_to, samples = (_LONG_ALL_UP_TO, _LONG_SAMPLES) if is_long else (_ALL_UP_TO, _SAMPLES)
    if quick:
        all_up_to, samples = _QUICK_ALL_UP_TO, _QUICK_SAMPLES_OF.get(name, _QUICK_SAMPLES)
    tally = Tally()
    played = play(SCENARIOS[name].dying(deaths), piece.folder, piece.rng)
    if any(answer is not None for answer in played.answers[: len(deaths)]):
        return tally  # the call has fewer operations: no process died
    seen: dict[tuple[bool, frozenset[Any], frozenset[str]], Found] = {}
    # The cuts before the last death are those of the piece without this death.
    first = played.operations.index(Mark(len(deaths), "began")) if deaths else 0
    ends = _share(first, len(played.operations) + 1, piece.item["part"], piece.item["parts"])
    for end in ends[:: _QUICK_STEP if is_long and quick else 1]:
        cut = cut_at(played.start, played.operations, end)
        retries = played.retries(end)
        for choice in cut.choices(piece.rng, all_up_to, samples, spread=is_long):
            disk = cut.state(choice)
            tree, infos = disk.tree(), _infos(disk, played) if is_long else {}
            key = retries, frozenset(tree.items()), frozenset(f"{path} {info}" for path, info in infos.items())
            tally.counts["states of the disk"] += 1
            if key not in seen:
                tally.counts["distinct states of the disk"] += 1
                seen[key] = found_in(tree, infos, piece.folder, played, retried=retries)
            for fault in faults(seen[key], played, end):
                last = played.operations[end - 1].told if end else "nothing"
                tally.failures.append(
                    f"{name}, deaths {deaths}, power cut after {last} (operation {end}), {cut.tell(choice)}: {fault}"
                )
            if len(tally.failures) >= _ENOUGH:
                return tally
        tally.counts["power cuts"] += 1
    return tally


def _infos(disk: Disk, played: Played) -> dict[str, os.stat_result]:
    return {path: played.infos[node] for path, node in disk.nodes().items() if node in played.infos}


def _share(first: int, end: int, part: int, parts: int) -> range:
    return range(first + (end - first) * part // parts, first + (end - first) * (part + 1) // parts)


SUITE = Suite(
    name="powercut",
    title="the power goes at any moment, and the disk kept any part of what was not synced",
    goal=("states of the disk", 5_000_000),
    plan=plan,
    work=work,
    seconds=900.0,  # one piece has 327 000 states: 11 minutes on a busy machine
    mutants=(
        "no-fsync",
        "note-unsynced",
        "no-folder-fsync",
        "no-sync-afterwards",
        "forgotten-unsynced",
        "wrong-order",
        "in-place",
        "unlink-before-archive",
        "no-journal",
        "unconfirmed-journal",
        "unconfirmed-folder",
        "unconfirmed-beginning",
        "unconfirmed-history",
        "unconfirmed-removal",
        "copied-unsynced",
    ),
)
