"""A response that is assembled from stored texts equals the encoding of its value."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.server.app import Answer
from nexus_mcp.server.pipes import encode
from nexus_mcp.state.rows import Row, Rows, encode_line
from nexus_mcp.state.tasks import next_id
from nexus_mcp.store.codec import compact

TEXT = st.text(st.characters(exclude_categories=[]) | st.sampled_from('"\\\n\u2028\ud800'), max_size=5)
ROW = st.dictionaries(TEXT, TEXT | st.integers() | st.lists(TEXT, max_size=2), max_size=3)


def as_sent(value: Any) -> Any:
    """The value as a client can read it."""
    return json.loads(compact(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


@given(st.dictionaries(TEXT, TEXT, max_size=2), st.lists(ROW, max_size=3), st.lists(ROW, max_size=2), st.booleans())
def test_composed_answer_equals_the_encoded_value(
    value: dict[str, Any], rows: list[Any], more: list[Any], is_error: bool
) -> None:
    """Whatever rows are in it, changed ones too, an answer's line and its result are those of its plain value."""
    first = Rows(map(Row, rows))
    for kept in (first, Rows([*first[: len(rows) // 2], *map(Row, more)])):
        answer = Answer({"goal": 1, **value, "tasks": kept, "more": []}, is_error=is_error)
        plain = as_sent({"goal": 1, **value, "tasks": list(kept), "more": []})
        result = {
            "content": [{"type": "text", "text": compact(plain)}],
            "structuredContent": plain,
            "isError": is_error,
        }
        sent = encode({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", **answer.rendered_result}})
        assert sent == encode({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", **result}})
        assert answer.result == result


@given(st.lists(ROW, max_size=4))
def test_row_in_two_lists_has_its_text_in_both(rows: list[Any]) -> None:
    """Of a row that two lists share each of them has the text, whichever needed it first."""
    first = Rows(map(Row, rows))
    second = Rows([*first[1:], Row({"id": 1})])
    assert second.escape() == encode_line(compact(compact(list(second)))[1:-1])
    for each in (first, second):
        assert each.compact() == encode_line(compact(list(each)))
        assert each.escape() == encode_line(compact(compact(list(each)))[1:-1])


@given(st.lists(st.integers(-2, 4), max_size=4))
def test_next_id_is_one_above_the_highest(ids: list[int]) -> None:
    """It is one more than the highest there is, and 1 where there is none."""
    assert next_id([{"id": number} for number in ids]) == max(ids, default=0) + 1
