"""What a payload that cannot be read as JSON says all the same: the texts of its first level.

What lies deeper is an agent's own, and no fault in it may hide who the agent is.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

UNUSABLE = False
"""Stands for a value that is no text, or that was told twice in two ways."""
MOST_TOKENS = 300_000
"""Tokens that are looked at, runs of them below the first level counted as one."""
_NAME = 64  # bytes of a name that can be one of ours, however it is escaped
# Possessive, as in store/oddity.py. Brackets in runs, because there may be millions of them.
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
# Blanks are passed over by the expression itself, because there may be millions of them, too.
_TOKEN = re.compile(rb"\s*+(" + _STRING + rb"|[\[{]++|[\]}]++|[,:]|[^\s\[\]{},:\"]++|\")", re.DOTALL)
_PLAIN = rb"[^\"\[\]{}]++|" + _STRING
_SHALLOW = rb"%b|\[(?:%b)*+\]|\{(?:%b)*+\}" % (_PLAIN, _PLAIN, _PLAIN)
# Below the first level only how deep it is counts, so what opens and closes again is passed over in one.
_DEEPER = re.compile(rb"((?:%b)++)|[\[{]++|[\]}]++|\"" % _SHALLOW, re.DOTALL)


def outline(data: bytes, names: Collection[str]) -> tuple[dict[str, object], bool]:
    """(the members of the object in `data` that are called so, whether it was seen to its end).

    Of a member there is its text, or UNUSABLE; one that is null is left out.
    """
    found: dict[str, object] = {}
    is_whole = False
    for name, value in _members(data):
        is_whole = not name and value is None
        if is_whole or name not in names or value is None:
            continue
        found[name] = value if found.get(name, value) == value else UNUSABLE
    return found, is_whole


def _members(data: bytes) -> Iterator[tuple[str, object]]:
    """Name and value of each member of the first level, then "" where the object ends: with None where all ends."""
    depth, at, name, is_value, seen = 0, 0, "", False, 0
    while found := (_TOKEN if depth <= 1 else _DEEPER).search(data, at):
        at = found.end()
        seen += 1
        if depth > 1 and found[1] is not None and seen < MOST_TOKENS:
            continue
        token = found[1] if depth <= 1 else found[0]
        first = token[:1]
        # Of a text without an end what stands in it is no member; what comes behind too many tokens may say anything.
        if token == b'"' or seen >= MOST_TOKENS:
            return
        if first in b"{[":
            if depth == 0 and (first != b"{" or data[: found.start(1)].strip(b" \t\r\n\xef\xbb\xbf")):
                return
            if depth == 1 and is_value:
                yield name, UNUSABLE
            depth += len(token)
        elif first in b"}]":
            depth -= len(token)
            if depth <= 0:
                # What stands behind the object may be another one, of an agent.
                yield "", None if depth == 0 and not data[at:].strip() else UNUSABLE
                return
        elif first == b",":
            name, is_value = "", False
        elif first == b":":
            is_value = bool(name)
        elif is_value:
            yield name, None if token == b"null" else _text(token)
        else:
            text = _text(token) if len(token) <= _NAME * 6 else UNUSABLE
            name = text if isinstance(text, str) else ""


def _text(token: bytes) -> object:
    import json

    try:
        value = json.loads(token.decode("utf-8", "replace"), strict=False)
    except ValueError:
        return UNUSABLE
    return value if isinstance(value, str) else UNUSABLE
