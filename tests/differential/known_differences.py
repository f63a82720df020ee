"""The differences between our server and the SDK alone, with reasons. An entry that no longer differs fails the tests.

docs/wire.md shows this table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.wire.connection import request

Json = Any


class Difference(NamedTuple):
    """A line sent after the handshake, and the response of each server (None: no response).

    `serve --sdk` answers as our server does, or with `through_sdk`.
    """

    what: str
    line: Json
    ours: Json
    sdk: Json
    reason: str
    through_sdk: Json = None


def _error(id: Json, code: int, message: str, **data: Json) -> Json:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **data}}


def _status(id: Json) -> Json:
    return {
        "jsonrpc": "2.0",
        "id": id,
        "result": {
            "content": [{"type": "text", "text": '{"active":false}'}],
            "structuredContent": {"active": False},
            "isError": False,
        },
    }


def _frame(rest: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"plan_status",{rest}}}}}\n'.encode()


_WRONG_PARAMS = _error(1, -32602, "Invalid request parameters", data="")
_HANG = "the SDK drops the line; its caller waits forever"
_NOT_JSON = "not JSON (RFC 8259)"
_DEEP = '"arguments":' + '{"a":' * 63 + "1" + "}" * 63

DIFFERENCES = (
    Difference(
        "no JSON at all",
        b"hello\n",
        _error(None, -32700, "Parse error: the line is not JSON (character 1)"),
        None,
        _HANG,
    ),
    Difference(
        "a truncated request",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"na\n',
        _error(1, -32700, "Parse error: the line is not JSON (character 57)"),
        None,
        _HANG,
    ),
    Difference(
        "NaN",
        _frame('"x":NaN'),
        _error(1, -32700, "Parse error: NaN is not JSON"),
        _status(1),
        _NOT_JSON,
    ),
    Difference(
        "bytes that are not UTF-8",
        _frame('"x":"!"').replace(b"!", b"\xff"),
        _error(1, -32700, "Parse error: the line is not UTF-8 (byte 83)"),
        _status(1),
        "the SDK replaces them, so a tool would store another text than the client sent",
    ),
    Difference(
        "a repeated field",
        _frame('"arguments":{},"arguments":{"a":1}'),
        _error(1, -32600, "Invalid Request: a field of an object appears twice"),
        "tool error",
        "the SDK takes the last one; the server cannot know which one was meant",
    ),
    Difference(
        "more than 64 levels of nesting",
        _frame(_DEEP),
        _error(1, -32600, "Invalid Request: more than 64 levels of nesting"),
        "tool error",
        "input has a bound; the SDK drops lines beyond its own bound of 200",
    ),
    Difference(
        "a batch",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n',
        _error(None, -32600, "Invalid Request: batches are not accepted; send one request object a line"),
        None,
        _HANG,
    ),
    Difference(
        "another jsonrpc",
        {**request(1, "ping"), "jsonrpc": "1.0"},
        _error(1, -32600, 'Invalid Request: "jsonrpc" must be "2.0"'),
        None,
        _HANG,
    ),
    Difference(
        "no method",
        {"jsonrpc": "2.0", "id": 1},
        _error(1, -32600, 'Invalid Request: "method" must be a string'),
        None,
        _HANG,
    ),
    Difference(
        "an id that is neither string nor integer",
        request(1.5, "ping"),
        _error(None, -32600, 'Invalid Request: "id" must be a string or an integer'),
        None,
        "the SDK takes the request for a notification",
    ),
    Difference(
        "params that are no object",
        request(1, "ping", [1]),
        _WRONG_PARAMS,
        None,
        _HANG,
    ),
    Difference(
        "a lone surrogate in an argument",
        _frame('"arguments":{"topic":"\\ud800"}'),
        "tool error",
        None,
        _HANG,
    ),
    Difference(
        "content of inputResponses",
        request(1, "tools/call", {"name": "plan_status", "inputResponses": {"a": {"action": "explode"}}}),
        _status(1),
        _WRONG_PARAMS,
        "these answer questions that our server never sends; it checks only their outer shape",
        through_sdk=_WRONG_PARAMS,
    ),
    Difference(
        "a lone surrogate in the name of a `_meta` field",
        _frame('"_meta":{"\\ud800":1}'),
        _status(1),
        None,
        "our server does not check `_meta` fields that it does not use",
        through_sdk=_WRONG_PARAMS,
    ),
)
