"""Read and write the JSON of fixtures and of a target's files, and estimate its memory before it is parsed.

The parser refuses NaN and Infinity, and records keys that appear more than once in an object. A short text can hold
very many values, so `count_values` estimates them without parsing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import islice
from typing import Any

from nexus_mcp.wording import line_and_column

# Possessive quantifiers: a text without a closing quote must not take longer than a valid text.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[,:\[{]', re.DOTALL)
_QUOTE = 34
_WIDE = re.compile(rb"[\xf0-\xf7]|\\u[dD][89abAB]")
_SMALL = 1 << 16
_STRUCTURE = (b",", b":", b"[", b"{")

# Possessive quantifiers: backtracking positions for each character of a long string would take gigabytes.
_WORDS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|(NaN|-?Infinity)', re.DOTALL)


def count_values(text: bytes, enough: int) -> int:
    """Return an upper bound of the number of JSON values in the text. Counting stops above `enough`."""
    most = sum(map(text.count, _STRUCTURE))
    if most < enough:
        return most + 1
    tokens = (match.start() for match in _TOKEN.finditer(text))
    return 1 + sum(1 for _ in islice((place for place in tokens if text[place] != _QUOTE), enough + 1))


def string_size(text: bytes) -> int:
    """Return about how many bytes the text takes as a Python string, at most four times its own bytes."""
    if len(text) < _SMALL:
        return len(text)
    if _WIDE.search(text):
        return 4 * len(text)
    return len(text) if text.isascii() else 2 * len(text)


class Members(dict[str, Any]):
    """An object of a JSON text. `duplicates` has the keys that appear more than once."""

    duplicates: tuple[str, ...] = ()


class Unparsable(ValueError):
    """The text is not JSON, or an object in it has a duplicate key (`parse_file`).

    If it is not JSON, the message begins with the line and the column, both counted from 1.
    """


def parse(text: str) -> Any:
    """Return the value of a JSON text; objects are Members. Raise Unparsable."""
    try:
        return json.loads(text, object_pairs_hook=_members, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise Unparsable(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise Unparsable("line 1, column 1: nested too deeply") from error
    except _NoWord as error:
        line, column = _place_of_word(text)
        raise Unparsable(f"line {line}, column {column}: {error}") from error
    except ValueError as error:  # a number with more digits than Python accepts
        raise Unparsable(f"line 1, column 1: {error}") from error


def parse_lines(text: str) -> list[Any]:
    """Return the values of a text with one JSON text in each line; blank lines are skipped. Raise Unparsable."""
    values = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                values.append(parse(line))
            except Unparsable as error:
                raise Unparsable(str(error).replace("line 1,", f"line {number},", 1)) from error
    return values


def parse_file(path: str, text: str) -> Any:
    """Return the value of a file's text; for a .jsonl file an array of its lines' values.

    Raise Unparsable, also for a key that appears twice in an object, because parsers differ in the value that they use.
    """
    value = parse_lines(text) if path.endswith(".jsonl") else parse(text)
    if (name := _first_duplicate(value)) is not None:
        raise Unparsable(f"duplicate key in an object: {json.dumps(name, ensure_ascii=False)}")
    return value


def encode_file(path: str, value: Any) -> bytes:
    """Return the bytes of a file with this value.

    `{}` is written as `{}`, any other value as indented JSON. A .jsonl file has a compact line for each item of an
    array, or one line for any other value. Raise UnicodeEncodeError for a lone surrogate.
    """
    if value == {} and isinstance(value, dict):
        return b"{}"
    if not path.endswith(".jsonl"):
        return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    lines = value if isinstance(value, list) else [value]
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines).encode()


class _NoWord(ValueError):
    """NaN or Infinity, which Python's json module accepts as numbers."""


def _members(pairs: list[tuple[str, Any]]) -> Members:
    members = Members(pairs)
    if len(members) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        members.duplicates = tuple(name for name, count in counts.items() if count > 1)
    return members


def _first_duplicate(value: Any) -> str | None:
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, Members) and node.duplicates:
            return node.duplicates[0]
        pending.extend(
            reversed(list(node.values()))
            if isinstance(node, dict)
            else reversed(node)
            if isinstance(node, list)
            else ()
        )
    return None


def _refuse(word: str) -> Any:
    raise _NoWord(f"{word} is not JSON")


def _place_of_word(text: str) -> tuple[int, int]:
    """Return line and column of the first NaN or Infinity outside of strings."""
    start = next(match.start() for match in _WORDS.finditer(text) if match[1])
    return line_and_column(text, start)
