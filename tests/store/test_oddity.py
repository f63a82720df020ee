"""The place of what we refuse in a text that is JSON by its grammar."""

from __future__ import annotations

import pytest

from nexus_mcp.errors import StateError
from nexus_mcp.store.codec import decode


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{\n  "a": 1,\n  "a": 2\n}', "line 3, column 3"),
        ('{"x": {"a": 1}, "y": {"a": [{"b": "a", "\\u0062": 2}]}}', "line 1, column 40"),
        ('["a", "a",\n NaN]', "line 2, column 2"),
        ('{"a":\n -Infinity}', "line 2, column 2"),
        ('{"a": 1e400}', "line 1, column 7"),
        ('{"a": -1e400}', "line 1, column 7"),
        ('{"a": 1, "b": ' + "9" * 4301 + "}", "line 1, column 15"),
        ("\n" + "[" * 65 + "]" * 65, "line 2, column 65"),
        ('{"a": "]}", "b":\n' + "[" * 100_000, "line 2"),
        ('{"a": "', "line 1, column 7"),
    ],
    ids=lambda text: text[:20],
)
def test_a_refused_text_is_told_with_its_place(text: str, place: str) -> None:
    """Line and column of the first thing that is refused are in the message, the thing itself is not."""
    with pytest.raises(StateError) as told:
        decode(text.encode(), "plan.json")
    assert f"plan.json ({place}" in str(told.value)


def test_bytes_that_are_not_utf8_are_told_with_their_place() -> None:
    """A wrong byte is counted from the start of its line."""
    with pytest.raises(StateError, match=r"plan\.json \(line 2, byte 2\) is not UTF-8"):
        decode(b'{\n"\xe4\xff": 1}'.replace(b"\xe4", "ä".encode()[:1]), "plan.json")
