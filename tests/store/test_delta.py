"""The delta from a new file to the old bytes is exact, and small for a small change."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nexus_mcp.state import oplog

TEXTS = st.text(alphabet="ab\nä漢😀", max_size=30)


@settings(max_examples=300)
@given(TEXTS, TEXTS)
@example("ä", "ö")  # one byte in common, in the middle of a character
@example("漢x", "漬x")
@example("aa", "aaa")
@example("", "")
def test_delta_restores_the_old_bytes(before: str, after: str) -> None:
    """Whatever the two texts are, the way back leads to the very bytes, also through JSON."""
    way = oplog.make_delta(before.encode(), after.encode())
    assert way is not None
    assert oplog.apply_delta(after.encode(), json.loads(json.dumps(way))) == before.encode()


@settings(max_examples=200)
@given(st.binary(max_size=12), st.binary(max_size=12))
def test_bytes_that_are_no_text_have_no_delta(before: bytes, after: bytes) -> None:
    """Of bytes that are no text there is an exact way back or none."""
    way = oplog.make_delta(before, after)
    assert way is None or oplog.apply_delta(after, way) == before


@pytest.mark.parametrize(
    ("before", "after", "way"),
    [
        (b"one two three", b"one 2 three", {"prefix": 4, "suffix": 6, "text": "two"}),
        (b"same", b"same", {"prefix": 4, "suffix": 0, "text": ""}),
        (b"[1]", b"[1, 2]", {"prefix": 2, "suffix": 1, "text": ""}),
        (b"text", b"", {"prefix": 0, "suffix": 0, "text": "text"}),
        ("aä".encode(), "aöb".encode(), {"prefix": 1, "suffix": 0, "text": "ä"}),
        (b"\xff", b"x", None),
        (b"a\xc3z", "aéz".encode(), None),  # its differing middle is empty, and that is text
    ],
)
def test_delta_has_only_the_differing_text(before: bytes, after: bytes, way: object) -> None:
    """A delta has only the text between the common beginning and the common end, in whole characters."""
    assert oplog.make_delta(before, after) == way


def test_wrong_delta_yields_other_bytes_without_an_error() -> None:
    """A way back that does not fit the file, as a damaged log may have it, ends in other bytes and not in an error."""
    for prefix, suffix in ((10**9, 0), (0, 10**9), (10**9, 10**9)):
        assert oplog.apply_delta(b"abc", {"prefix": prefix, "suffix": suffix, "text": "x\ud800"}) != b"abc"


ENDS = st.tuples(
    st.sampled_from([0, 1, 255, 256, 257, 767, 768, 769, 5000, 70_000, 140_000]),
    st.binary(max_size=3),
    st.binary(max_size=3),
)


@given(ENDS)
def test_common_bytes_are_counted_at_both_ends(ends: tuple[int, bytes, bytes]) -> None:
    """The count is the number of equal bytes at the beginning or at the end, up to the limit."""
    same, one, other = ends
    common = max(n for n in range(4) if one[:n] == other[:n] and n <= min(len(one), len(other)))
    here, there = bytes(same) + one, bytes(same) + other
    for most in (min(len(here), len(there)), same // 2):
        expected = min(same + common, most)
        assert oplog._common(here, there, most, "big") == expected
        assert oplog._common(here[::-1], there[::-1], most, "little") == expected
