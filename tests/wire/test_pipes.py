"""Messages are written byte for byte."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.server.pipes import encode

TEXT = st.text(st.characters(exclude_categories=[]))  # lone surrogates included


@given(st.dictionaries(TEXT, TEXT | st.integers() | st.booleans() | st.none() | st.lists(TEXT), max_size=4))
def test_every_message_is_one_line_of_utf8(result: dict[str, object]) -> None:
    """Every message is one line of UTF-8 JSON for every reader of lines, and has the same value."""
    line, is_whole = encode({"id": 1, "result": result})
    assert is_whole
    text = line.decode()
    assert text.endswith("\n")
    assert text.splitlines() == [text[:-1]]
    meant = json.dumps({"id": 1, "result": result}, ensure_ascii=False)
    assert json.loads(text) == json.loads(meant.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def test_unsendable_response_becomes_internal_error() -> None:
    """A response that cannot be sent becomes an internal error of its request."""
    internal = b'{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Internal server error"}}\n'
    loop: dict[str, object] = {}
    loop["self"] = loop
    for result in (float("nan"), float("inf"), {1, 2}, loop, b"bytes"):
        assert encode({"jsonrpc": "2.0", "id": 7, "result": result}) == (internal, False)
