"""Evidence is truncated before it is stored, with the size of the omitted part."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.conformance.document import count_values, string_size
from nexus_mcp.conformance.evidence import MANY, Space, cut_result, cut_to, cut_value, record_assertion, record_exchange
from nexus_mcp.conformance.failures import Reply
from nexus_mcp.conformance.limits import FIXTURE_EVIDENCE, ITEM, REMAINDER, VALUES
from nexus_mcp.conformance.processes.process import KEPT, Allowance, Tail
from nexus_mcp.conformance.report.json_report import json_text, to_json
from nexus_mcp.conformance.report.texts import escape
from nexus_mcp.conformance.result import MISSING, Cut
from tests.conformance.runs import failed, run

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=40,
)


def deep() -> Any:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("x" * 100, "x" * 40 + "… (100 characters in all)"),
        ([1] * 1000, [1] * 14 + ["… (1,000 items in all)"]),
        ({f"m{n}": n for n in range(50)}, {**{f"m{n}": n for n in range(5)}, "…": "(50 members in all)"}),
        (MISSING, MISSING),
        (float("inf"), "inf"),
        ("short", "short"),
    ],
)
def test_too_large_value_is_cut(value: Any, kept: Any) -> None:
    """A value that is too large is truncated at the limit, with its original size."""
    assert cut_value(value, 40) == kept


def test_huge_integer_is_recorded_by_its_size() -> None:
    """An integer with more digits than Python prints is recorded by its size."""
    assert cut_value(10**5000) == "(a number of 16610 bits)"


def test_deep_value_is_truncated() -> None:
    """A value that is nested too deeply is cut at a depth that every report can show."""
    assert "nested too deeply" in json.dumps(cut_value(deep()))


@given(JSON, st.integers(0, 300))
def test_any_value_is_bounded(value: Any, limit: int) -> None:
    """The stored form of any value takes little more than its limit, in JSON as the reports escape it."""
    assert len(json_text(cut_value(value, limit))) < 30 * limit + 3000


def test_small_values_stay_whole() -> None:
    """A value that fits is stored whole, and counts nothing as omitted."""
    value = {"a": [1, 2.5, None, True, "é\n"], "b": {}}
    space = Space(ITEM)
    assert (cut_to(value, space), bool(space.cut)) == (value, False)


def test_truncated_record_counts_its_omitted_parts() -> None:
    """An assertion and an exchange record how much of their values is omitted."""
    one = record_assertion("answer", "m" * 9000, "", path="$", expected=1, seen="x" * (ITEM + 1000))
    assert 0 < one.cut.characters <= 1100
    assert len(one.message) < 2100
    late = record_exchange("", "act", {}, Reply(payload={"a": "y" * 5000}), earlier=MANY)
    assert late.cut.characters > 5000 - 2 * REMAINDER


def test_a_fixture_and_a_run_have_bounds() -> None:
    """The evidence of a fixture and of a run is bounded; evidence of failures is kept first."""
    many = tuple(record_assertion("answer", "wrong", "", path="$", seen="z" * ITEM) for _ in range(500))
    result = failed("large", assertions=many, files={f"{n}.md": "f" * 8000 for n in range(40)}, stderr="e" * 8000)
    space = Space(1 << 20)
    kept = cut_result(result, space)
    assert len(to_json(run(kept))) < 3 * FIXTURE_EVIDENCE + 500 * 400
    assert kept.assertions[0].seen == "z" * ITEM or kept.assertions[0].seen.startswith("z" * 10_000)
    assert kept.cut.characters > 300 * ITEM
    assert (1 << 20) - space.left < 2 * FIXTURE_EVIDENCE
    after = cut_result(result, Space(0))
    assert len(to_json(run(after))) < 500 * 1000
    assert str(Cut(5_000_000, 2)) == "5,000,000 characters and 2 items"


@pytest.mark.parametrize(
    ("text", "count"), [(b"", 1), (b"[]", 2), (b'{"a,b":[1,2,"[[[["]}', 6), (b'"\\",,,,', 1), (b'["a', 2)]
)
def test_values_are_counted_before_they_are_parsed(text: bytes, count: int) -> None:
    """Only characters outside of strings count as the structure of a text."""
    assert count_values(text, 3) == count if count <= 4 else count_values(text, 3) > 3


def test_wide_characters_weigh_more() -> None:
    """One character beyond U+FFFF, written or escaped, makes a long text four times as heavy."""
    long = b"x" * 100_000
    assert [string_size(long + end) // 100_000 for end in (b"", "é".encode(), "😀".encode(), b"\\ud83d")] == [
        1,
        2,
        4,
        4,
    ]


def test_fixtures_that_run_at_once_share_an_allowance() -> None:
    """The more fixtures run at once, the less each target may print, down to a minimum."""
    sizes = []
    for at_once in (1, 2, 8, 1000):
        allowance = Allowance(at_once=at_once)
        while not allowance.complaint:
            allowance.count_printed(1 << 19, 0, 0)
        sizes.append(allowance.complaint.rpartition("than ")[2])
    assert sizes == ["16 MiB", "16 MiB", "4 MiB", "1 MiB"]
    allowance = Allowance()
    allowance.count_parsed(b"[" + b"0," * VALUES + b"0]")
    assert allowance.complaint == f"flooded: it printed more than {VALUES:,} JSON values"


def test_tail_keeps_the_end_of_a_stream() -> None:
    """The end of stderr is kept, with the size of the part before it."""
    tail = Tail()
    tail.add(b"a" * KEPT)
    assert tail.text == "a" * KEPT
    for _ in range(3):
        tail.add(b"b" * KEPT)
    assert tail.text == f"… ({3 * KEPT:,} bytes before this)\n" + "b" * KEPT


def test_long_texts_are_escaped_like_short_ones() -> None:
    """The rules for the escapes of a text do not depend on its length."""
    assert escape("a\x1b" * 100_000) == "a\\u001b" * 100_000
