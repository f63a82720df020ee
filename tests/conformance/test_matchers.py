"""Expected values: which values they match, the messages of mismatches, and the forms that are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.conformance.matchers import TYPES, faults, format_value, mismatch
from nexus_mcp.conformance.result import MISSING

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
EXACT = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4), max_leaves=8)
NAMES = st.sampled_from(["a", "\n", ""]) | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
MATCHERS = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(sorted(TYPES))}),
    st.fixed_dictionaries({"type": st.just("number")}, optional={"min": st.integers(-3, 0), "max": st.integers(0, 3)}),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "iso8601"])},
        optional={"minLength": st.integers(0, 3), "pattern": st.sampled_from(["a", "^$", "[0-9]", "\n"])},
    ),
    st.fixed_dictionaries({"type": st.just("array")}, optional={"minLength": st.integers(0, 3)}),
    st.fixed_dictionaries({"keys": st.lists(NAMES, unique=True, max_size=3)}),
)
EXPECTED = st.recursive(SCALARS | MATCHERS, lambda inner: st.lists(inner, max_size=3), max_leaves=5)

MATCHES: list[tuple[Any, Any]] = [
    (1, 1.0),
    (1.0, 1),
    (2**60, 2**60),
    (0, -0.0),
    (None, None),
    (None, MISSING),
    ([None], [None]),
    ([1, {"type": "string"}], [1.0, "x"]),
    ([], []),
    ({"type": "number", "min": 1, "max": 1}, 1.0),
    ({"type": "number"}, 1e300),
    ({"type": "string"}, ""),
    ({"type": "string", "minLength": 2}, "éé"),
    ({"type": "string", "pattern": "b+"}, "abbc"),
    ({"type": "boolean"}, False),
    ({"type": "array", "minLength": 1}, [None]),
    ({"type": "object"}, {}),
    ({"keys": ["a", "b"]}, {"b": 1, "a": None}),
    ({"type": "object", "keys": []}, {}),
    ({"type": "iso8601"}, "2024-02-29T23:59:59.999Z"),
    ({"type": "iso8601"}, "2024-02-29T23:59:59Z"),
    ({"type": "iso8601"}, "2024-01-01T00:00:00.123456+05:30"),
    ({"type": "iso8601"}, "2024-01-01T00:00:00-00:00"),
]
_LONG = "x" * 61
DIFFERS: list[tuple[Any, Any, str]] = [
    (1, True, "must be 1, is true"),
    (True, 1, "must be true, is 1"),
    (0, False, "must be 0, is false"),
    (1, "1", 'must be 1, is "1"'),
    (1, 1.5, "must be 1, is 1.5"),
    (2**60, 2**60 + 1, "must be 1152921504606846976, is 1152921504606846977"),
    ("a", "A", 'must be "a", is "A"'),
    ("é", "e\u0301", 'must be "é", is "e\u0301"'),
    ("", None, 'must be "", is null'),
    (False, None, "must be false, is null"),
    (None, False, "must be null, is false"),
    (None, 0, "must be null, is 0"),
    ("a", MISSING, 'must be "a", is missing'),
    ("a", ["a"], 'must be "a", is ["a"]'),
    (1, {}, "must be 1, is {}"),
    (_LONG, "y", f'must be "{_LONG}", is "y"'),
    (f"{_LONG}\nab", f"{_LONG}\nacd", 'differs from line 2, column 2: must continue with "b", continues with "cd"'),
    (_LONG, f"{_LONG}\n", 'differs from line 1, column 62: must continue with nothing, continues with "\\n"'),
    (_LONG, "xx", f'differs from line 1, column 3: must continue with "{_LONG[:30]}", continues with nothing'),
    ([1], [1, 2], "must have 1 item, has 2: [1, 2]"),
    ([1, 2], [2, 1], "item 0 must be 1, is 2"),
    ([[], [1]], [[], [True]], "item 1 item 0 must be 1, is true"),
    ([1], 1, "must be an array, is 1"),
    ([], {}, "must be an array, is {}"),
    ([], MISSING, "must be an array, is missing"),
    ([None], [], "must have 1 item, has 0: []"),
    ({"type": "number"}, True, "must be a number, is true"),
    ({"type": "number"}, "1", 'must be a number, is "1"'),
    ({"type": "number"}, MISSING, "must be a number, is missing"),
    ({"type": "number", "min": 2}, 1.9, "must be at least 2, is 1.9"),
    ({"type": "number", "max": 2}, 3, "must be at most 2, is 3"),
    ({"type": "string"}, None, "must be a string, is null"),
    ({"type": "string", "minLength": 1}, "", 'must have a length of at least 1, is ""'),
    ({"type": "string", "pattern": "^b"}, "ab", 'must match "^b", is "ab"'),
    ({"type": "boolean"}, 0, "must be a boolean, is 0"),
    ({"type": "array"}, "ab", 'must be an array, is "ab"'),
    ({"type": "array", "minLength": 1}, [], "must have a length of at least 1, is []"),
    ({"type": "object"}, [], "must be an object, is []"),
    ({"keys": ["a"]}, {"a": 1, "b": 2}, "has b too; must have exactly the keys a"),
    ({"keys": ["a", "b"]}, {"a": 1}, "lacks b; must have exactly the keys a, b"),
    ({"keys": []}, {"a b": 1, "\n": 2}, 'has "a b", "\\n" too; must have exactly the keys (none)'),
    ({"keys": ["a", "b"]}, {"b": 1, "c": 2}, "lacks a, has c too; must have exactly the keys a, b"),
    ({"keys": []}, [], "must be an object, is []"),
    ({"keys": ["a"]}, MISSING, "must be an object, is missing"),
]


@pytest.mark.parametrize(("expected", "seen"), MATCHES)
def test_expected_value_matches_equal_values(expected: Any, seen: Any) -> None:
    """An expected value matches equal values, whichever way a number is written."""
    assert mismatch(expected, seen) == ""


@pytest.mark.parametrize(("expected", "seen", "message"), DIFFERS)
def test_different_value_is_reported(expected: Any, seen: Any, message: str) -> None:
    """A different value does not match, and the message has the expected and the actual value."""
    assert mismatch(expected, seen) == message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-02-30T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:00",
        "2024-01-01 00:00:00Z",
        "2024-01-01t00:00:00z",
        "2024-01-01T00:00Z",
        "20240101T000000Z",
        "2024-01-01",
        "2024-01-01T00:00:00+0530",
        "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00+05:60",
        "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00,5Z",
        "٢٠٢٤-01-01T00:00:00Z",
        " 2024-01-01T00:00:00Z",
        "2024-01-01T00:00:00Z\n",
    ],
)
def test_text_that_is_no_date_time_does_not_match(text: str) -> None:
    """Only a moment that exists, with T and an offset, is an ISO 8601 date-time."""
    assert mismatch({"type": "iso8601"}, text) == f"must be {TYPES['iso8601'][1]}, is {format_value(text)}"


@given(EXACT)
def test_a_value_matches_itself(value: Any) -> None:
    """Scalars and arrays of them match themselves."""
    assert mismatch(value, value) == ""


@given(SCALARS, SCALARS)
def test_scalars_match_both_ways(one: Any, other: Any) -> None:
    """The match of two scalars is symmetric, and values of different types never match."""
    assert (mismatch(one, other) == "") is (mismatch(other, one) == "")
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}
    assert mismatch(one, other) or kinds[type(one)] == kinds[type(other)]


@given(st.booleans(), st.integers() | st.floats(allow_nan=False))
def test_booleans_are_no_numbers(flag: bool, number: float) -> None:
    """true and 1 never match, alone, in an array or by a matcher."""
    assert mismatch(flag, number)
    assert mismatch([number], [flag])
    assert mismatch({"type": "number"}, flag)
    assert mismatch({"type": "boolean"}, number)


@given(VALUES)
def test_each_value_has_one_type(value: Any) -> None:
    """A value matches at most one type of a matcher, a date-time two."""
    fitting = {name for name in TYPES if not mismatch({"type": name}, value)}
    assert len(fitting - {"iso8601"}) == (0 if value is None else 1)
    assert "string" in fitting or "iso8601" not in fitting


@settings(max_examples=300)
@given(EXPECTED, VALUES | st.just(MISSING))
def test_a_message_is_one_line(expected: Any, seen: Any) -> None:
    """Any two values match, or give a message of one line."""
    assert faults(expected) == []
    assert "\n" not in mismatch(expected, seen)


@given(st.dictionaries(st.text(max_size=3), SCALARS, max_size=4), st.text(max_size=3))
def test_keys_matches_exactly_its_fields(value: dict[str, Any], more: str) -> None:
    """`keys` matches an object with exactly these fields, in any order."""
    names = sorted(value)
    assert mismatch({"keys": names[::-1]}, value) == ""
    assert bool(mismatch({"keys": [*names, more]}, value)) is (more not in value)
    assert bool(mismatch({"keys": [name for name in names if name != more]}, value)) is (more in value)


def test_values_are_shown_within_bounds() -> None:
    """A message shows the beginning of a long value, and unsafe characters as escapes."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert mismatch(1, "x" * 500) == f'must be 1, is "{"x" * 79}…'
    assert mismatch(1, "\ud800") == 'must be 1, is "\\ud800"'
    assert mismatch(1, deep) == "must be 1, is (nested too deeply to be shown)"


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({}, ["'' must have type or keys, because an object is a matcher here"]),
        ({"min": 1}, ["'' must have type or keys, because an object is a matcher here"]),
        ({"tpye": "string"}, ["'/tpye' is not a known key of a matcher; did you mean type?",
                              "'' must have type or keys, because an object is a matcher here"]),
        ({"type": "date"}, ["'/type' must be one of iso8601, string, number, boolean, array, object"]),
        ({"type": 1}, ["'/type' must be one of iso8601, string, number, boolean, array, object"]),
        ({"type": "number", "min": "1"}, ["'/min' must be a number"]),
        ({"type": "number", "max": True}, ["'/max' must be a number"]),
        ({"type": "string", "minLength": -1}, ["'/minLength' must be an integer from 0"]),
        ({"type": "string", "minLength": 1.5}, ["'/minLength' must be an integer from 0"]),
        ({"type": "string", "pattern": 1}, ["'/pattern' must be a string"]),
        ({"type": "string", "pattern": "("},
         ["'/pattern' is not a valid regular expression: missing ), unterminated subpattern at position 0"]),
        ({"keys": "a"}, ["'/keys' must be an array of strings"]),
        ({"keys": ["a", 1]}, ["'/keys' must be an array of strings"]),
        ({"keys": ["a", "b", "a"]}, ["'/keys' names a twice"]),
        ({"type": "string", "min": 1}, ["'/min' does not apply to a string, only with type number"]),
        ({"type": "boolean", "max": 1}, ["'/max' does not apply to a boolean, only with type number"]),
        ({"type": "number", "pattern": "1"},
         ["'/pattern' does not apply to a number, only with type string or iso8601"]),
        ({"type": "object", "minLength": 1},
         ["'/minLength' does not apply to an object, only with type string or iso8601 or array"]),
        ({"keys": ["a"], "minLength": 1},
         ["'/minLength' does not apply to an object, only with type string or iso8601 or array"]),
        ({"type": "array", "keys": ["a"]}, ["'/keys' does not apply to an array, only with type object"]),
        ({"type": "number", "min": 2, "max": 1}, ["'/min' must not be above max: nothing matches"]),
        ({"type": "number", "max": -5}, []),
        ({"type": "number", "min": 5}, []),
        ([1, [{"type": "x"}]], ["'/1/0/type' must be one of iso8601, string, number, boolean, array, object"]),
        ([{"type": "string"}, 1, None, "a"], []),
    ],
)  # fmt: skip
def test_unusable_matcher_is_a_fault(expected: Any, found: list[str]) -> None:
    """A matcher with an unknown field, or one that could never fail, is reported with its place."""
    assert [f"{fault.pointer!r} {fault.message}" for fault in faults(expected)] == found
