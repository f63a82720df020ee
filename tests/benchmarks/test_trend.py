"""The trend reports a regression, tolerates a slower machine, and measures again after a disturbed run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.data import history as generator
from benchmarks.trend import __main__ as command
from benchmarks.trend import workloads
from benchmarks.trend.__main__ import KEPT, PYTHON, remark
from benchmarks.trend.judge import AGAIN, LIMIT, Pairs, check, ratios, record
from benchmarks.trend.workloads import ROWS

RECORDED = {"start": 2.0, "hook": 3.0}
ALL = frozenset(RECORDED)


class Machine:
    """Returns the recorded ratios, changed by `factors`; records the requested rows."""

    def __init__(self, speed: float = 1.0, factors: list[dict[str, float]] | None = None) -> None:
        self.speed, self.factors = speed, factors or [{}]
        self.asked: list[tuple[frozenset[str], int]] = []

    def measure(self, rows: frozenset[str], rounds: int) -> Pairs:
        factors = self.factors[min(len(self.asked), len(self.factors) - 1)]
        self.asked.append((rows, rounds))
        return {row: [(RECORDED[row] * factors.get(row, 1.0) * self.speed, self.speed)] * rounds for row in rows}


def slower(machine: Machine) -> list[str]:
    return [verdict.row for verdict in check(machine.measure, RECORDED, ALL, 5) if verdict.slower]


def test_a_slower_machine_is_no_regression() -> None:
    """Our figures and the reference figures take four times as long, so no ratio changes."""
    machine = Machine(speed=4.0)
    assert slower(machine) == []
    assert machine.asked == [(ALL, 5)]


def test_regression_is_reported_after_a_second_measurement() -> None:
    """A row that is clearly slower in two measurements is reported; the second one measures that row alone, and
    longer.
    """
    machine = Machine(factors=[{"hook": 1.5}])
    assert slower(machine) == ["hook"]
    assert machine.asked == [(ALL, 5), (frozenset({"hook"}), 5 * AGAIN)]


def test_a_busy_minute_is_no_regression() -> None:
    """A row that is slower in one measurement only is not reported."""
    assert slower(Machine(factors=[{"hook": 1.5}, {}])) == []


def test_a_little_is_no_regression() -> None:
    """Up to the limit, and faster, is fine."""
    assert slower(Machine(factors=[{"hook": LIMIT - 0.01, "start": 0.2}])) == []


def test_one_round_that_was_disturbed_changes_nothing() -> None:
    """A ratio is the median over the rounds."""
    assert ratios({"start": [(2.0, 1.0), (40.0, 1.0), (2.0, 1.0)]}) == {"start": 2.0}


def test_record_is_the_middle_of_three_measurements() -> None:
    """One lucky or disturbed measurement does not become the record."""
    machine = Machine(factors=[{"hook": 0.8}, {"start": 1.5}, {}])
    assert record(machine.measure, ALL, 5) == RECORDED
    assert machine.asked == [(ALL, 5)] * 3


def test_row_without_a_record_is_reported() -> None:
    """A row that was never recorded is reported, because it cannot be compared."""
    verdicts = check(Machine().measure, {"start": 2.0}, ALL, 5)
    assert [(one.row, one.slower, remark(one)) for one in verdicts] == [
        ("hook", True, "never recorded"),
        ("start", False, ""),
    ]


def test_a_row_is_recorded_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named rows are recorded again; the other rows keep their recorded ratios."""
    kept = tmp_path / "trend.json"
    kept.write_text(json.dumps({PYTHON: {"hook": 2.0, "start": 3.0}, "3.0": {"start": 9.0}}))
    monkeypatch.setattr(command, "KEPT", kept)
    monkeypatch.setattr(results, "write", lambda path, value: path.write_text(json.dumps(value)))
    monkeypatch.setattr(command, "measure", lambda rows, rounds: dict.fromkeys(rows, [(4.0, 1.0)] * rounds))
    assert command.main(["--record", "--rows", "hook"]) == 0
    assert json.loads(kept.read_text()) == {"3.0": {"start": 9.0}, PYTHON: {"hook": 4.0, "start": 3.0}}
    with pytest.raises(SystemExit):
        command.main(["--rows", "nothing"])


def test_a_lost_index_is_no_small_thing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row of a first call is measured with a new server that finds the index of an earlier one."""
    monkeypatch.setattr(generator, "DATA", tmp_path)
    monkeypatch.setattr(workloads, "CYCLES", 100)
    monkeypatch.setattr(workloads, "FEW", 1)
    with workloads.bed() as made:
        [(row, taken)] = workloads.first(made)
        assert (row in ROWS, taken > 0) == (True, True)
        assert list(made.indexed.cache.iterdir())


def test_recorded_trend_has_every_row() -> None:
    """For each version of Python that we support, a ratio is recorded for each row and for no other."""
    kept = results.read(KEPT)
    assert kept.keys() == {"3.11", "3.12", "3.13"}
    assert {version for version, rows in kept.items() if rows.keys() != ROWS} == set()
