"""Lines that cost as much memory or time as a line can: each kind is sent to a server of its own."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from tests.reliability.suites.frames.corpus import handshake, initialized
from tests.reliability.suites.frames.reference_reader import LONGEST

_ROOM = LONGEST - 400


def _call(id: int, tool: str, arguments: bytes) -> bytes:
    head = f'{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":'
    return head.encode() + arguments + b"}}"


def _filled(item: bytes, last: bytes, room: int = _ROOM) -> bytes:
    return b"[" + item * (room // len(item)) + last + b"]"


def _within(value: bytes, times: int = 1) -> list[bytes]:
    return [_call(1000 + number, "task_list", b'{"x":' + value + b"}") for number in range(times)]


def _artifact(number: int, content: bytes) -> bytes:
    return _call(2000 + number, "artifact_write", b'{"filename":"large.md","content":"' + content + b'"}')


def _sized(size: int) -> bytes:
    bare = len(_artifact(size, b""))
    return _artifact(size, b"x" * (size - bare))


def _names(count: int) -> bytes:
    return b"{" + b",".join(b'"%x":0' % number for number in range(count)) + b"}"


# Each of these is parsed, refused or skipped; none may leave the server with more than its bound.
KINDS: dict[str, Callable[[], list[bytes]]] = {
    "lists": lambda: _within(_filled(b"[],", b"[]"), 2),
    "objects": lambda: _within(_filled(b'{"a":1},', b"{}")),
    "numbers": lambda: _within(_filled(b"1.5,", b"0")),
    "texts": lambda: _within(_filled(b'"ab",', b'""')),
    "names": lambda: [*_within(_names(400_000)), _call(1, "task_list", _names(400_000))],
    "a batch": lambda: [_filled(b"{},", b"{}")],
    "a member twice": lambda: [line[:-1] + b',"id":1}' for line in _within(_filled(b"[],", b"[]"))],
    "a cut": lambda: [line[:-3] for line in _within(_filled(b"[],", b"[]"))],
    "a tail": lambda: [line + tail for tail in (b" \t", b"\r", b"x") for line in _within(_filled(b"{},", b"{}"))],
    "deep": lambda: [b"[" * _ROOM, b'{"id":' + b"[" * _ROOM, b'{"a":' * (_ROOM // 5)],
    "digits": lambda: [_call(1, "task_update", b'{"id":' + b"9" * _ROOM + b"}"), b"9" * _ROOM],
    "escapes": lambda: [b'"' + b"\\" * _ROOM, b'{"id":1,"x":"' + b"\\u0041" * (_ROOM // 6), b'"' * _ROOM],
    "space": lambda: [b" " * LONGEST, b" " * (4 * LONGEST)],
    "not UTF-8": lambda: [_artifact(1, b"\xff" * _ROOM), b"\xff" * LONGEST],
    "a byte too long": lambda: [_sized(LONGEST), _sized(LONGEST + 1)],
    "too long": lambda: [_artifact(n, b"x" * size) for n, size in enumerate((LONGEST, 5 * LONGEST, 16 * LONGEST))],
    "long ones at once": lambda: [_artifact(number, "\U0001f600".encode() + b"x" * _ROOM) for number in range(70)],
}


def opening() -> list[bytes]:
    """Return the lines of a handshake."""
    greeting = handshake(0, random.Random(0))
    return [json.dumps(message).encode() for message in (greeting, initialized())]
