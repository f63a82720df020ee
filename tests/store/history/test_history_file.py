"""history.json as a whole: valid files, and equality of cycles."""

from __future__ import annotations

import pytest

from nexus_mcp.errors import StateError
from nexus_mcp.store.history.frame import HistoryFile


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
    ids=lambda broken: repr(broken[:30]),
)
def test_file_that_is_no_history_is_refused(broken: bytes) -> None:
    """A file that is no object with an array of objects as its cycles is refused, with its name."""
    with pytest.raises(StateError, match=r"history\.json"):
        HistoryFile(broken)


def test_cycles_are_equal_as_json() -> None:
    """Member order does not matter; 1, 1.0 and true are three values."""
    history = HistoryFile(b'{"cycles": [{"completed_at": "t", "n": 1}]}')
    assert history.has({"n": 1, "completed_at": "t"})
    assert not history.has({"completed_at": "t", "n": True})
    assert not history.has({"completed_at": "t", "n": 1.0})
    assert not history.has({"completed_at": "u", "n": 1})
