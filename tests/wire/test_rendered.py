"""The line of an answer that is put together from texts: the one that encoding its value makes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.server.app import Answer
from nexus_mcp.server.pipes import encode
from nexus_mcp.state.rows import Rows
from nexus_mcp.store.codec import compact

TEXT = st.text(st.characters(exclude_categories=[]) | st.sampled_from('"\\\n\u2028\ud800'), max_size=5)
ROW = st.dictionaries(TEXT, TEXT | st.integers() | st.lists(TEXT, max_size=2), max_size=3)


def as_sent(value: Any) -> Any:
    """The value as a client can read it."""
    return json.loads(compact(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


@given(st.dictionaries(TEXT, TEXT, max_size=2), st.lists(ROW, max_size=3), st.lists(ROW, max_size=2), st.booleans())
def test_as_if_encoded(value: dict[str, Any], rows: list[Any], more: list[Any], is_error: bool) -> None:
    """Whatever rows are in it, changed ones too, an answer's line and its result are those of its plain value."""
    first = Rows(rows)
    for kept in (first, Rows.spliced(first, len(rows) // 2, more, len(rows))):
        answer = Answer({"goal": 1, **value, "tasks": kept, "more": []}, is_error=is_error)
        plain = as_sent({"goal": 1, **value, "tasks": list(kept), "more": []})
        result = {
            "content": [{"type": "text", "text": compact(plain)}],
            "structuredContent": plain,
            "isError": is_error,
        }
        sent = encode({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", **answer.rendered}})
        assert sent == encode({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", **result}})
        assert answer.result == result
