"""Lines are assembled from chunks, and the length of a line is bounded."""

from __future__ import annotations

import itertools
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.server.faults import Fault
from nexus_mcp.server.pipes import MAX_LINE, Splitter
from nexus_mcp.server.recover import Nesting

TOO_LONG = f"Invalid Request: a message takes at most {MAX_LINE} bytes; send less at once"


JSON_VALUES = st.recursive(
    st.text('x"\\{}[]é\n') | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('x"\\{}[]', max_size=3), inner, max_size=4),
    max_leaves=12,
)


def split(chunks: list[bytes], limit: int = MAX_LINE) -> list[object]:
    """Lines as bytes, faults as (code, message, id)."""
    splitter = Splitter(limit)
    found = [line for chunk in chunks for line in splitter.feed(chunk)] + list(splitter.end())
    return [(line.code, line.message, line.id) if isinstance(line, Fault) else line for line in found]


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=8))
def test_lines_do_not_depend_on_chunks(data: bytes, cuts: list[int]) -> None:
    """However the bytes arrive, the lines are the same."""
    at = [0, *sorted(cuts), len(data)]
    chunks = [data[begin:end] for begin, end in itertools.pairwise(at)]
    lines = data.split(b"\n")
    assert split(chunks) == (lines if lines[-1] else lines[:-1])


def test_line_beyond_4_mib_is_refused() -> None:
    """A line of exactly 4 MiB passes, one byte more does not, and the line after it is read."""
    assert MAX_LINE == 4 * 1024 * 1024
    exact = b"x" * MAX_LINE
    assert split([exact + b"\n", exact + b"y\nnext\n"]) == [exact, (-32600, TOO_LONG, None), b"next"]


@pytest.mark.parametrize(
    ("begin", "end", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"params":{"a":"', b'"}}', 7),
        (b'{"jsonrpc":"2.0","id":"s","params":{"a":"', b'"}}', "s"),
        (b'{"jsonrpc":"2.0","params":{"a":"', b'"},"id":8}', 8),
        (b'{"params":{"a":"', b'"}, "id" : "t" , "method":"ping", "jsonrpc":"2.0"}\r', "t"),
        (b'{"id":7,"params":{"a":"', b'"},"id":7}', 7),
        (b'{"id":7,"params":{"a":"', b'"},"id":8}', None),  # which of them?
        (b'{"params":{"arguments":{"a":"', b'","id":3}}}', None),  # the id of another request
        (b'{"params":{"a":"', b'\\",\\"id\\":3}', None),  # text that looks like one
        (b'{"id":7', b"", None),  # the number may go on
        (b'{"params":{"a":"', b'","id":9', None),
        (b'[{"id":7,"a":"', b'"}]', None),
        (b"garbage", b',"id":9}', None),
        (b'{"id":tru', b"", None),
        (b'{"method":"tools/call","params":{"b":"', b'","c":{"q":1,"id":99}', None),  # cut off: not the outermost
        (b'{"params":{"b":"', b'","c":{"q":1,"id":99}}', None),
        (b'{"params":{"b":"', b'","c":{"q":1,"id":98}},"id":99}', 99),
        (b'{"params":["{[', b'\\\\"],"id":99}', 99),  # brackets in a string, and an escaped backslash at its end
        (b'{"params":["', b'\\"],"id":99}', None),  # an escaped quote
        (b'{"params":{"a":["', b'"},"id":99}', None),  # closed in the wrong order
        (b'{"params":{"a":"', b'"}},"id":99}', None),  # closed once too often
        (b'{"params":{"a":"', b'"}\\,"id":99}', None),
        (b'{"params":' + b"[" * 2000, b'"' + b"]" * 2000 + b',"id":99}', None),
    ],
)
def test_id_of_a_long_line_is_recovered(begin: bytes, end: bytes, id: object) -> None:
    """The id of an over-long line is recovered if its beginning or end shows it beyond doubt."""
    fill = b"7" if begin.endswith(b"7") else b"x"
    line = begin + fill * 10_000 + end
    assert split([line[at : at + 1000] for at in range(0, len(line), 1000)], 5000) == [
        (-32600, TOO_LONG.replace(str(MAX_LINE), "5000"), id)
    ]


@given(JSON_VALUES, st.integers(1, 40), st.data())
def test_json_is_whole_only_at_its_end(value: object, size: int, data: st.DataObject) -> None:
    """JSON is recognized as whole at its end and at no earlier byte, in any chunks."""
    text = json.dumps({"value": value}, ensure_ascii=data.draw(st.booleans())).encode()
    cut = data.draw(st.integers(0, len(text)))
    nesting = Nesting()
    for at in range(0, cut, size):
        nesting.add(text[at : min(at + size, cut)])
    assert nesting.is_whole() == (cut == len(text))


def test_endless_line_takes_bounded_memory() -> None:
    """A line without end takes no more memory than the longest line that is accepted, and a little."""
    splitter = Splitter()
    chunk = b"x" * 65536
    tracemalloc.start()
    for _ in range(320):  # 20 MiB
        assert list(splitter.feed(chunk)) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * MAX_LINE
