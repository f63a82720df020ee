"""Phrases that messages of every room share."""

from __future__ import annotations

import pytest

from nexus_mcp.wording import (
    did_you_mean,
    join_first,
    line_and_column,
    line_and_column_of_byte,
    list_first,
    nearest,
    place_in,
    place_of_byte,
    rest_line,
    suggestion_or_known,
)


@pytest.mark.parametrize(
    ("items", "text"),
    [([], ""), (["a"], '"a"'), (["a", "b"], '"a", "b"'), (["a", "b", "c", "d"], '"a", "b" and 2 more')],
)
def test_a_list_names_its_first_items_and_counts_the_rest(items: list[str], text: str) -> None:
    """Two items are named, each in the form of `shown`."""
    assert join_first(items, 2, '"{}"'.format) == text


def test_lines_end_with_the_number_of_the_rest() -> None:
    """If all lines are shown, there is no last line with a number."""
    assert list_first([1, 2, 3], 2) == ["1", "2", "and 1 more"]
    assert list_first([1, 2], 2) == ["1", "2"]
    assert [rest_line(-1), rest_line(0), rest_line(3)] == [[], [], ["and 3 more"]]


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("task_ad", ["task_add"]),
        ("TASK_LIST", ["task_list"]),
        ("plan_stat", ["plan_start", "plan_status"]),
        ("xyz", []),
        ("", []),
    ],
)
def test_the_nearest_name_is_suggested(name: str, names: list[str]) -> None:
    """A second one only when it is nearly as similar; capitals do not count."""
    assert nearest(name, ("task_add", "task_list", "plan_start", "plan_status", "task_add")) == names


def test_unknown_name_message_suggests_or_lists_names() -> None:
    """It suggests names, or lists the known ones."""
    assert did_you_mean(["a", "b"]) == "; did you mean a or b?"
    assert did_you_mean([]) == ""
    assert suggestion_or_known("plan_stat", ["plan_start", "context"]) == "; did you mean plan_start?"
    assert suggestion_or_known("xyz", ["plan_start", "context"]) == "; known: plan_start, context"
    assert suggestion_or_known("xyz", []) == ""


@pytest.mark.parametrize(
    ("text", "position", "place"),
    [("ab", 1, (1, 2)), ("a\nbc", 3, (2, 2)), ("\ufeffa", 1, (1, 1)), ("\ufeffa", 0, (1, 1)), ("a\n", 2, (2, 1))],
)
def test_line_and_column_count_from_one(text: str, position: int, place: tuple[int, int]) -> None:
    """A byte order mark counts for no column."""
    assert line_and_column(text, position) == place
    assert place_in(text, position) == f"line {place[0]}, column {place[1]}"


@pytest.mark.parametrize(
    ("data", "position", "place"),
    [
        (b"\xff", 0, (1, 1)),
        (b"ab\n\xff", 3, (2, 1)),
        ("é\nü€".encode() + b"\xff", 8, (2, 3)),
        ("\ufeffé".encode() + b"\xff", 5, (1, 2)),
        ("\ufeffa\né".encode() + b"\xff", 7, (2, 2)),
        ("a\n\ufeff".encode() + b"\xff", 5, (2, 2)),
        (b"\xe9\xff", 1, (1, 2)),
        (b"a\n", 2, (2, 1)),
    ],
)
def test_columns_of_bytes_count_characters(data: bytes, position: int, place: tuple[int, int]) -> None:
    """A byte that belongs to no character counts as one; a byte order mark counts for no column."""
    assert line_and_column_of_byte(data, position) == place
    assert place_of_byte(data, position) == f"line {place[0]}, column {place[1]}"
