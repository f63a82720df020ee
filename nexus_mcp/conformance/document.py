"""JSON text to value and back, as fixtures and the files of a target are read and written. Strict: NaN is no JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

# Possessive: remembering each character of a long string, in order to try again, takes gigabytes.
_WORDS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|(NaN|-?Infinity)', re.DOTALL)


class Members(dict[str, Any]):
    """An object as it was read; `twice` are the names that stood in it more than once."""

    twice: tuple[str, ...] = ()


class _NoWord(ValueError):
    """NaN or Infinity, which the parser takes for numbers."""


class Unparsable(ValueError):
    """A text that is no JSON; the message begins with the line and the column, both counted from 1."""


def parse(text: str) -> Any:
    """The value of a JSON text; objects are Members. Raises Unparsable."""
    try:
        return json.loads(text, object_pairs_hook=_members, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise Unparsable(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise Unparsable("line 1, column 1: nested too deeply") from error
    except _NoWord as error:
        line, column = _place_of_word(text)
        raise Unparsable(f"line {line}, column {column}: {error}") from error
    except ValueError as error:  # a number of more digits than Python takes
        raise Unparsable(f"line 1, column 1: {error}") from error


def parse_lines(text: str) -> list[Any]:
    """The values of a text that holds one JSON text in each line; blank lines are skipped. Raises Unparsable."""
    values = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                values.append(parse(line))
            except Unparsable as error:
                raise Unparsable(str(error).replace("line 1,", f"line {number},", 1)) from error
    return values


def parse_file(path: str, text: str) -> Any:
    """What the file's text holds: for a .jsonl file the array of its lines.

    Raises Unparsable, also when a member stands in an object twice: which of the two counts is left to the reader.
    """
    value = parse_lines(text) if path.endswith(".jsonl") else parse(text)
    if (name := _first_twice(value)) is not None:
        raise Unparsable(f"the same key twice in an object: {json.dumps(name, ensure_ascii=False)}")
    return value


def written(path: str, value: Any) -> bytes:
    """The bytes of a file that holds `value`.

    `{}` is `{}`; else indented JSON, or for a .jsonl file a compact line for each item of an array, one for anything
    else. Raises UnicodeEncodeError for a lone surrogate.
    """
    if value == {} and isinstance(value, dict):
        return b"{}"
    if not path.endswith(".jsonl"):
        return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    lines = value if isinstance(value, list) else [value]
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines).encode()


def _members(pairs: list[tuple[str, Any]]) -> Members:
    members = Members(pairs)
    if len(members) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        members.twice = tuple(name for name, count in counts.items() if count > 1)
    return members


def _first_twice(value: Any) -> str | None:
    left = [value]
    while left:
        node = left.pop()
        if isinstance(node, Members) and node.twice:
            return node.twice[0]
        left.extend(
            reversed(list(node.values()))
            if isinstance(node, dict)
            else reversed(node)
            if isinstance(node, list)
            else ()
        )
    return None


def _refuse(word: str) -> Any:
    raise _NoWord(f"{word} is no JSON")


def _place_of_word(text: str) -> tuple[int, int]:
    """Where the first NaN or Infinity stands, outside of strings: there is one, and every string before it ends."""
    start = next(match.start() for match in _WORDS.finditer(text) if match[1])
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
