"""Mutations of a state file: changed bytes, and changed values."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Json = Any
Change = Callable[[random.Random, bytes, bytes], bytes]

_LONG = "9" * 4300
_ODD: tuple[str, ...] = (
    *("null", "true", "false", "0", "-1", "1", "2", "2.0", "1.5", "-0", "1e2", "1e300", "1e400", "-1e999", "1E+2"),
    *('""', '" "', '"2"', '"pending"', '"decided"', '"completed"', '"running"', '"paused"', '"0.5"', '"1.0"', '"abc"'),
    *("[]", "{}", "[1]", "[[]]", '{"a":1}', '["a","b"]', '[{"id":1}]', "NaN", "Infinity", "-Infinity", "nan"),
    *('"\\ud800"', '"\\udc00\\ud83d"', '"\\u0000"', '"\u2028\U0001f600é"', '"\\ud83d\\ude00"', '"a\\"\\\\b/"'),
    *("01", "1.", ".5", "+1", "'a'", "undefined", "0x10", '"\t"', '"' + "x" * 300 + '"', '"' + "y" * 5000 + '"'),
    *(_LONG, "-" + _LONG, _LONG + "9", "1." + _LONG, "12345678901234567890", "0.1000000000000000055511151231257827"),
)
_NEWER = ("1.0", "2.5", "", "x.1", "10.0")
_NAMES = ("id", "status", "schema_version", "deps", "cycles", "issues", "tasks", "plan", "x", "é", "", "\ud800")
_CODECS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7", "cp037")
_BYTES = b'{}[]",:0\\-.e \t\n\r\x00\x7f\x80\xff'


def _bits(rng: random.Random, data: bytes, other: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _byte(rng: random.Random, data: bytes, other: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.choice(_BYTES)]) * rng.choice((1, 1, 1, 3, 70)) + data[at + rng.randrange(2) :]


def _letter(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Replace a letter by another one, so that the text stays JSON: a disk error within a string may do that."""
    places = [at for at, byte in enumerate(data) if 0x61 <= byte <= 0x7A]
    if not places:
        return data
    at = rng.choice(places)
    return data[:at] + bytes([rng.choice(b"abcdefgxyz")]) + data[at + 1 :]


def _gap(rng: random.Random, data: bytes, other: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 1, 1, 2, 10, 100)) :]


def _cut(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def _cut_and_filled(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Replace the end by zeros, as a file system does that has stored the size of a file but not its last blocks."""
    at = rng.randrange(len(data))
    return data[:at] + b"\0" * (len(data) - at)


def _beheaded(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return data[rng.randrange(len(data)) :]


def _twice(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return data + rng.choice((b"", b"\n", b",")) + rng.choice((data, other))


def _mixed(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Join the beginning of one file and the end of another."""
    return data[: rng.randrange(len(data))] + other[rng.randrange(len(other)) :]


def _repeated(rng: random.Random, data: bytes, other: bytes) -> bytes:
    start = rng.randrange(len(data))
    end = start + rng.randrange(1, 200)
    return data[:end] + data[start:end] + data[end:]


def _nothing(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return rng.choice((b"", b"\n", b"  \r\n", b"\0", b"\0" * 4096, b"\xef\xbb\xbf", b"null", b"{}", b"[]", b'""', b"0"))


def _conflict(rng: random.Random, data: bytes, other: bytes) -> bytes:
    lines = data.split(b"\n")
    start, end = sorted((rng.randrange(len(lines)), rng.randrange(len(lines))))
    ours, theirs = lines[start:end], other.split(b"\n")[start:end]
    marked = [b"<<<<<<< HEAD", *ours, b"=======", *theirs, b">>>>>>> theirs"]
    return b"\n".join([*lines[:start], *marked, *lines[end:]])


def _encoded(rng: random.Random, data: bytes, other: bytes) -> bytes:
    if rng.random() < 0.1:
        return b"\xef\xbb\xbf" * 2 + data
    return data.decode("utf-8", "replace").encode(rng.choice(_CODECS), "replace")


def _laid_out(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Write the same values in another layout, as editors and other tools do."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return data.replace(b"\n", b"\r\n")
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1, 4, "\t")))
    end, mark = rng.choice(("\n", "\r\n", "\r")), rng.choice(("", "", "\ufeff"))
    return (mark + text.replace("\n", end) + rng.choice(("", end, end * 3))).encode("utf-8", "surrogatepass")


def _value(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Replace a value by another one, or add one."""
    return _placed(rng, data, rng.choice(_ODD))


def _nested(rng: random.Random, data: bytes, other: bytes) -> bytes:
    depth = rng.choice((5, 40, 58, 59, 60, 61, 62, 63, 64, 65, 122, 124, 125, 126, 127, 128, 400, 990, 5000))
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}")))
    return _placed(rng, data, opening * depth + ("0" if opening != "[" else "") + closing * depth)


def _less(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return _changed(rng, data, lambda place, name: place.pop(name))


def _renamed(rng: random.Random, data: bytes, other: bytes) -> bytes:
    def change(place: Json, name: Json) -> None:
        value = place.pop(name)
        if isinstance(place, dict):
            place[rng.choice(_NAMES)] = value
        else:
            place.insert(rng.randrange(len(place) + 1), value)

    return _changed(rng, data, change)


def _member_twice(rng: random.Random, data: bytes, other: bytes) -> bytes:
    names = []

    def change(place: Json, name: Json) -> None:
        if isinstance(place, dict):
            place["\x01"] = place[name] if rng.random() < 0.5 else "\x02"
            names.append(name)

    text = _changed(rng, data, change)
    for name in names:
        spelled = json.dumps(name) if rng.random() < 0.8 else '"' + "".join(f"\\u{ord(c):04x}" for c in name) + '"'
        text = text.replace(b'"\\u0001"', spelled.encode(), 1)
    return text.replace(b'"\\u0002"', rng.choice(_ODD).encode(), 1)


def _placed(rng: random.Random, data: bytes, text: str) -> bytes:
    """Put the JSON text `text` in place of one of the values, or add it."""

    def change(place: Json, name: Json) -> None:
        if rng.random() < 0.8:
            place[name] = "\x01"
        elif isinstance(place, dict):
            place[rng.choice(_NAMES)] = "\x01"
        else:
            place.insert(rng.randrange(len(place) + 1), "\x01")

    return _changed(rng, data, change).replace(b'"\\u0001"', text.encode("utf-8", "surrogatepass"), 1)


def _changed(rng: random.Random, data: bytes, change: Callable[[Json, Json], Any]) -> bytes:
    """Apply `change(container, name)` to a value at any depth of the file, or of one line of a JSONL file."""
    lines = data.splitlines(keepends=True)
    try:
        value = json.loads(data)
        before, after = b"", b""
    except (ValueError, RecursionError):
        at = rng.randrange(len(lines)) if lines else 0
        try:
            value = json.loads(lines[at])
        except (ValueError, IndexError, RecursionError):
            return data
        before, after = b"".join(lines[:at]), b"".join(lines[at + 1 :])
    place = value
    while isinstance(place, (dict, list)) and place:
        name = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if isinstance(place[name], (dict, list)) and place[name] and rng.random() < 0.75:
            place = place[name]
            continue
        change(place, name)
        break
    text = json.dumps(value, ensure_ascii=False, indent=None if before or after else 2) + "\n"
    return before + text.encode("utf-8", "backslashreplace") + after


MUTATIONS: tuple[tuple[int, Change], ...] = (
    (12, _bits),
    (8, _byte),
    (4, _letter),
    (5, _gap),
    (6, _cut),
    (2, _cut_and_filled),
    (1, _beheaded),
    (2, _twice),
    (3, _mixed),
    (2, _repeated),
    (1, _nothing),
    (2, _conflict),
    (4, _encoded),
    (5, _laid_out),
    (28, _value),
    (4, _nested),
    (5, _less),
    (4, _renamed),
    (6, _member_twice),
)
_WEIGHTS, _CHANGES = zip(*MUTATIONS, strict=True)


def mutated(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Return the file with one random mutation, sometimes two. `other` is a file whose parts may be mixed in."""
    for change in rng.choices(_CHANGES, _WEIGHTS, k=1 if rng.random() < 0.8 else 2):
        data = change(rng, data, other) if data else data
    return data


def with_odd_members(rng: random.Random, data: bytes, other: bytes) -> list[bytes]:
    """Return the object with each odd value in an unknown field, and with some of them in place of known values."""
    there = [_placed(rng, data, text) for text in rng.sample(_ODD, k=15)]
    twice = '1, "x": 2'
    value = json.loads(data.decode("utf-8-sig"))
    added = json.dumps({**value, "x": "\x01"})
    newer = [json.dumps({**value, "schema_version": text}).encode() for text in _NEWER]
    return (
        there + newer + [added.replace('"\\u0001"', text).encode("utf-8", "surrogatepass") for text in (*_ODD, twice)]
    )


def with_letters(rng: random.Random, data: bytes, other: bytes) -> list[bytes]:
    """Return several versions of the file, each with one changed letter."""
    return [_letter(rng, data, other) for _ in range(12)]


def with_each(rng: random.Random, data: bytes, other: bytes) -> list[bytes]:
    """Return the file once with each mutation."""
    return [change(rng, data, other) for change in _CHANGES]
