"""The position of the first value that our strict JSON reader refuses."""

from __future__ import annotations

import tracemalloc

import pytest

from nexus_mcp.errors import StateError
from nexus_mcp.store import codec
from nexus_mcp.store.codec import decode
from nexus_mcp.store.history.frame import HistoryFile


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{\n  "a": 1,\n  "a": 2\n}', "line 3, column 3"),
        ('{"x": {"a": 1}, "y": {"a": [{"b": "a", "\\u0062": 2}]}}', "line 1, column 40"),
        ('["a", "a",\n NaN]', "line 2, column 2"),
        ('{"a":\n -Infinity}', "line 2, column 2"),
        ('{"a": 1e400}', "line 1, column 7"),
        ('{"a": -1e400}', "line 1, column 7"),
        ('{"a": 1, "b": ' + "9" * 4301 + "}", "line 1, column 15"),
        ("\n" + "[" * 65 + "]" * 65, "line 2, column 65"),
        ('{"a": "]}", "b":\n' + "[" * 100_000, "line 2"),
        ('{"a": "', "line 1, column 7"),
    ],
    ids=lambda text: text[:20],
)
def test_refused_text_is_reported_with_its_place(text: str, place: str) -> None:
    """The message has the line and column of the first refused value, and not the value."""
    with pytest.raises(StateError) as told:
        decode(text.encode(), "plan.json")
    assert f"plan.json ({place}" in str(told.value)


def test_bytes_that_are_not_utf8_are_reported_with_their_place() -> None:
    """The column of a wrong byte is counted from the start of its line."""
    with pytest.raises(StateError, match=r"plan\.json \(line 2, column 2\) is not UTF-8"):
        decode(b'{\n"\xe4\xff": 1}'.replace(b"\xe4", "ä".encode()[:1]), "plan.json")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"cycles":[],"o":{"a":1,\n"a":2,\n"b":NaN}}', "(line 3, column 5) has NaN"),
        ('{"x":1e999,\n"cycles":[],\n"y":{"a":1,"a":2}}', "(line 3, column 12) has an object with the same key"),
        ("[1,\n1e999]", "history.json is not a valid history file"),
        ('\ufeff{"cycles":x}', "(line 1, column 11) is not JSON"),
    ],
)
def test_place_belongs_to_the_reported_problem(text: str, place: str) -> None:
    """Other faults before it do not move the place; a byte order mark is no column."""
    with pytest.raises(StateError) as told:
        HistoryFile(text.encode())
    assert place in str(told.value)


def test_long_strings_cost_no_more_than_they_weigh() -> None:
    """A string of megabytes beside an oddity is walked in memory of its own order; one without end in linear time."""
    text = '{"s":"' + "a" * (4 << 20) + '","b":NaN}'
    tracemalloc.start()
    try:
        position = codec.locate(text, codec.CONSTANT, 64)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert position == text.index("NaN")
    assert peak < 4 * len(text)
    assert codec.locate('1 "' + '\\"' * 200_000, codec.KEY, 64) is None
