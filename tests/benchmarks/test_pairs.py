"""The comparison of two checkouts: its table, and the checkouts that it cannot measure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import pairs
from benchmarks.client import ROOT


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "ROUNDS", 1)
    monkeypatch.setattr(pairs, "CALLS", 2)


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *checkouts: Path) -> int:
    given = ["pairs", *map(str, checkouts), "--pairs", "2", "--folder", str(folder / "projects")]
    monkeypatch.setattr("sys.argv", given)
    return pairs.main()


def test_table_has_a_line_for_each_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each call has a line with the medians of both, and their ratio; the projects are gone afterwards."""
    assert run(monkeypatch, tmp_path, ROOT, ROOT) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["call", "task_add", "task_update", "task_list"]
    for line in lines[1:]:
        before, after, ratio = map(float, re.fullmatch(r"\S+ +(\S+) \(.*?\) +(\S+) \(.*\) +(\S+)", line).groups())  # type: ignore[union-attr]
        assert ratio == pytest.approx(after / before, rel=0.02)
    assert list((tmp_path / "projects").iterdir()) == []


def test_folder_without_the_package_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder without our package is refused: the benchmark would measure the installed package in its place."""
    with pytest.raises(SystemExit) as end:
        run(monkeypatch, tmp_path, ROOT, tmp_path)
    assert end.value.code == 2
    assert f"no package nexus_mcp in {tmp_path}" in capsys.readouterr().err


def test_the_code_is_that_of_the_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A checkout whose server ends at once is not measured, and no other checkout is measured in its place."""
    (tmp_path / "nexus_mcp").mkdir()
    (tmp_path / "nexus_mcp/__init__.py").touch()
    (tmp_path / "nexus_mcp/__main__.py").write_text("raise SystemExit(3)")
    assert run(monkeypatch, tmp_path, ROOT, tmp_path) == 1
    assert "ended without an answer" in capsys.readouterr().err
