"""The texts that doctor reports as impossible times or as times in the future."""

from __future__ import annotations

from calendar import timegm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.doctor.values import AHEAD, FUTURE, IMPOSSIBLE, judge_time

NOW = float(timegm((2026, 6, 1, 12, 0, 0)))


@pytest.mark.parametrize(
    "text",
    [
        "2026-13-45T99:99:99.999Z", "2026-02-29T00:00:00.000Z", "2026-04-31T00:00:00Z", "2026-00-10", "2026-01-00",
        "2026-01-01T24:00:01.000Z", "2026-01-01T24:00:00.001Z", "2026-01-01T25:00Z", "2026-01-01T10:60Z",
        "2026-01-01T10:10:61Z", "2026-01-01T10:10:60Z", "20260132", "2026-01-01T10:10:10+24:00",
        "2026-01-01T10:10:10-01:60", "1900-02-29T00:00:00.000Z", "2026-01-32T00:00:00,5Z",
    ],
)  # fmt: skip
def test_impossible_time_is_reported(text: str) -> None:
    """The day, the hour, the minute, the second and the offset have to be there."""
    assert judge_time(text, NOW) == IMPOSSIBLE


@pytest.mark.parametrize(
    "text",
    [
        "2026-06-01T12:00:00.000Z", "2024-02-29T00:00:00.000Z", "2000-02-29", "0000-02-29T00:00:00.000Z",
        "1969-12-31T23:59:59.999Z", "2026-01-01T24:00:00.000Z", "2016-12-31T23:59:60.000Z", "2017-01-01T05:29:60+05:30",
        "2026-01-01T10:10:10.123456789+02:00", "20260101T101010Z", "2026-01-01 10:10:10", "2026-01-01T10:10",
        "2026-01-01T10", "2026-01-01t10:10:10,5z", "2026-06-01T13:59:59+02:00", "2026-06-02T01:59:00",
    ],
)  # fmt: skip
def test_legal_forms_of_iso_8601_are_accepted(text: str) -> None:
    """A past time in any legal form gives no finding."""
    assert judge_time(text, NOW) == ""


@pytest.mark.parametrize("text", ["", "yesterday", "2026-W13-9", "2026-366T00:00Z", "13/45/2026", "2026-1-1", "9" * 99])
def test_other_texts_are_left_to_the_schema(text: str) -> None:
    assert judge_time(text, NOW) == ""


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2026-06-01T12:05:00.999Z", ""), ("2026-06-01T12:05:01.000Z", FUTURE), ("2026-06-01T14:05:01+02:00", FUTURE),
        ("2026-06-01T10:05:01-02:00", FUTURE), ("2026-06-01T12:05:01+02:00", ""), ("2026-06-02T02:05:01", FUTURE),
        ("2099-01-01", FUTURE), ("9999-12-31T23:59:59.999Z", FUTURE),
    ],
)  # fmt: skip
def test_time_in_the_future_is_reported_beyond_the_tolerance(text: str, code: str) -> None:
    """Clocks may differ by some minutes; a time without an offset may be that of any place."""
    assert AHEAD == 300
    assert judge_time(text, NOW) == code


@given(st.datetimes().map(lambda moment: f"{moment.isoformat(timespec='milliseconds')}Z"))
def test_every_real_time_is_possible(text: str) -> None:
    assert judge_time(text, NOW) != IMPOSSIBLE


@given(st.text("0123456789-:TZ.+ ", max_size=30))
def test_any_text_is_judge_time(text: str) -> None:
    assert judge_time(text, NOW) in ("", IMPOSSIBLE, FUTURE)
