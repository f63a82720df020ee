"""A run of a suite repeats for a seed, continues where it stopped, and reports each failure."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.reliability import runner
from tests.reliability.runner import Progress, run
from tests.reliability.suite import Json, Piece, Suite, Tally


def plan(seed: int, quick: bool) -> Sequence[Json]:
    return list(range(seed, seed + (3 if quick else 10)))


def work(piece: Piece) -> Tally:
    assert list(piece.folder.iterdir()) == []
    tally = Tally()
    tally.counts["things"] += piece.item
    tally.peak("chance", piece.rng.random())
    return tally


SUITE = Suite(name="example", title="An example", goal=("things", 10), plan=plan, work=work)


@pytest.fixture(autouse=True)
def checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(runner, "CHECKPOINTS", tmp_path / "checkpoints")
    return tmp_path / "checkpoints"


def test_seed_decides_the_run() -> None:
    """The same seed gives the same run; another seed gives another run."""
    first, again, other = (run(SUITE, seed, quick=True).tally.as_json() for seed in (1, 1, 2))
    assert first == again
    assert first["counts"] == {"things": 1 + 2 + 3}
    assert first != other


def test_piece_can_be_the_first_one() -> None:
    """A run that ends at the first failure begins with the requested piece, and continues with the others."""

    def broken(piece: Piece) -> Tally:
        return Tally(failures=[str(piece.item)] if piece.item == 3 else [])

    ended = run(replace(SUITE, work=broken), 1, quick=True, processes=1, until_failure=True, first=2)
    assert (ended.tally.failures, ended.done) == (["example, seed 1, piece 2: 3"], {2})
    assert run(SUITE, 1, quick=True, processes=1, first=2).done == {0, 1, 2}


def test_stopped_run_continues(checkpoints: Path) -> None:
    """A stopped run continues, and has the same result as a run without a stop."""

    class Stopped(Exception):
        pass

    def stop(progress: Progress) -> None:
        if len(progress.done) == 4:
            progress.keep()
            raise Stopped

    with pytest.raises(Stopped):
        run(SUITE, 1, quick=False, resume=True, say=stop)
    assert len(list(checkpoints.iterdir())) == 1
    said: list[int] = []
    ended = run(SUITE, 1, quick=False, resume=True, say=lambda progress: said.append(len(progress.done)))
    assert said == [5, 6, 7, 8, 9, 10]
    assert ended.tally.as_json() == run(SUITE, 1, quick=False).tally.as_json()


def test_checkpoint_of_other_code_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run ignores a checkpoint of other code, whose figures would not belong to the present code."""
    run(SUITE, 1, quick=False, resume=True)
    monkeypatch.setattr(runner, "code", lambda: "other")
    said: list[int] = []
    run(SUITE, 1, quick=False, resume=True, say=lambda progress: said.append(len(progress.done)))
    assert len(said) == 10


def test_torn_checkpoint_is_ignored(checkpoints: Path) -> None:
    """A checkpoint that a crash truncated is ignored."""
    whole = run(SUITE, 1, quick=False, resume=True)
    whole.path.write_bytes(whole.path.read_bytes()[:-40])
    said: list[int] = []
    run(SUITE, 1, quick=False, resume=True, say=lambda progress: said.append(len(progress.done)))
    assert len(said) == 10


def test_day_of_a_run_is_that_of_its_last_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """The day of a run is that of its last piece, not that of a later report."""
    run(SUITE, 1, quick=False, resume=True)
    monkeypatch.setattr("time.strftime", lambda *_: "another day")
    assert run(SUITE, 1, quick=False, resume=True).day not in ("", "another day")
    assert run(SUITE, 2, quick=False, resume=True).day == "another day"


def test_dead_process_counts_as_failure() -> None:
    """A finding, an unexpected exception and a dead process are failures, reported with their piece."""

    def broken(piece: Piece) -> Tally:
        if piece.item == 1:
            return Tally(failures=["a task is lost"])
        if piece.item == 2:
            raise ValueError("not foreseen")
        os._exit(0)

    told = run(replace(SUITE, work=broken), 1, quick=True, processes=1).tally.failures
    assert told[0] == "example, seed 1, piece 0: a task is lost"
    assert "piece 1" in told[1]
    assert "ValueError: not foreseen" in told[1]
    assert told[2] == "example, seed 1, piece 2: hung for 120 s, or its process died"
    assert len(told) == 3
