"""The index has the places of cycles that a strict parse finds, and refuses the same files."""

from __future__ import annotations

import json
from tempfile import TemporaryFile
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.errors import StateError
from nexus_mcp.store import atomic
from nexus_mcp.store.history import parse
from nexus_mcp.store.history.frame import HistoryFile
from nexus_mcp.store.history.index import Index
from nexus_mcp.store.history.parse import Window
from tests.store.history.generated import CYCLE, Cycle, cycles, layouts, ours_of, small, written


def built(data: bytes) -> Index:
    with TemporaryFile() as file:
        file.write(data)
        file.flush()
        return parse.build(file.fileno(), len(data), digests=True)


def spans_of(index: Index, data: bytes) -> list[bytes]:
    return [data[slice(*index.span(number))] for number in range(len(index))]


def whole(data: bytes) -> HistoryFile | None:
    try:
        return HistoryFile(data)
    except StateError:
        return None


@settings(max_examples=200, deadline=None, derandomize=True)
@given(data=st.data(), made=cycles, layout=layouts)
def test_index_has_the_cycles_of_a_strict_parse(data: st.DataObject, made: list[Cycle], layout: dict[str, Any]) -> None:
    """The index equals a strict parse for any layout, and for any changed byte of the file."""
    file = written({"a": 1, "cycles": made, "z": [1.5]}, layout)
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(file) - 1))
        new = data.draw(st.sampled_from([b"", b"\\", b'"', b"}", b"{", b",", b":", b"\xff", b"\x01", b" ", b"1", b"]"]))
        file = file[:at] + new + file[at + 1 :]
    expected = whole(file)
    with small(data.draw(st.sampled_from([64, 1 << 11, 1 << 16]))):
        try:
            index = built(file)
        except parse.Unreadable:
            assert expected is None
            return
    assert expected is not None
    assert spans_of(index, file) == [expected.text[start:end].encode() for start, end in expected.spans]
    assert file[index.opening - 1 : index.opening] == b"["
    assert file[index.closing : index.closing + 1] == b"]"
    ids = [cycle["plan"].get("id") for cycle in expected.cycles if isinstance(cycle.get("plan"), dict)]
    assert index.highest == max((int(i) for i in ids if type(i) in (int, float) and i == int(i) and i > 0), default=0)
    times = [cycle.get("completed_at") for cycle in expected.cycles]
    stamps = [time if isinstance(time, str) and len(time) == 24 and time.isascii() else "" for time in times]
    assert [index.stamp(number) for number in range(len(index))] == stamps


@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.data(), made=cycles)
def test_each_cycle_may_have_a_layout_of_its_own(data: st.DataObject, made: list[Cycle]) -> None:
    """As after a merge by hand: cycles may begin in our layout and end in another one."""
    texts = []
    for cycle in made:
        text = json.dumps(cycle, indent=data.draw(st.sampled_from([2, None])), ensure_ascii=False)
        text = text.replace("\n", "\n    ") if data.draw(st.booleans()) else text
        texts.append(data.draw(st.sampled_from(["\n    ", " "])) + text)
    file = f'{{\n  "cycles": [{",".join(texts)}\n  ]\n}}\n'.encode("utf-8", "backslashreplace")
    expected = whole(file)
    assert expected is not None
    with small(data.draw(st.sampled_from([64, 1 << 11]))):
        index = built(file)
    assert spans_of(index, file) == [expected.text[start:end].encode() for start, end in expected.spans]


@pytest.mark.parametrize("quick_from", [0, 1 << 40])
@pytest.mark.parametrize(
    "inner",
    [
        '"plan": {"id": 1, "id": 1}',
        '"tasks": [{"a": 1, "a": 2}]',
        '"tasks": [{"a": 1, "\\u0061": 2}]',
        '"plan": {"issues": [{"how_summary": {"a": "", "a": ""}}]}',
        '"tasks": [{"a": {"b": 1, "b": 1}}]',
        '"tasks": [{"a\\\\": 1, "a\\\\": "\\": "}]',
        '"tasks": [{"say \\":": 1}, {"a" :1, "a": 2}]',
        '"branch": NaN',
        '"branch": -Infinity',
        '"branch": "\x01"',
        '"tasks": [{"a": ' + "[" * 200 + "]" * 200 + "}]",
        '"tasks": [{"a": ' + '{"a":' * 200 + "1" + "}" * 200 + "}]",
        '"completed_at": "x", "completed_at": "x"',
    ],
)
def test_odd_cycle_makes_the_file_unreadable(inner: str, quick_from: int) -> None:
    """A repeated field, a malformed number or too deep nesting makes the file unreadable, also by the quick check."""
    cycle = '\n    {\n      "schema_version": "0.5",\n      %s\n    }'
    good = cycle % '"branch": "say \\": [{"'
    file = f'{{\n  "cycles": [{good},{cycle % inner},{good}\n  ]\n}}\n'.encode()
    with patch.object(parse, "FAST_FROM_BYTES", quick_from), pytest.raises(parse.Unreadable):
        built(file)
    assert whole(file) is None
    assert len(built(file.replace((cycle % inner).encode(), good.encode()))) == 3


def test_bytes_that_are_no_text_make_the_file_unreadable() -> None:
    """Also within a string that no call reads."""
    file = ours_of([{**CYCLE, "branch": "ab"}, CYCLE, CYCLE]).replace(b"ab", b"\xff\xfe")
    with small(1 << 16), pytest.raises(parse.Unreadable):
        built(file)


def test_most_of_our_cycles_are_checked_without_a_strict_parse() -> None:
    """The quick check accepts cycles in our layout; only the first and the last one are parsed strictly."""
    plan = {"id": 7, "topic": 'say "x": [1]\n', "issues": [{"id": 1, "title": "ä", "how_summary": {"a": "b"}}]}
    tasks = [{"id": 1, "title": "t", "deps": [1, 2]}] * 3
    file = ours_of([{**CYCLE, "plan": plan, "tasks": tasks}] * 9)
    parsed = []
    real = parse._next
    with small(1 << 16), patch.object(parse, "_next", lambda *a, **k: parsed.append(1) or real(*a, **k)):  # type: ignore[func-returns-value]
        assert len(built(file)) == 9
    assert len(parsed) == 3  # the first, the last, and the end


@pytest.mark.parametrize("end", [b"", b",\n    {\n    },\n    {\n    }"])
def test_foreign_layout_is_searched_once(end: bytes) -> None:
    """Many cycles whose ends are not where ours are, or one end far away, take no longer than others."""
    file = b'{"cycles": [{}' + b",\n    {\n}" * 3000 + end + b"]}"
    searched = 0

    class Counted(bytes):
        def find(self, what: Any, begin: Any = 0, _: Any = None) -> int:
            nonlocal searched
            found = super().find(what, begin)
            searched += (found if found >= 0 else len(self)) - begin
            return found

    class Watched(Window):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, Counted(value) if name == "data" else value)

        def bytes(self, begin: int, end: int) -> bytes:
            nonlocal searched
            searched += end - begin
            return super().bytes(begin, end)

    with small(1 << 16), patch.object(parse, "Window", Watched):
        assert len(built(file)) == 3001 + end.count(b"{")
    assert 0 < searched < 5 * len(file)


def test_a_cycle_may_be_longer_than_a_window() -> None:
    """A window grows until it has one whole."""
    file = ours_of([CYCLE, {**CYCLE, "branch": "ä" * 5000}, CYCLE, {**CYCLE, "branch": "x" * 5000}])
    with patch.object(atomic, "CHUNK", 100):
        index = built(file)
    assert [json.loads(each)["branch"][:2] for each in spans_of(index, file)] == ["b", "ää", "b", "xx"]
