"""Recover the id of a request from a refused line (malformed or too long), so that the error response has this id.

A wrong id would make another request fail, so in doubt the result is None. An id in the beginning of a line counts only
if all text before it is the fields of one object, if the readable rest has no other field `id`, and if the line does
not end within the id. `id_in_tail` also finds an id at the end of a line that is too long.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.server.faults import Id

TAIL = 4096  # number of last bytes of an over-long line that are kept for `id_in_tail`

# Possessive quantifiers prevent backtracking in a malformed line of several megabytes.
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_OPEN = re.compile(rb"[ \t\r\n]*\{")
_KEY = re.compile(rb"[ \t\r\n]*(" + _STRING + rb")[ \t\r\n]*:[ \t\r\n]*", re.DOTALL)
_VALUE = re.compile(_STRING + rb'|[^ \t\r\n,:"{}\[\]]++', re.DOTALL)
_NEXT = re.compile(rb"[ \t\r\n]*([,}])")
_NESTED = re.compile(_STRING + rb'|["{}\[\]]', re.DOTALL)
_MARK = re.compile(_STRING + rb'|["{}\[\]\\]', re.DOTALL)
_CLOSED_BY = {b"{": b"}", b"[": b"]"}
_DEEPEST = 1000
# As many digits as an id in a readable line can have.
_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]{0,4299})\Z")
_LAST_ID = re.compile(
    rb',[ \t\r\n]*"id"[ \t\r\n]*:[ \t\r\n]*("[^"\\]*+"|-?[0-9]++)'
    rb'(?:[ \t\r\n]*,[ \t\r\n]*"(?:jsonrpc|method)"[ \t\r\n]*:[ \t\r\n]*"[^"\\]*+")*'
    rb"[ \t\r\n]*\}[ \t\r\n]*\Z"
)


class Head:
    """The result of reading the beginning of a line. `cut`: no fault was found up to the end, where the outermost
    object is still open. (The values within its fields are not checked.)
    """

    __slots__ = ("cut", "id")

    def __init__(self, id: Id, *, cut: bool) -> None:
        self.id = id
        self.cut = cut


def id_in_line(line: bytes) -> Id:
    """Return the id in a refused line; None if the id is missing or uncertain."""
    return id_in_head(line).id


def id_in_head(line: bytes) -> Head:
    """Read the fields of the outermost object as far as they are JSON, and return a Head with the id or None."""
    opened = _OPEN.match(line)
    if opened is None:
        return Head(None, cut=False)
    position = opened.end()
    found: list[bytes] = []
    while True:
        key = _KEY.match(line, position)
        if key is None:
            return Head(_only(found), cut=_is_cut(line, position))
        if b"\\" in key[1]:  # an escape could spell `id` another way
            return Head(None, cut=False)
        end = _end_of_value(line, key.end())
        if end is None:
            return Head(_only(found), cut=_is_cut(line, key.end()))
        follows = _NEXT.match(line, end)
        if follows is None:
            return Head(_only(found), cut=not line[end:].strip())
        if key[1] == b'"id"':
            found.append(line[key.end() : end])
        if follows[1] == b"}":
            return Head(_only(found), cut=False)
        position = follows.end()


def id_in_tail(head: Head, tail: bytes, *, whole: bool) -> Id:
    """Return the id of a line that is too long, of which only the beginning and the end were stored; None if the id is
    missing or uncertain. `whole` is Nesting.is_whole of the line.
    """
    match = _LAST_ID.search(tail) if head.cut else None
    if match is None:
        return head.id
    last = _value(match[1]) if whole else None
    return last if head.id is None else (head.id if head.id == last else None)


class Nesting:
    """Follows strings, arrays and objects through the parts of a line, in bounded memory."""

    def __init__(self) -> None:
        self._open: list[bytes] = []  # the closing marks of open containers
        self._string = b""  # if the last part ended in a string: its quote, and a backslash that begins an escape
        self._begun = False
        self._broken = False

    def add(self, part: bytes) -> None:
        if self._broken:
            return
        part = self._string + part
        self._string = b""
        for token in _MARK.finditer(part):
            mark = token[0]
            if mark == b'"':
                escapes = len(part) - len(part.rstrip(b"\\"))
                self._string = b'"' + b"\\" * (escapes % 2)
                return
            if len(mark) == 1 and not self._take(mark):
                self._broken = True
                return

    def is_whole(self) -> bool:
        """Return whether the brackets outside strings so far are those of one object or array, all closed in order."""
        return self._begun and not (self._broken or self._open or self._string)

    def _take(self, mark: bytes) -> bool:
        if mark in _CLOSED_BY:
            if (self._begun and not self._open) or len(self._open) == _DEEPEST:
                return False
            self._begun = True
            self._open.append(_CLOSED_BY[mark])
            return True
        return bool(self._open) and self._open.pop() == mark


def _is_cut(line: bytes, position: int) -> bool:
    """Return whether the line has ended here, or probably ends within the string, array or object that begins here."""
    return line[position : position + 64].strip()[:1] in (b"", b'"', b"{", b"[")


def _end_of_value(line: bytes, start: int) -> int | None:
    """Return the position after the value that begins here; None if no value begins here, or if the line ends inside a
    string, array or object.
    """
    if line[start : start + 1] not in (b"{", b"["):
        value = _VALUE.match(line, start)
        return value.end() if value else None
    depth = 0
    for token in _NESTED.finditer(line, start):
        mark = token[0]
        if mark == b'"':  # a string that never ends
            return None
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _only(found: list[bytes]) -> Id:
    return _value(found[0]) if len(found) == 1 else None


def _value(text: bytes) -> Id:
    """Return a string or integer from its JSON text; None for any other text, and for a value that is no valid id."""
    try:
        if _INTEGER.match(text):
            return int(text)  # raises ValueError if the interpreter's digit limit is lower
        # Only a string: an array could be nested too deeply to be read.
        if text[:1] == b'"':
            value: str = json.loads(text.decode())
            value.encode()  # a lone surrogate cannot be sent back
            return value
    except ValueError:
        pass
    return None
