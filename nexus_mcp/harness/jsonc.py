"""Read JSON with comments and trailing commas, and find the positions of the values in its text.

This is a scanner of our own: it finds positions only on the way to one value and skips the rest, so that a file of 5 MB
takes a fraction of a second (docs/decisions/0074). The standard library judges whether the text is valid.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

BOM = "\ufeff"
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_COMMENT = r"//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/"
_GAP = re.compile(rf"(?:[\s\ufeff]|{_COMMENT})*+")
_ENDING = rf"(?:\s|{_COMMENT})*+[}}\]]"
# Group 1 matches text that stays; outside of it are comments and trailing commas.
_LENIENT = re.compile(rf"((?:[^\"/,]++|{_STRING}|,(?!{_ENDING}))++)|{_COMMENT}|,(?={_ENDING})", re.DOTALL)
_TOKEN = re.compile(rf"{_STRING}|{_COMMENT}|[{{}}\[\]]", re.DOTALL)
_TEXT = re.compile(_STRING, re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}/]++")


class Unreadable(ValueError):
    """The text of a JSON or TOML file is not valid, or cannot be edited safely. The text of the error says why and, if
    known, where.
    """


class Item:
    """A member of an object or an item of an array: positions of its start, its value, its end, and the comma after it.

    `key` is "" for an item of an array, `comma` -1 without a comma.
    """

    __slots__ = ("comma", "end", "key", "start", "value")

    def __init__(self, key: str, start: int, value: int, end: int, comma: int) -> None:
        self.key = key
        self.start = start
        self.value = value
        self.end = end
        self.comma = comma


class Container:
    """An object or an array: the positions of its brackets, and its items."""

    __slots__ = ("end", "items", "start")

    def __init__(self, start: int, end: int, items: list[Item]) -> None:
        self.start = start
        self.end = end
        self.items = items

    def item(self, key: str) -> Item | None:
        """Return the member with a key; None without one."""
        return next((one for one in self.items if one.key == key), None)


def parse(text: str) -> Any:
    """Return the value of the text; {} when it has nothing but white space and comments.

    Raise Unreadable for a text that is not JSON with comments and trailing commas, for a key that occurs twice in an
    object, and for a value that Python cannot read.
    """
    if _GAP.match(text).end() == len(text):  # type: ignore[union-attr]
        return {}
    plain = text.replace(BOM, " ", 1) if text.startswith(BOM) else text
    try:
        try:
            return _loads(plain)
        except json.JSONDecodeError:
            return _loads(_LENIENT.sub(_blank, plain))
    except json.JSONDecodeError as error:
        raise Unreadable(f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise Unreadable("is nested too deeply to be read") from error
    except Unreadable:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise Unreadable(f"has a value that cannot be read: {error}") from error


def start_of(text: str, at: int = 0) -> int:
    """Return the position of the first token at or after `at`, or the length of the text if there is none."""
    return _after_gap(text, at)


def container_at(text: str, start: int) -> Container:
    """Return the object or array whose opening bracket is at `start`. The text has to be valid."""
    is_object = text[start] == "{"
    items: list[Item] = []
    at = _after_gap(text, start + 1)
    while text[at] not in "}]":
        first, key = at, ""
        if is_object:
            end = _TEXT.match(text, at).end()  # type: ignore[union-attr]
            key = json.loads(text[at:end], strict=False)
            at = _after_gap(text, _after_gap(text, end) + 1)
        end = end_of(text, at)
        after = _after_gap(text, end)
        comma = after if text[after] == "," else -1
        items.append(Item(key, first, at, end, comma))
        at = _after_gap(text, after + 1) if comma >= 0 else after
    return Container(start, at, items)


def end_of(text: str, start: int) -> int:
    """Return the position after the value that begins at `start`."""
    first = text[start]
    if first == '"':
        return _TEXT.match(text, start).end()  # type: ignore[union-attr]
    if first not in "{[":
        return _SCALAR.match(text, start).end()  # type: ignore[union-attr]
    depth = 0
    for token in _TOKEN.finditer(text, start):
        char = text[token.start()]
        if char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    raise Unreadable("ends within a value")


def is_blank(text: str) -> bool:
    """Return whether the text has only white space."""
    return not text or text.isspace()


def _after_gap(text: str, at: int) -> int:
    return _GAP.match(text, at).end()  # type: ignore[union-attr]


def _loads(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_object, parse_constant=_constant, strict=False)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise Unreadable(f"has the key {json.dumps(repeated)[:80]} twice in one object")
    return found


def _constant(word: str) -> NoReturn:
    raise Unreadable(f"is not JSON: it contains {word}")


def _blank(found: re.Match[str]) -> str:
    """Return group 1, or spaces for a comment or a trailing comma, so that positions in messages stay right."""
    if found[1] is not None:
        return found[1]
    return re.sub(r"[^\r\n]", " ", found[0])
