"""Which lines are messages, and the error and id of the answer to all others."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nexus_mcp.server import messages
from nexus_mcp.server.faults import Fault
from nexus_mcp.server.messages import Message, parse
from nexus_mcp.server.recover import id_in_line


def outcome(line: bytes) -> object:
    """(code, message, id) of a fault; (id, method, params) of a message; None."""
    try:
        message = parse(line)
    except Fault as fault:
        return fault.code, fault.message, fault.id
    return None if message is None else (message.id, message.method, message.params)


def refused(line: bytes) -> tuple[int, Any]:
    with pytest.raises(Fault) as found:
        parse(line)
    return found.value.code, found.value.id


def deep(levels: int) -> bytes:
    """A request whose arrays and objects are nested `levels` deep, itself and its params included."""
    inner = b"[" * (levels - 2) + b"]" * (levels - 2)
    return b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":' + inner + b"}}"


def framed(rest: str, id: str = "1") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{id},"method":"m","params":{rest}}}'.encode()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"m"}', (1, "m", None)),
        (b' {"jsonrpc":"2.0","id":"","method":"m","params":null}\r', ("", "m", None)),
        (b'{"jsonrpc":"2.0","id":-5,"method":"","params":{},"more":1}', (-5, "", {})),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","result":{}}', (1, "m", None)),
        (b'{"jsonrpc":"2.0","method":"n","params":{"a":1}}', (None, "n", {"a": 1})),
        (deep(64), (1, "m", json.loads(deep(64))["params"])),
    ],
)
def test_requests_and_notifications_are_parsed(line: bytes, expected: object) -> None:
    """Requests and notifications are read; members that JSON-RPC does not know are ignored."""
    assert outcome(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b" \t\r",
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}',
        b'{"id":1,"result":{}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}',
    ],
)
def test_lines_without_request_get_no_answer(line: bytes) -> None:
    """Blank lines, responses and notifications are never answered."""
    assert outcome(line) is None


@pytest.mark.requirement("protocol.parse", "protocol.request", "protocol.params")
@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        (b"hello", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m"', -32700, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"m"}}', -32700, 1),
        (b'{"jsonrpc":"2.0","id":"a","method":"m","params":{"na', -32700, "a"),
        (b"{'jsonrpc':'2.0','id':1}", -32700, None),
        (framed('{"a":NaN}'), -32700, 1),
        (framed('{"a":[Infinity,-Infinity]}', '"x"'), -32700, "x"),
        (b'{"params":{"a":NaN,"id":5},"id":2,"method":"m"}', -32700, 2),
        (framed('{"a":"\t"}'), -32700, 1),
        (b"\xef\xbb\xbf" + framed("{}"), -32700, None),
        (framed('{"a":"X"}').replace(b"X", b"\xff"), -32700, 1),
        (framed('{"a":"X"}').replace(b"X", b"\xed\xa0\x80"), -32700, 1),
        (framed("{}").decode().encode("utf-16"), -32700, None),
        (framed('{"a":1,"a":1}'), -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1,"\\u0069d":2,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}', -32600, 1),
        (deep(65), -32600, 1),
        (deep(100_000), -32600, 1),
        (b"[" * 100_000, -32600, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"m"}]', -32600, None),
        (b'"text"', -32600, None),
        (b"null", -32600, None),
        (b"{}", -32600, None),
        (b'{"id":1,"method":"m"}', -32600, 1),
        (b'{"jsonrpc":"1.0","id":1,"method":"m"}', -32600, 1),
        (b'{"jsonrpc":2.0,"id":"1","method":"m"}', -32600, "1"),
        (b'{"jsonrpc":"2.0","id":1}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', -32600, 1),
        (b'{"jsonrpc":"2.0","method":1,"params":"bar"}', -32600, None),
        *((framed("{}", id), -32600, None) for id in ("null", "true", "1.0", "1.5", "1e400", "[1]", "{}")),
        *((framed("{}", "[" * n + "]" * n), -32600, None) for n in (100, 5000)),
        (framed("{}", "9" * 5000), -32600, None),
        (framed("{}", '"\\ud800"'), -32600, None),
        (framed("[1]"), -32602, 1),
        (framed('"x"'), -32602, 1),
        (framed("true"), -32602, 1),
    ],
)
def test_each_malformed_line_has_its_code(line: bytes, code: int, id: object) -> None:
    """Invalid JSON is -32700, JSON that is no request -32600, params that are no object -32602; the id if certain."""
    assert refused(line) == (code, id)


def test_messages_of_faults_do_not_quote_the_line() -> None:
    """The message names the fault and the place, and repeats no part of the line."""
    assert outcome(framed('{"a":tru}')) == (-32700, "Parse error: the line is not JSON (character 52)", 1)
    assert outcome(b'{"a":"\xff"}') == (-32700, "Parse error: the line is not UTF-8 (byte 7)", None)
    assert outcome(framed('{"a":NaN}')) == (-32700, "Parse error: NaN is not JSON", 1)
    assert outcome(deep(65)) == (-32600, "Invalid Request: more than 64 levels of nesting", 1)
    assert outcome(framed("[]")) == (-32602, "Invalid request parameters", 1)


def test_id_with_too_many_digits_is_unknown() -> None:
    """An interpreter that takes fewer digits knows no id that has more."""
    line = framed("{,}", "9" * 1000)
    assert refused(line) == (-32700, int("9" * 1000))
    assert refused(framed("{,}", "-" + "9" * 4300)) == (-32700, -int("9" * 4300))
    assert refused(framed("{,}", "9" * 4301)) == (-32700, None)
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert refused(line) == (-32700, None)
    finally:
        sys.set_int_max_str_digits(limit)


def test_huge_number_becomes_infinite() -> None:
    """A number that Python cannot hold becomes infinite, so that the tool refuses it."""
    assert sys.get_int_max_str_digits() == 4300
    message = parse(framed('{{"a":{},"b":-{},"c":1e400,"d":{},"e":7}}'.format("9" * 5000, "1" * 4301, "1" * 4300)))
    assert message is not None
    inf = math.inf
    assert message.params == {"a": inf, "b": -inf, "c": inf, "d": int("1" * 4300), "e": 7}


def test_lone_surrogate_is_kept_for_the_tool() -> None:
    """A surrogate pair is one character; a lone surrogate in a string is kept for the tool to refuse."""
    assert outcome(framed('{"a":"\\ud83d\\ude00\\ud800"}')) == (1, "m", {"a": "😀\ud800"})


KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "a", "result"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("2.0"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)


@given(VALUES)
def test_any_json_value_is_handled(value: object) -> None:
    """Every JSON value is a message, is dropped by rule, or is a fault with the id it has."""
    line = json.dumps(value).encode()
    found = outcome(line)
    id = value.get("id") if isinstance(value, dict) else None
    known = id if isinstance(id, str | int) and not isinstance(id, bool) else None
    if isinstance(found, tuple) and found[0] in (-32700, -32600, -32602):
        assert found[2] == known
    assert found is None or isinstance(found, tuple)


@given(VALUES, st.data())
def test_damaged_request_gets_its_id_or_none(value: object, data: st.DataObject) -> None:
    """A request that is cut, or in which bytes are replaced, gets an answer, with its own id or none."""
    line = bytearray(json.dumps({"jsonrpc": "2.0", "id": 4711, "method": "m", "params": {"a": value}}).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(30, len(line) - 1))
        line[at] = data.draw(st.sampled_from(b'{}[]",:\\ \x00\xff0aN'))
    del line[data.draw(st.integers(30, len(line))) :]
    found = outcome(bytes(line))
    if isinstance(found, tuple) and found[0] in (-32700, -32600, -32602):
        assert found[2] in (4711, None)
    else:
        assert found is None or isinstance(parse(bytes(line)), Message)


@given(st.binary(max_size=300))
def test_any_bytes_give_message_fault_or_silence(line: bytes) -> None:
    """Any line of bytes gives a message, a fault or no result."""
    found = outcome(line)
    assert found is None or isinstance(found, tuple)


@given(
    st.lists(
        st.sampled_from([b'"id"', b":", b"1", b'"a"', b",", b"{", b"}", b"[", b'"', b"\\", b" ", b'"b"']), max_size=30
    )
)
def test_recovery_is_never_wrong(parts: list[bytes]) -> None:
    """Where a line is valid JSON after all, the id found in it is the id it has, or none."""
    line = b"{" + b"".join(parts)
    found = id_in_line(line)
    try:
        value = json.loads(line)
    except ValueError:
        assert found in (None, 1, "a", "b", "id") or isinstance(found, str)
        return
    assert found in (None, value.get("id"))


def test_recovery_of_a_large_broken_line_takes_linear_time() -> None:
    """Reading a broken line of megabytes takes no time worth the name: no byte of it is tried twice."""
    line = b'{"id":5,"a":"' + b'\\"' * 2_000_000
    assert id_in_line(line) == 5
    assert id_in_line(b'{"id":5,"a":' + b'["' * 1_000_000) == 5


def test_ordinary_line_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line as most are is read once, however many objects are in it."""
    monkeypatch.setattr(messages, "_load_with_diagnosis", None)
    message = parse(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"all":[%s]}}' % b",".join([b"[{}]"] * 100))
    assert message is not None
    assert message.params == {"all": [[{}]] * 100}


def test_values_are_freed_before_the_line_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an odd line, which may have 4 MiB, the values are not there twice."""
    seen: list[BaseException | None] = []
    monkeypatch.setattr(messages, "_load_with_diagnosis", lambda _: seen.append(sys.exc_info()[1]))
    with pytest.raises(Fault):
        parse(b'{"a":[{"b":1}],"a":2}')
    assert seen == [None]
