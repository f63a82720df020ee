"""Read a single line by docs/wire.md, without any code of the server's own reader.

Another parser than the server's decides whether a line is JSON. If it cannot decide, several answers to the line are
allowed, but never one with the id of another request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

Json = Any

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = "-32700", "-32600", "-32602"
LONGEST = 4 * 1024 * 1024
DEEPEST = 64
_TO_BE_WALKED = 100_000  # bytes
_BEGINNING = 100
NULL = "null"
# Errors of that parser for texts that may be JSON nevertheless: then Python's parser decides.
_OPEN_QUESTIONS = ("surrogate", "hex escape", "number out of range", "recursion limit")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+|"', re.DOTALL)


@dataclass(frozen=True)
class Fault:
    """A line that is answered with an error. It has one of `codes` and one of `ids`, which are JSON texts."""

    codes: frozenset[str]
    ids: frozenset[str]


@dataclass(frozen=True)
class Message:
    """A request, with the JSON text of its `id`, or a notification (`id` None). `params` is an object or None."""

    id: str | None
    method: str
    params: dict[str, Json] | None


def read(line: bytes) -> Fault | Message | None:
    """Return the meaning of a line; None for one that gets no response and has no effect."""
    if len(line) > LONGEST:  # whatever its content is
        return Fault(frozenset({INVALID_REQUEST}), _ids_of_long(line))
    if not line.strip(b" \t\r\n"):
        return None
    value, fault = _parsed(line)
    if fault is not None:
        return fault
    if not isinstance(value, dict):
        return _fault(INVALID_REQUEST, NULL)
    return _message(value)


def _message(value: dict[str, Json]) -> Fault | Message | None:
    if "method" not in value and ("result" in value or "error" in value):
        return None
    id = id_text(value.get("id"))
    if value.get("jsonrpc") != "2.0" or not isinstance(value.get("method"), str):
        return _fault(INVALID_REQUEST, id)
    params = value.get("params")
    fits = params is None or isinstance(params, dict)
    if "id" not in value:
        return Message(None, value["method"], params) if fits else None
    if id == NULL:
        return _fault(INVALID_REQUEST, NULL)
    return Message(id, value["method"], params) if fits else _fault(INVALID_PARAMS, id)


def id_text(id: Json) -> str:
    """Return an id as JSON text; NULL for any value but an integer or a text that can be sent."""
    if isinstance(id, str):
        return NULL if re.search("[\ud800-\udfff]", id) else json.dumps(id)
    return json.dumps(id) if isinstance(id, int) and not isinstance(id, bool) else NULL


def _fault(code: str, id: str) -> Fault:
    return Fault(frozenset({code}), frozenset({id}))


def _parsed(line: bytes) -> tuple[Json, Fault | None]:
    """Return (the value of a line, None), or (None, the fault) for a line whose text is refused."""
    try:
        from_json(line, allow_inf_nan=False)
    except ValueError as error:
        if not any(question in str(error) for question in _OPEN_QUESTIONS):
            return None, Fault(frozenset({PARSE_ERROR}), _ids(line, is_cut="EOF while parsing" in str(error)))
    repeated = False

    def members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        nonlocal repeated
        repeated = repeated or len({name for name, _ in pairs}) < len(pairs)
        return dict(pairs)

    try:
        value = json.loads(line.decode(), object_pairs_hook=members, parse_constant=_no_constant, parse_int=_integer)
    except RecursionError:
        # The line is far too deep, and perhaps no JSON behind that: a reader may stop anywhere.
        return None, Fault(frozenset({INVALID_REQUEST, PARSE_ERROR}), _ids(line))
    except ValueError:
        return None, Fault(frozenset({PARSE_ERROR}), _ids(line))
    if repeated or (line.count(b"{") + line.count(b"[") > DEEPEST and _depth(value) > DEEPEST):
        return None, Fault(frozenset({INVALID_REQUEST}), _ids(line, is_json=True))
    return value, None


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits.lstrip("-")) <= 4300 else float("inf")


def _no_constant(name: str) -> Json:
    raise ValueError(name)


def _depth(value: Json) -> int:
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def _ids(line: bytes, *, is_cut: bool = False, is_json: bool = False) -> frozenset[str]:
    """Return the ids that an answer to a refused line may have.

    If the line is valid JSON (`is_json`), truncated JSON (`is_cut`) or JSON except for invalid UTF-8, the answer must
    have the only id, and null if there are two. For other lines it may have any id in the right place, or null.
    """
    if len(line) > _TO_BE_WALKED:
        return _ids_of_long(line)
    found = list(_visible(line))
    texts = {id_text(id) for doubtful, id in found if not doubtful}
    if is_cut or is_json or _is_json_but_for_utf8(line):
        if len(found) > 1 and not any(doubtful for doubtful, _ in found):
            return frozenset({NULL})
        if len(found) == 1 and texts:
            return frozenset(texts)
    return frozenset({NULL, *texts})


def _ids_of_long(line: bytes) -> frozenset[str]:
    """Return the same as `_ids` for a line that the server stores in part: it must find only an id at the beginning."""
    found = list(_visible(_without_its_middle(line)))
    texts = {id_text(id) for doubtful, id in found if not doubtful}
    short = len(found) == 1 and all(len(text) < _BEGINNING for text in texts)
    if short and texts and line.count(b'"id"') == 1 and b'"id"' in line[:_BEGINNING]:
        try:
            from_json(line, allow_inf_nan=False)
        except ValueError:
            pass
        else:
            return frozenset(texts)
    return frozenset({NULL, *texts})


def _without_its_middle(line: bytes) -> bytes:
    """Return the ends of a line that may hold its id; the middle might hold another one."""
    if len(line) <= _TO_BE_WALKED:
        return line
    return line[: _TO_BE_WALKED // 2] + b" \n " + line[-_TO_BE_WALKED // 2 :]


def _is_json_but_for_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        try:
            from_json(line.decode("latin-1").encode(), allow_inf_nan=False)
        except ValueError:
            return False
        return True
    return False


def _visible(line: bytes) -> Iterator[tuple[bool, Json]]:
    """Yield (False, value) for each complete field `id` of the outermost object; the value of a container is None.

    Yield (True, None) for an `id` without an end, and for each name with an escape, which could mean `id`.
    """
    depth, name, before, value = 0, b"", b"", b""
    for match in _TOKEN.finditer(line):
        token = match[0]
        if token == b'"':  # an unterminated string
            break
        if depth == 1 and token in (b",", b"}"):
            if name == b'"id"' and value:
                yield False, _scalar(value)
            name = b""
        if token in (b"{", b"["):
            depth += 1
            value = token
        elif token in (b"}", b"]"):
            depth -= 1
        elif token == b":" and depth == 1:
            name, value = before, b""
            if b"\\" in name:
                yield True, None
        elif depth == 1 and token != b",":
            value = token
        before = token
    if name == b'"id"':
        yield True, None


def _scalar(token: bytes) -> Json:
    try:
        return json.loads(token.decode(), parse_int=_integer)
    except ValueError:
        return None
