"""The figures of the board: the table of docs/board.md is that of the last run, and each goal has a figure."""

from __future__ import annotations

from benchmarks import results
from benchmarks.board import BEGIN, END, PAGE, RESULT, ROWS, table


def test_page_has_the_table_of_the_results() -> None:
    """docs/board.md shows the stored figures; `python -m benchmarks.board --page` writes them."""
    assert f"{BEGIN}{table(results.read(RESULT))}{END}" in PAGE.read_text(encoding="utf-8")


def test_each_row_was_measured() -> None:
    """The stored run has a positive figure for each row."""
    measured = results.read(RESULT)
    assert {name: measured[name] > 0 for name in ROWS} == dict.fromkeys(ROWS, True)


def test_table_names_figure_and_goal() -> None:
    """A row has the figure with its unit, and its goal if it has one."""
    lines = table(dict.fromkeys(ROWS, 1.5)).splitlines()
    assert lines[2].endswith("| 1.5 ms | under 1000 ms |")
    assert lines[5].endswith("| 1.5 ms |  |")
