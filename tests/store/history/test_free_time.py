"""A new cycle gets the time of the clock, or the next millisecond that no cycle has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.state import times
from nexus_mcp.store.history.index import NO_DIGEST, Index

START = datetime(2026, 1, 2, 3, 4, 58, tzinfo=UTC)
NOW = "2026-01-02T03:04:58.000Z"


def at(ms: int) -> str:
    return (START + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def coded(*stamps: str) -> set[bytes]:
    return {stamp.encode() for stamp in stamps}


@given(st.lists(st.tuples(st.integers(0, 4000), st.integers(1, 2500)), max_size=4), st.integers(0, 3000))
def test_first_free_millisecond_is_found(runs: list[tuple[int, int]], start: int) -> None:
    """The result is free, not before the clock's time, and no millisecond between the two is free."""
    taken = {ms for begin, length in runs for ms in range(begin, begin + length)}
    expected = next(ms for ms in range(start, 8000) if ms not in taken)
    assert times.first_free(at(start), coded(*map(at, taken))) == at(expected)


@pytest.mark.parametrize("odd", ["2026-01-02T03:04:58.abcZ", "2026-01-02T03:04:58+00:00", "\0" * 24, "x" * 24])
def test_texts_that_are_no_stamps_fill_no_second(odd: str) -> None:
    """A second is full if its thousand milliseconds are taken, not if a thousand texts begin with it."""
    most = [at(ms) for ms in range(1000) if ms != 500]
    assert times.first_free(NOW, coded(*most, odd)) == at(500)
    many = [f"2026-01-02T03:04:58.{number:x}Z" for number in range(0xA00, 0xFFF)]
    assert times.first_free(NOW, coded(at(0), *many)) == at(1)


def test_a_run_of_many_milliseconds_takes_few_steps() -> None:
    """Two hundred seconds that are taken whole are two hundred steps, not two hundred thousand."""
    taken = coded(*map(at, range(200_500)))
    with patch.object(times, "next_after", side_effect=times.next_after) as steps:
        assert times.first_free(NOW, taken) == at(200_500)
    assert steps.call_count <= 200 + 500


def test_no_stamp_is_free_after_the_last_one() -> None:
    """After the last possible stamp none is free."""
    last = "9999-12-31T23:59:59.999Z"
    assert times.first_free(last, coded(last)) == last


@pytest.mark.parametrize("shift", range(1, 72))
def test_a_stamp_counts_in_its_place_only(shift: int) -> None:
    """Bytes of a record that look like a stamp, but are none, take no time."""
    index = Index()
    for _ in range(3):
        index.add(1, 2, None, 0, NO_DIGEST)
    index.records[32 + shift : 32 + shift + 24] = NOW.encode()
    assert not index.has_stamp(NOW)
    index.add(1, 2, NOW, 0, NO_DIGEST)
    assert index.has_stamp(NOW)
    assert NOW.encode() in index.stamps()
