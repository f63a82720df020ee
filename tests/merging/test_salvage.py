"""The readable cycles of a damaged history are recovered whole, and the unreadable rest is reported."""

from __future__ import annotations

import json
from contextlib import suppress
from json import JSONDecodeError
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.merging import scanner
from nexus_mcp.merging.scanner import SalvageResult, salvage
from nexus_mcp.merging.versions import MergeUndecided
from nexus_mcp.store.history.frame import HistoryFile
from tests.merging.support import OURS, Layout, begin_of, cycles_of, layouts, numbered, texts_of
from tests.support import plan

CYCLES = [
    numbered(1, plan=plan(1, 'Ä: {"cycles": [')),
    numbered(2, tasks=[{"id": 1, "title": ', {"a"', "deps": []}, {"id": 2, "completed_at": "x"}]),
    numbered(3),
]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(layout=layouts, cut=st.floats(0, 1), nuls=st.sampled_from([0, 1, 4096]))
def test_truncated_file_keeps_its_whole_cycles(layout: Layout, cut: float, nuls: int) -> None:
    """In a file truncated at any place, or ending in NULs, exactly the whole cycles are kept, byte for byte."""
    data = layout(CYCLES)
    at = int(cut * len(data.rstrip()))
    whole = [text for number, text in enumerate(texts_of(data), 1) if len(begin_of(data, number)) <= at]
    torn = data[:at] + bytes(nuls)
    if not whole:
        with pytest.raises(MergeUndecided, match=r"no cycle in it is readable|does not begin like a history"):
            salvage(torn)
        return
    found = salvage(torn)
    assert texts_of(found.data) == whole
    assert found.cycles == len(whole)
    assert found.data.startswith(begin_of(data, len(whole)))
    # A comma before the rest separates cycles; one at its end belongs to the torn cycle.
    left = torn[len(begin_of(data, len(whole))) :].lstrip(b" \t\r\n,").rstrip(b" \t\r\n")
    # Behind the last bracket all that counts is what does not belong there.
    left = left[1:].strip(b" \t\r\n}") if left.startswith(b"]") else left
    assert sum(rest.size for rest in found.rests) == len(left)
    assert [rest.shown == "" for rest in found.rests] == [not left.strip(b"\0")] * bool(left)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(layout=layouts, at=st.floats(0, 1), garbage=st.sampled_from([b"\0\0", b"\xff", b'"', b"]]", b"\x1b[2J", b"{,"]))
def test_overwritten_file_keeps_its_other_cycles(layout: Layout, at: float, garbage: bytes) -> None:
    """For any overwritten bytes the other cycles are kept, and the dropped parts are reported."""
    data = layout(CYCLES)
    begin, end = len(begin_of(data, 1)) + 10, len(begin_of(data, 2)) + 1 - len(garbage)
    position = begin + int(at * (end - begin))
    torn = data[:position] + garbage + data[position + len(garbage) :]
    found = salvage(torn)
    kept, texts = texts_of(found.data), texts_of(data)
    assert [kept[0], kept[-1]] == [texts[0], texts[2]]
    assert len(kept) == 3 or (len(kept) == 2 and len(found.rests) == 1)


def rests(found: SalvageResult) -> list[tuple[int, int, int, str]]:
    return [(rest.line, rest.column, rest.size, rest.shown) for rest in found.rests]


def test_unreadable_part_has_line_column_and_size() -> None:
    """An unreadable part is reported with line, column, bytes and its beginning."""
    data = '{"cycles": [\n {"a": "é"},\n {"b": é},\n {"completed_at": "x", "tasks": []}, nonsense]}\n'.encode()
    found = salvage(data)
    assert rests(found) == [(3, 2, 9, '{"b": é}'), (4, 38, 10, "nonsense]}")]
    assert found.data == b'{"cycles": [\n {"a": "\xc3\xa9"},\n {"completed_at": "x", "tasks": []}\n]\n}\n'
    long = salvage(b'{"cycles": [{}, {"a": "' + b"\xff" * 5000)
    assert rests(long) == [(1, 17, 5007, '{"a": "' + "\\xff" * 153 + "…")]
    assert rests(salvage(b'{"cycles": [{}]}\n' + b"\0" * 4096)) == [(2, 1, 4096, "")]


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ('{"cycles": [{"a": 1} {"b": 2}]}', '{"cycles": [{"a": 1},{"b": 2}]}'),
        ('{"cycles": [{"a": 1},, {"b": 2},]}', '{"cycles": [{"a": 1},{"b": 2}]}'),
        ('{"cycles": [{"a": 1}, {"b": 2}', '{"cycles": [{"a": 1}, {"b": 2}]}'),
        ('{"v": 1, "cycles": [{"a": 1}], "w": 2', '{"v": 1, "cycles": [{"a": 1}], "w": 2}'),
        ('{"v": 1, "cycles": [{"a": 1}], "w": tru', '{"v": 1, "cycles": [{"a": 1}]}'),
        ('{"cycles": [{"a": 1}]} {"b": 2}', '{"cycles": [{"a": 1}]}'),
        ('{"x": {"cycles": [1]}, "cycles": [{"a": 1}', '{"x": {"cycles": [1]}, "cycles": [{"a": 1}]}'),
        ('{"cycles": [{"a": 1.50}, 7, {"completed_at": "", "tasks": []}]}',
         '{"cycles": [{"a": 1.50},{"completed_at": "", "tasks": []}]}'),
    ],
)  # fmt: skip
def test_missing_comma_loses_no_cycle(broken: str, mended: str) -> None:
    """Missing or surplus commas and brackets lose no cycle; other fields are kept as far as they are readable."""
    assert salvage(broken.encode()).data.decode() == mended


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\0" * 100, "does not begin like a history"),
        (b"<html>", "does not begin like a history"),
        (b'{"a": 1, "a": 2, "cycles": [{}', "does not begin like a history"),
        (b'\0\0\0\0\0\0\0\0"cycles": [{"a": 1}]}', "does not begin like a history"),
        (b'{"cycles": ["a"', "no cycle in it is readable"),
        (b'{"cycles": [{"a": 1, "a": 2}, {"b"', r"line 1, column 13 is readable, but has an object with the same key"),
        (b'{"cycles": [{}, \n{"a": NaN}, {"b"', "line 2, column 1 is readable, but has NaN"),
        (b'{"cycles": [{"a": ' + b"[" * 200 + b"]" * 200 + b"}, {", "nested too deeply"),
        (b'{"cycles": [' + b"[" * 100_000, "nested too deeply"),
        (b'{"schema_version": "2.0", "cycles": [{}', "only reads"),
        (json.dumps({"cycles": CYCLES}).encode("utf-16"), "does not begin like a history"),
    ],
)  # fmt: skip
def test_ambiguous_file_is_left_to_a_human(data: bytes, reason: str) -> None:
    """Without a beginning, without a cycle, or with JSON that may mean two things, nothing is recovered."""
    with pytest.raises(MergeUndecided, match=reason):
        salvage(data)


def test_parts_of_a_broken_cycle_are_no_cycles() -> None:
    """Tasks, and cycles that a cycle holds as a member, are not taken for cycles when it cannot be read."""
    inner = [{"completed_at": "x", "id": n} for n in range(5)]
    data = OURS([numbered(1), numbered(2, tasks=inner, before=numbered(4)), numbered(3)])
    torn = data.replace(b'"plan": null', b'"plan": nul', 2).replace(b'"plan": nul,', b'"plan": null,', 1)
    found = salvage(torn)
    assert cycles_of(found.data) == [numbered(1), numbered(3)]
    assert [(rest.line, rest.column) for rest in found.rests] == [(19, 5)]


def test_a_bracket_too_many_ends_nothing() -> None:
    """Whole cycles after a misplaced bracket, or after a whole history, are kept; the bracket is reported."""
    data = OURS([*CYCLES, numbered(4)])
    at = len(begin_of(data, 1))
    found = salvage(data[:at] + b"]" + data[at:])
    assert (texts_of(found.data), rests(found)) == (texts_of(data), [(30, 6, 1, "]")])
    short, long = OURS([numbered(7)]), OURS([numbered(1), numbered(2), numbered(3)])
    assert cycles_of(salvage(short + long[len(short) :]).data) == [numbered(7), numbered(3)]


def test_two_histories_in_one_file_are_refused() -> None:
    """Two histories in one file have to be combined by hand: no cycle is dropped or repeated."""
    one, two = OURS(CYCLES[:2]), OURS([*CYCLES, numbered(4)])
    for data in (one + two, one[:-30] + two, one.rstrip() + b"," + two):
        with pytest.raises(MergeUndecided, match="another list of cycles begins at line"):
            salvage(data)


def test_objects_in_other_fields_are_no_cycles() -> None:
    """Objects like cycles in another member are left where they are, also behind a cycle that cannot be read."""
    draft = {"completed_at": "2030-01-01T00:00:00Z", "tasks": []}
    whole = json.dumps({"cycles": CYCLES, "drafts": [draft, draft], "more": 1})
    assert texts_of(salvage(whole[:-1].encode()).data) == texts_of(whole.encode())
    other = json.dumps({"cycles": CYCLES, "drafts": [draft, "torn", draft]}).replace('"torn"', '{"torn')
    assert cycles_of(salvage(other.encode()).data) == CYCLES
    torn = whole.replace(
        '"plan": null, "tasks": [{"id": 1, "title": "Work 3"', '"plan": nul, "tasks": [{"id": 1, "x', 1
    )
    assert torn != whole
    for end in (0, 1, 12, 13):
        assert cycles_of(salvage(torn[: len(torn) - end].encode()).data) == CYCLES[:2]


@pytest.mark.parametrize(
    "data",
    [
        '{"cycles":[{},\n' + '{"a":1,"b":[' * 400 + "1," * 20_000,
        '{"a":[' + "1," * 20_000 + '"cycles":[' * 20,
        '{"cycles":[{}' + "]" * 20_000 + '{"a"' * 900,
    ],
)
def test_a_text_is_not_read_over_and_over(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any file, all parse attempts together read a few times its length."""
    parsed = 0

    class Counting:
        def raw_decode(self, text: str, at: int) -> Any:
            nonlocal parsed
            try:
                value, end = decoder.raw_decode(text, at)
            except JSONDecodeError as error:
                parsed += error.pos - at
                raise
            parsed += end - at
            return value, end

    def history(part: bytes) -> HistoryFile:
        nonlocal parsed
        parsed += len(part)
        return HistoryFile(part)

    decoder = scanner._DECODER
    monkeypatch.setattr(scanner, "_DECODER", Counting())
    monkeypatch.setattr(scanner, "HistoryFile", history)
    with suppress(MergeUndecided):
        salvage(data.encode())
    assert parsed < 10 * len(data)


def test_a_search_has_an_end() -> None:
    """Of any number of possible beginnings of a cycle only a limited number is tried."""
    data = b'{"cycles": [{}, {"a": x' + b',{"b":1}' * 1001 + b', {"completed_at": "", "tasks": []}]}'
    assert salvage(data).cycles == 1
    assert salvage(data.replace(b',{"b":1}', b"", 2)).cycles == 2
