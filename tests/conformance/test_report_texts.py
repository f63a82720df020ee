"""Values of a target are escaped and shortened for reports."""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.conformance.report.texts import block, escape, format_indented, format_value, one_line, plain, shorten
from nexus_mcp.conformance.result import MISSING

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def test_control_characters_are_escaped() -> None:
    """Control, format and bidirectional characters, surrogates and separators are escaped, and no others."""
    escaped = {chr(number) for number in range(sys.maxunicode + 1) if escape(chr(number)) != chr(number)}
    kinds = {unicodedata.category(char) for char in escaped}
    assert kinds == {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
    assert " " not in escaped
    assert all(escape(char).isascii() for char in escaped)


@given(JSON)
def test_short_value_is_shown_as_json(value: Any) -> None:
    """A value that is not truncated is shown as equal JSON on one line."""
    text = format_value(value, 1_000_000)
    assert text.isprintable()
    assert json.loads(text) == value
    assert json.loads(format_indented(value, 1_000_000)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (MISSING, "missing"),
        (None, "null"),
        (True, "true"),
        ("a\nb", '"a\\nb"'),
        ("é\u202e\x7f\U000e0001", '"é\\u202e\\u007f\\udb40\\udc01"'),
        ("x" * 30, '"xxxxxxxxxxxxxxxxxxxx…" (30 characters in all)'),
        (["x" * 30], '["xxxxxxxxxxxxxxxxxx… (34 characters in all)'),
        (math.nan, '"nan"'),
        (b"x", "\"b'x'\""),
        ((1, 2), "[1, 2]"),
    ],
)
def test_truncated_text_says_its_length(value: Any, text: str) -> None:
    """Texts have quotes, a missing value has none, and a truncated text has its length."""
    assert format_value(value, 20) == text


def test_huge_number_does_not_stop_a_report() -> None:
    """A number with more digits than Python spells does not stop a report."""
    assert plain([10**10000]) == ["(a number of 33220 bits)"]


def test_deep_value_is_shown_to_a_depth() -> None:
    """A value that is nested without end is shown to a depth."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert "nested too deeply" in format_value(deep, 1000)
    while deep:  # take it apart in a loop: the interpreter would free it recursively
        deep = deep[0]


def test_lines_drop_newlines_and_tabs() -> None:
    """A block keeps newlines and tabs, a line keeps neither."""
    assert block("a\n\tb\rc") == "a\n\tb\\rc"
    assert one_line("a\n\tb\rc") == "a\\n\\tb\\rc"
    assert shorten("12345", 5) == "12345"
    assert one_line("1" * 2000, 5) == "11111… (2,000 characters in all)"


@pytest.mark.parametrize("end", ['"… (5,490 characters in all)', '…" (549 characters in all)'])
def test_half_of_an_earlier_note_is_dropped(end: str) -> None:
    """A text that is cut within the note about an earlier cut has one note, that of the last cut."""
    whole = f'is "abc{end}, and more'
    begin = whole.index("…")
    for limit in range(begin, whole.index(")")):
        assert shorten(whole, limit) == f"{whole[:begin]}… ({len(whole)} characters in all)"
