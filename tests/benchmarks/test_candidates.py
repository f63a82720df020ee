"""The ways to search a long history: when a result is stored, and that a wrong answer is reported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.candidates import __main__ as command
from benchmarks.data.history import RARE_CYCLES

FOUND = {"rare": RARE_CYCLES, "common": 90, "two characters": RARE_CYCLES}


def row(candidate: str, cycles: int, found: dict[str, int]) -> dict[str, object]:
    return {
        "cycles": cycles,
        "candidate": candidate,
        "build_ms": 1.0,
        "disk_mb": 1.0,
        "ms": dict.fromkeys(found, 1.0),
        "found": found,
    }


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The files that were kept, of a run that measures nothing and in which all candidates find the same."""
    kept: list[Path] = []
    monkeypatch.setattr(results, "write", lambda path, _: kept.append(path))
    monkeypatch.setattr(command, "PLACE", tmp_path)
    monkeypatch.setattr(command, "parsed", lambda size, _: [{"cycles": size, "parser": "json", "ms": 1.0}])
    monkeypatch.setattr(command, "measured", lambda size, *_: [row("one", size, FOUND), row("other", size, FOUND)])
    return kept


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["candidates", *arguments])
    return command.main()


def test_keep_stores_the_result_for_the_page(written: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with few rounds and --keep stores the result from which the page is made."""
    assert run(monkeypatch, "--rounds", "1") == 0
    assert written == []
    assert run(monkeypatch, "--keep") == 0
    assert written == [results.CANDIDATES]


@pytest.mark.parametrize("wrong", [{"common": 89}, {"rare": RARE_CYCLES + 1}])
def test_candidate_with_other_results_is_reported_and_not_kept(
    written: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: dict[str, int]
) -> None:
    """A candidate whose results differ from the others, or from the generated data, is reported and not stored."""
    found = {**FOUND, **wrong}
    monkeypatch.setattr(command, "measured", lambda size, *_: [row("one", size, FOUND), row("other", size, found)])
    assert run(monkeypatch, "--keep") == 1
    assert "WRONG: other finds" in capsys.readouterr().out
    assert written == []
