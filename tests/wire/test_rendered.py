"""The line of an answer that is put together from texts: the one that encoding its value makes."""

from __future__ import annotations

import gc
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.server.app import Answer
from nexus_mcp.server.pipes import encode
from nexus_mcp.state.rows import Rows, encode_line, next_id
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


CHANGE = st.tuples(st.integers(0, 4), st.lists(ROW, max_size=2), st.integers(0, 2), st.booleans())


@given(st.lists(ROW, max_size=4), st.lists(CHANGE, max_size=12), st.booleans())
def test_rows_of_many_changes(rows: list[Any], changes: list[tuple[int, list[Any], int, bool]], is_known: bool) -> None:
    """However many changes lie between, and whichever of them were asked for: the text is that of the rows."""
    made = [Rows(rows)]
    made[0].compact() if is_known else None
    for at, new, fewer, is_asked in changes:
        old = made[-1]
        start = min(at, len(old))
        made.append(Rows.spliced(old, start, new, min(start + fewer, len(old))))
        made[-1].quoted() if is_asked else None
    for each in (made[-1], *made):
        assert each.compact() == encode_line(compact(list(each)))
        assert each.quoted() == encode_line(compact(compact(list(each)))[1:-1])


def test_rows_of_many_changes_keep_few() -> None:
    """What nobody asks for is not kept for ever: of a thousand changes the last ones know the rows before them."""

    def kept() -> int:
        return sum(isinstance(each, Rows) for each in gc.get_objects())

    before = kept()
    rows = Rows([{"id": 0}])
    rows.compact()
    for number in range(1000):
        rows = Rows.spliced(rows, 0, [{"id": number}], 1)
    assert kept() - before < 12
    assert rows.compact() == b'[{"id":999}]'


IDS = st.lists(st.integers(-2, 4), max_size=4)


@given(IDS, st.lists(st.tuples(st.integers(0, 4), IDS, st.integers(0, 3), st.booleans()), max_size=6))
def test_the_next_id(ids: list[int], changes: list[tuple[int, list[int], int, bool]]) -> None:
    """Whatever is known of the rows before: it is one more than the highest there is."""
    rows = Rows([{"id": number} for number in ids])
    for at, new, fewer, is_asked in [*changes, (0, [], 0, True)]:
        if is_asked:
            assert next_id(rows) == next_id(list(rows)) == max([row["id"] for row in rows], default=0) + 1
        start = min(at, len(rows))
        rows = Rows.spliced(rows, start, [{"id": number} for number in new], min(start + fewer, len(rows)))
