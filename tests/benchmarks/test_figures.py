"""The arithmetic of the table, and its cells for rows that were not measured."""

from __future__ import annotations

import pytest

from benchmarks import unmet
from benchmarks.figures import BUN, NODE, OURS, SDK, Figures, difference, met, percentile, ratio
from benchmarks.goals import BACKLOG, BARE_CROWD, BOUNDS, FIRST_WRITTEN, LIMITS, LOADED, OWN_100, PARTS, ROWS, Goal
from benchmarks.report import columns, goal_lines, judge, limit_lines, number, without_goal
from benchmarks.scenarios import SCENARIOS

ROW = {row.key: row for row in ROWS}


def test_one_slow_round_moves_the_median_little() -> None:
    """A series is its median: one slow round moves it little."""
    figures = Figures()
    for value in (2.0, 90.0, 1.0):
        figures.add("start", OURS, value)
    assert figures.medians() == {"start": {OURS: 2.0}}


@pytest.mark.parametrize(
    ("count", "share", "expected"), [(1, 0.99, 1), (100, 0.99, 99), (200, 0.99, 198), (4, 0.5, 2), (3, 1.0, 3)]
)
def test_percentile_is_the_nearest_rank(count: int, share: float, expected: int) -> None:
    """Nearest rank, of values in any order."""
    assert percentile(list(range(count, 0, -1)), share) == expected


def test_goals_include_their_bound() -> None:
    """A goal is a bound from above, or from below where more is better; both include the bound."""
    assert ratio(1.0, 4.0) == 0.25
    assert met(0.5, 0.5, at_least=False)
    assert not met(0.51, 0.5, at_least=False)
    assert met(2.5, 2.5, at_least=True)
    assert not met(2.4, 2.5, at_least=True)


def test_a_wrong_answer_of_ours_is_wrong_and_of_others_a_note() -> None:
    """An expected value that several answers miss is reported once."""
    figures = Figures()
    for name in (OURS, OURS, SDK, NODE):
        figures.expect(name, "tasks listed", 1, 2)
    figures.expect(OURS, "tasks listed", 2, 2)
    assert figures.wrong == ["ours: tasks listed: 1 instead of 2", "ours --sdk: tasks listed: 1 instead of 2"]
    assert figures.notes == ["node: tasks listed: 1 instead of 2"]


def test_notes_belong_to_the_measured_rows() -> None:
    """The same text of two scenarios belongs to the rows of both."""
    figures = Figures()
    for rows in (["warm"], ["crowd"], ["crowd"]):
        figures.rows = rows
        figures.expect(OURS, "tasks listed", 1, 2)
        figures.note("as said")
    assert figures.of == {"ours: tasks listed: 1 instead of 2": ["warm", "crowd"], "as said": ["warm", "crowd"]}


def test_answers_differ_at_the_first_reported_path() -> None:
    """The first difference is reported with its path, and with a value that either side lacks; lists of different
    lengths are reported whole.
    """
    assert difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == ("a[1].b", 2, 3)
    assert difference({"a": 1}, {"a": 1, "b": 2}) == ("b", "nothing", 2)
    assert difference({"a": 1, "c": 2}, {"a": 1}) == ("c", 2, "nothing")
    assert difference({"a": [1]}, {"a": [1, 2]}) == ("a", [1], [1, 2])
    assert difference(1, 2) == ("", 1, 2)


def test_every_part_is_measured_by_one_scenario() -> None:
    """No row is left out, and none is measured twice; keys are unique."""
    givers = {part: [n for n, one in SCENARIOS.items() if part in one.parts and n != "limits"] for part in PARTS}
    assert {part: names for part, names in givers.items() if len(names) != 1} == {}
    assert len(ROW) == len(ROWS)


def test_goals_are_compared_with_the_measured_figures() -> None:
    """A goal names a server, another program, our own time at 100 cycles, or a limit."""
    assert {goal.against for row in ROWS for goal in row.goals} <= {NODE, BUN, BACKLOG, OWN_100, *LIMITS, *BOUNDS}


def test_a_row_with_two_goals_has_two_lines() -> None:
    """Each goal is judged by itself; the row of the unmet one is named."""
    medians = {"start": {OURS: 30.0, NODE: 300.0, BUN: 90.0}}
    lines = list(goal_lines(medians))
    assert lines == [
        ("spawn → tools/list (ms)", "30.0", "300.0", "0.100", "≤ 0.15", "yes"),
        ("… against Bun", "30.0", "90.0", "0.333", "≤ 0.3", "no"),
    ]
    assert [(row.key, goal.against) for row, goal, _ in unmet.found(medians)] == [("start", BUN)]


def test_unmeasured_goal_is_reported_as_unmeasured() -> None:
    """A goal without the other server is no goal that was met."""
    assert judge(ROW["close-50000"], Goal(NODE, 0.07), {"close-50000": {OURS: 1.0}}) is None
    assert [line[-1] for line in goal_lines({"close-50000": {OURS: 1.0}})] == ["not measured"]
    assert list(goal_lines({"close-50000": {NODE: 1.0}})) == []


def test_more_is_better_for_calls_a_second() -> None:
    """Three times the calls meet a goal of 2.5 times."""
    assert list(unmet.lines({"crowd-0": {OURS: 300.0, NODE: 100.0}})) == []
    what = ("8 processes adding, 0 tasks (calls/s)", "250.0", "200.0")
    assert list(unmet.lines({"crowd-0": {OURS: 200.0, NODE: 100.0, BARE_CROWD: 240.0}})) == [
        (*what, BARE_CROWD, "240.0", "0.83", "yes")
    ]


def test_an_unmet_goal_stands_beside_its_limits() -> None:
    """A row has the goal, our figure and each limit; parts of one call are added up; a row without a limit has
    a note.
    """
    medians = {
        "first-task_add": {OURS: 6.8, NODE: 7.0, LOADED: 1.7, FIRST_WRITTEN: 1.9},
        "later-task_add": {OURS: 5.0, NODE: 8.0},
    }
    first, later = ("first call, at once: task_add (ms)", "3.50", "6.80"), "first call, 0.1 s later: task_add (ms)"
    assert list(unmet.lines(medians)) == [
        (*first, LOADED, "1.70", "4.00", "no"),
        (*first, FIRST_WRITTEN, "1.90", "3.58", "no"),
        (*first, unmet.BOTH, "3.60", "1.89", "yes"),
        (later, "4.00", "5.00", "none shown", "–", "–", "–"),
    ]
    assert [line.partition("*: beside")[0].strip("*") for line in unmet.spent(medians)] == [
        "first call, at once: task_add",
        "first call, 0.1 s later: task_add",
    ]
    assert list(unmet.spent({"start": {OURS: 30.0, BUN: 90.0}})) == [
        "*spawn → tools/list, against Bun*: not looked into."
    ]


def test_a_row_with_wrong_answers_is_marked() -> None:
    """The row has WRONG in place of the result of its goal."""
    medians = {"close-50000": {OURS: 1.0, NODE: 100.0}, "close-100": {OURS: 1.0, NODE: 100.0}}
    assert [line[-1] for line in goal_lines(medians, ["close-50000", "close-100"])] == ["WRONG", "WRONG"]
    assert [line[-1] for line in goal_lines(medians)] == ["", "yes"]
    assert [line[-1] for line in without_goal(goal_lines(medians, ["close-50000", "close-100"]))] == ["WRONG"]
    assert [line[-1] for line in without_goal(goal_lines(medians))] == ["0.010"]


def test_limits_are_shown_beside_ours() -> None:
    """How many times the limit ours takes."""
    limit = LIMITS[1]
    shown = list(limit_lines({"close-50000": {OURS: 300.0, limit: 200.0, NODE: 9000.0}}))
    assert shown == [("task_close, 50 000 cycles (ms)", "300.0", limit, "200.0", "1.50")]


def test_first_column_is_left_aligned() -> None:
    """The first column stands to the left, the others to the right."""
    assert columns([("what", "n"), ("a", "10")]) == ["what   n", "a     10"]
    assert [number(value) for value in (0.123, 12.34, 1234.5)] == ["0.12", "12.3", "1234"]
