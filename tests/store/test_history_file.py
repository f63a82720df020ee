"""history.json as text: appending keeps every byte that was there; the text of a cycle is its JSON, squeezed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.errors import StateError
from nexus_mcp.store.history_file import HistoryFile

CYCLE: dict[str, Any] = {
    "schema_version": "0.5",
    "completed_at": "2026-01-01T00:00:00.000Z",
    "branch": "b",
    "plan": None,
    "tasks": [],
}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
cycles = st.lists(st.dictionaries(st.text(), values, max_size=4), max_size=4)
layouts = st.sampled_from([None, 0, 1, 2, "\t"])


def written(history: dict[str, Any], layout: int | str | None, *, ascii_only: bool, crlf: bool, bom: bool) -> bytes:
    text = json.dumps(history, indent=layout, ensure_ascii=ascii_only)
    text = text.replace("\n", "\r\n") if crlf else text
    return (("\ufeff" if bom else "") + text).encode("utf-8", "backslashreplace")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cycles=cycles, layout=layouts, ascii_only=st.booleans(), crlf=st.booleans(), bom=st.booleans())
def test_appending_keeps_every_old_byte(
    cycles: list[dict[str, Any]], layout: int | str | None, ascii_only: bool, crlf: bool, bom: bool
) -> None:
    """Whatever the layout, the bytes up to the last cycle stay, and the result holds the old cycles and the new."""
    data = written({"a": 1, "cycles": cycles, "z": 1.50}, layout, ascii_only=ascii_only, crlf=crlf, bom=bom)
    history = HistoryFile(data)
    grown = b"".join(history.with_cycle(CYCLE))
    assert json.loads(grown.decode("utf-8-sig"))["cycles"] == [*cycles, CYCLE]
    kept, added, rest = history.with_cycle(CYCLE)
    assert data.startswith(kept)
    assert data.rstrip(b"\r\n").endswith(rest.strip())
    assert HistoryFile(grown).cycles == [*cycles, CYCLE]
    assert grown.endswith(b"\n")
    assert b"".join(HistoryFile(grown).with_cycle({**CYCLE, "branch": "c"})).startswith(kept + added.rstrip())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cycles=cycles, layout=layouts, ascii_only=st.booleans(), crlf=st.booleans())
def test_the_text_of_a_cycle_is_its_compact_json(
    cycles: list[dict[str, Any]], layout: int | str | None, ascii_only: bool, crlf: bool
) -> None:
    """For numbers that Python wrote, squeezing the text and writing the value anew come to the same."""
    data = written({"cycles": cycles}, layout, ascii_only=ascii_only, crlf=crlf, bom=False)
    plain = [json.dumps(cycle, separators=(",", ":"), ensure_ascii=False) for cycle in cycles]
    assert list(HistoryFile(data).texts()) == plain


@pytest.mark.parametrize(
    ("spelled", "text"),
    [
        ('{"a": 1.50}', '{"a":1.50}'),
        ('{"a": [1E2, "x  y", -0]}', '{"a":[1E2,"x  y",-0]}'),
        ('{"a": -0}', '{"a":-0}'),
        ('{"\\u00e4": "\\u00C4\\n"}', '{"ä":"Ä\\n"}'),
        ('{"a": "\\uD800", "b": 1.0}', '{"a":"\\ud800","b":1.0}'),
        ('{"a": "\\ud800"}', '{"a":"\\ud800"}'),
    ],
)
def test_numbers_keep_their_spelling_and_strings_their_meaning(spelled: str, text: str) -> None:
    """Numbers are compared as the file has them, strings whatever escapes it used."""
    assert list(HistoryFile(f'{{"cycles": [{spelled}]}}'.encode()).texts()) == [text]


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b" \n",
        b"\0\0\0\0",
        b"[]",
        b"null",
        b"{}",
        b'{"cycles": {}}',
        b'{"cycles": [1]}',
        b'{"cycles": []',
        b'{"cycles": [}',
        b'{"cycles": [{},]}',
        b'{"cycles": [],}',
        b'{"cycles": []} x',
        b'{"cycles": [], "cycles": []}',
        b'{"cycles": [{"a": 1, "a": 2}]}',
        b'{"cycles": [{"a": NaN}]}',
        b'{"cycles": [{"a": -Infinity}]}',
        b'{"cycles": ["\xff"]}',
        b'{"cycles": [{"a": ' + b"[" * 300 + b"]" * 300 + b"}]}",
        b'{"cycles": [' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"]}",
        '{"cycles": []}'.encode("utf-16"),
        b'{\n<<<<<<< HEAD\n"cycles": []\n=======\n"cycles": []\n>>>>>>> other\n}',
    ],
    ids=repr,
)
def test_what_is_no_history_is_refused(broken: bytes) -> None:
    """Anything but an object whose cycles is an array of objects is refused, by name."""
    with pytest.raises(StateError, match=r"history\.json"):
        HistoryFile(broken)


def test_cycles_are_equal_as_json() -> None:
    """Member order does not matter; 1, 1.0 and true are three values."""
    history = HistoryFile(b'{"cycles": [{"completed_at": "t", "n": 1}]}')
    assert history.has({"n": 1, "completed_at": "t"})
    assert not history.has({"completed_at": "t", "n": True})
    assert not history.has({"completed_at": "t", "n": 1.0})
    assert not history.has({"completed_at": "u", "n": 1})
