"""The text of a cycle that a search looks at: its JSON without insignificant white space, numbers as the file has them.

The plain definition is `plain`; `from_value` and `quick` come to the same where they say so, and are faster.
"""

from __future__ import annotations

import json

from nexus_mcp.store.codec import compact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ASCII = bytes(range(128))
_SIGMA = "Σ"


def plain(text: str) -> str:
    """The cycle whose JSON is `text`: strings as JSON escapes them, non-ASCII plain, numbers as they are spelled."""
    import re

    return _escaped(re.sub(r'"(?:[^"\\]++|\\.)*+"|[ \t\r\n]+', _token, text), text)


def from_value(value: object, text: str, *, floats: bool) -> str:
    """As `plain`, by way of the parsed value where that comes to the same; `floats`: it has numbers that are no ints.

    A float or a minus zero can be spelled in many ways. For all else this is ten times faster.
    """
    return plain(text) if floats or _has_minus_zero(text) else _escaped(compact(value), text)


def lowered(text: str) -> bytes:
    """`text` in lower case, as a search compares it, in UTF-8."""
    return text.lower().encode()


def lowered_bytes(data: bytes) -> bytes:
    """As `lowered`, of text in UTF-8: by its bytes, because few characters beyond ASCII have another lower case."""
    others = data.translate(None, _ASCII).decode()
    lower = others.lower()
    if lower == others:
        return data.lower()
    if _SIGMA in others:  # the one letter whose lower case depends on what is around it
        return lowered(data.decode())
    data = data.lower()
    for character in set(others).difference(lower):  # no lower case has another one
        data = data.replace(character.encode(), character.lower().encode())
    return data


def _has_minus_zero(text: str) -> bool:
    import re

    return re.search(r"[\s:\[,]-0[\s,\]}]", text) is not None


def _escaped(compacted: str, text: str) -> str:
    """`compacted`, with the lone surrogates that `text` brought in as escapes, as JSON writers leave them."""
    if "\\ud" not in text and "\\uD" not in text:
        return compacted
    import re

    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", compacted)


def _token(found: Any) -> str:
    token: str = found[0]
    if token[0] != '"':
        return ""
    return compact(json.loads(token)) if "\\" in token else token
