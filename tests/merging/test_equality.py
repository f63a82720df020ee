"""Equal cycles are recognized, and a wrong merge result is detected."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.merging import threeway
from nexus_mcp.merging.threeway import merge, union
from nexus_mcp.merging.versions import MergeUndecided
from tests.merging.support import OURS, numbered, texts_of

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def as_one(one: str, other: str) -> bool:
    """Whether the union of two histories with a cycle each, spelled so, has one cycle."""
    return len(texts_of(union(f'{{"cycles": [{one}]}}'.encode(), f'{{"cycles": [{other}]}}'.encode()))) == 1


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ('{"a": 1, "b": [2]}', '{"b":[ 2 ],\n"a":1}', True),
        ('{"a": "\\u00e4\\/"}', '{"a": "ä/"}', True),
        ('{"a": 1.50}', '{"a": 15E-1}', True),
        ('{"a": -0}', '{"a": 0}', True),
        ('{"a": 1}', '{"a": 1.0}', False),
        ('{"a": 1}', '{"a": true}', False),
        ('{"a": 1.0}', '{"a": "1.0"}', False),
        ('{"a": 0.1}', '{"a": 0.1000000000000000000000001}', False),
        ('{"a": 1e400}', '{"a": 1e500}', False),
        ('{"a": 1e9999999}', '{"a": 10e9999998}', True),
        (f'{{"a": 1e{"9" * 30}}}', f'{{"a": 1e{"9" * 31}}}', False),
        (f'{{"a": {"1" * 5000}}}', f'{{"a": {"1" * 4999}2}}', False),
        ('{"a": [1.5, null]}', '{"a": [null, 1.5]}', False),
        ('{"a": {"n": "1.5e"}}', '{"a": 1.5}', False),
        ('{"ka": {"n": "1.5e"}}', '{"a": 1.5}', False),
        ('{"a": "\\ud800"}', '{"a": "\\uD800"}', True),
    ],
)
def test_cycles_compare_numbers_exactly(one: str, other: str, equal: bool) -> None:
    """Cycles are equal as JSON, with numbers compared by all their digits."""
    assert as_one(one, other) is as_one(other, one) is equal


@settings(max_examples=40, deadline=None, derandomize=True)
@given(one=st.dictionaries(st.text(), values, max_size=3), other=st.dictionaries(st.text(), values, max_size=3))
def test_cycles_are_equal_in_any_layout(one: dict[str, object], other: dict[str, object]) -> None:
    """Texts of one JSON value are equal in any layout, and texts of different values are not."""
    assert as_one(
        json.dumps(one), json.dumps(one, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    )
    assert as_one(json.dumps(one), json.dumps(other)) is (
        json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    )


@pytest.mark.parametrize(
    ("part", "text", "reason"),
    [
        ("_lead", "{},", "would lose or change"),
        ("_between", ",{},", "would lose or change"),
        ("_trail", ',{"a": 1}', "would lose or change"),
        ("_trail", '], "b": [', "would lose or change"),
        ("_between", "", "is not JSON"),
    ],
)
def test_a_wrong_result_is_noticed(part: str, text: str, reason: str) -> None:
    """A wrongly assembled text is detected and becomes a conflict."""
    base, ours, theirs = [numbered(1)], [numbered(1), numbered(2)], [numbered(1), numbered(3)]
    with patch.object(threeway, part, return_value=text), pytest.raises(MergeUndecided, match=f"the result.* {reason}"):
        merge(OURS(base), OURS(ours), OURS(theirs))


def test_result_that_cannot_be_read_back_is_not_written() -> None:
    """A result that could not be read back is not written."""
    with (
        patch("nexus_mcp.store.journal.HISTORY_LIMIT", 1000),
        pytest.raises(MergeUndecided, match="larger than"),
    ):
        merge(None, OURS([numbered(1), numbered(2)]), OURS([numbered(3), numbered(4)]))
