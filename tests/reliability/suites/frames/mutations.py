"""The table MUTATIONS: changes of a frame before it is sent, each with its frequency."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Json = Any
Change = Callable[[random.Random, Json, bytes], bytes]

DIGITS = "9" * 4300
_ODD: tuple[str, ...] = (
    *("null", "true", "0", "-1", "1.0", "1.5e300", "-0", "1e400", "12345678901234567890", '""', '"2"', '"\\u0000"'),
    *("[]", "{}", "[1]", '{"a":1}', '"\\ud800"', '"\\udc00x"', '"\u2028\U0001f600"', '"7"', "7", "NaN", "-Infinity"),
    *("01", "1.", "'x'", "undefined", '"\\x"', '"\\u12"', '"' + "x" * 3000 + '"', DIGITS, DIGITS + "9", "-" + DIGITS),
)
_STRUCTURE = b'{}[]",:0\\-.e \t\x00\x7f\x80\xff\r'
_STRAY = (b" ", b"\r", b"\t", b"\x00", b"\xef\xbb\xbf", b"\x1e", b",", b"}", b"Content-Length: 20\r", b"//")


def text(message: Json) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _whole(rng: random.Random, message: Json, other: bytes) -> bytes:
    return text(message)


def _ascii(rng: random.Random, message: Json, other: bytes) -> bytes:
    return json.dumps(message, indent=None if rng.random() < 0.5 else 1).replace("\n", "\r").encode()


def _bit(rng: random.Random, message: Json, other: bytes) -> bytes:
    line = bytearray(text(message))
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        line[rng.randrange(len(line))] ^= 1 << rng.randrange(8)
    return bytes(line)


def _byte(rng: random.Random, message: Json, other: bytes) -> bytes:
    line = bytearray(text(message))
    at = rng.randrange(len(line))
    line[at : at + rng.randrange(2)] = bytes([rng.choice(_STRUCTURE)]) * rng.choice((1, 1, 1, 2, 70))
    return bytes(line)


def _without(rng: random.Random, message: Json, other: bytes) -> bytes:
    line = text(message)
    at = rng.randrange(len(line))
    return line[:at] + line[at + rng.choice((1, 1, 2, 5, 20)) :]


def _cut(rng: random.Random, message: Json, other: bytes) -> bytes:
    line = text(message)
    return line[: rng.randrange(len(line))]


def _spliced(rng: random.Random, message: Json, other: bytes) -> bytes:
    line = text(message)
    return line[: rng.randrange(len(line))] + other[rng.randrange(len(other)) :]


def _repeated_part(rng: random.Random, message: Json, other: bytes) -> bytes:
    line = text(message)
    start = rng.randrange(len(line))
    end = start + rng.randrange(1, 40)
    return line[:end] * 2 + line[end:] if start == 0 else line[:end] + line[start:end] + line[end:]


def _odd_value(rng: random.Random, message: Json, other: bytes) -> bytes:
    """Replace a value at any depth by another one."""
    return _with(rng, message, rng.choice(_ODD))


def _odd_id(rng: random.Random, message: Json, other: bytes) -> bytes:
    return text({**message, "id": "\x01"}).replace(b'"\\u0001"', rng.choice(_ODD).encode(), 1)


def _nested(rng: random.Random, message: Json, other: bytes) -> bytes:
    depth = rng.choice((30, 60, 61, 62, 63, 64, 65, 200, 1000, 5000))
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}")))
    return _with(rng, message, opening * depth + ("0" if opening != "[" else "") + closing * depth)


def _lacking(rng: random.Random, message: Json, other: bytes) -> bytes:
    less = json.loads(json.dumps(message))
    place = less["params"] if isinstance(less.get("params"), dict) and rng.random() < 0.3 else less
    if place:
        del place[rng.choice(list(place))]
    return text(less)


def _repeated_member(rng: random.Random, message: Json, other: bytes) -> bytes:
    line = text(message)
    name = rng.choice(["id", "method", "params", "jsonrpc", "x"])
    value = json.dumps(message.get(name, 5)) if rng.random() < 0.5 else rng.choice(_ODD)
    member = f'"{name}":{value}'.encode()
    if rng.random() < 0.2:
        member = member.replace(b'"i', b'"\\u0069', 1)
    return line[:-1] + b"," + member + b"}" if rng.random() < 0.5 else b"{" + member + b"," + line[1:]


def _as_response(rng: random.Random, message: Json, other: bytes) -> bytes:
    made = {name: value for name, value in message.items() if name != "method" or rng.random() < 0.2}
    return text({**made, rng.choice(("result", "error")): {}})


def _batch(rng: random.Random, message: Json, other: bytes) -> bytes:
    return b"[" + b",".join([text(message)] * rng.choice((0, 1, 1, 2, 30))) + b"]"


def _encoded(rng: random.Random, message: Json, other: bytes) -> bytes:
    line = json.dumps(message, ensure_ascii=False)
    codec = rng.choice(("utf-16", "utf-16-be", "utf-32-le", "latin-1", "utf-8-sig", "cp037", "utf-7"))
    return line.encode(codec, "replace")


def _garbage(rng: random.Random, message: Json, other: bytes) -> bytes:
    alphabet = rng.choice((bytes(range(256)), _STRUCTURE, b" \t\r", b"\x00", b'{"id":1,}'))
    return bytes(rng.choices(alphabet, k=rng.choice((0, 1, 2, 10, 100, 2000))))


def _around(rng: random.Random, message: Json, other: bytes) -> bytes:
    stray = rng.choice(_STRAY)
    return stray + text(message) if rng.random() < 0.5 else text(message) + stray


def _with(rng: random.Random, message: Json, value: str) -> bytes:
    """Return the message with the JSON text `value` in place of one of its values, or as a new field or item."""
    changed = json.loads(json.dumps(message))
    place: Json = changed
    while True:
        names: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
        name = rng.choice(names) if names else None
        inner = None if name is None else place[name]
        if isinstance(inner, (dict, list)) and rng.random() < 0.7:
            place = inner
            continue
        if name is None or rng.random() < 0.1:
            if isinstance(place, dict):
                place["unknown"] = "\x01"
            else:
                place.append("\x01")
        else:
            place[name] = "\x01"
        return text(changed).replace(b'"\\u0001"', value.encode(), 1)


MUTATIONS: tuple[tuple[int, Change], ...] = (
    (24, _whole),
    (2, _ascii),
    (8, _bit),
    (8, _byte),
    (4, _without),
    (6, _cut),
    (4, _spliced),
    (2, _repeated_part),
    (14, _odd_value),
    (5, _odd_id),
    (2, _nested),
    (4, _lacking),
    (5, _repeated_member),
    (2, _as_response),
    (2, _batch),
    (2, _encoded),
    (3, _garbage),
    (3, _around),
)
_WEIGHTS, _CHANGES = zip(*MUTATIONS, strict=True)


def mutated(rng: random.Random, message: Json, other: bytes) -> bytes:
    """Return the message as a line, perhaps with mutations. `other` is a line whose parts may be mixed in."""
    (change,) = rng.choices(_CHANGES, _WEIGHTS)
    line: bytes = change(rng, message, other)
    return line.replace(b"\n", b" ")
