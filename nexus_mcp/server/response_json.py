"""Render tool results as JSON, reusing the stored JSON text of unchanged rows."""

from __future__ import annotations

import json
from json.encoder import encode_basestring

from nexus_mcp.state.rows import Rows, encode_answer, encode_line
from nexus_mcp.store.codec import COMPACT, compact

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any


_encode = COMPACT.encode


class RenderedJson:
    """The JSON text of a value, in parts (state.rows.encode_line). A message may have it in place of the value."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[bytes]) -> None:
        self.parts = parts

    def value(self) -> Any:
        """Return a new copy of the value."""
        return json.loads(b"".join(self.parts))


def content(value: dict[str, Any]) -> tuple[RenderedJson, RenderedJson]:
    """Return (the content list with `value` as one text block, `value` itself), both rendered."""
    plain: list[bytes] = []
    quoted = [b'[{"type":"text","text":"']
    text, mark = "", "{"
    for name, member in value.items():
        text += f"{mark}{encode_basestring(name)}:"
        if isinstance(member, Rows):
            before = encode_answer(text)
            plain += (before[0], member.compact())
            quoted += (before[1], member.escape())
            text = ""
        else:
            text += _encode(member)
        mark = ","
    text += "}" if value else "{}"
    last = encode_answer(text)
    return RenderedJson([*quoted, last[1], b'"}]']), RenderedJson([*plain, last[0]])


def values(block: RenderedJson, structured: RenderedJson) -> tuple[Any, Any]:
    """Return new copies of the values of both results of `content`."""
    text = b"".join(structured.parts)
    if b"\\u" in text:  # perhaps an escape by encode_line: then the text block has the character itself
        return block.value(), json.loads(text)
    return [{"type": "text", "text": text.decode()}], json.loads(text)


def message(envelope: dict[str, Any]) -> bytes:
    """Return a JSON-RPC response as compact JSON; fields of its `result` may be RenderedJson.

    Raise as json.dumps does.
    """
    parts: list[bytes] = []
    text = "".join(f"{encode_basestring(n)}:{compact(member)}," for n, member in envelope.items() if n != "result")
    text, mark = f'{{{text}"result":', "{"
    for name, member in envelope["result"].items():
        text += f"{mark}{encode_basestring(name)}:"
        if isinstance(member, RenderedJson):
            parts += (encode_line(text), *member.parts)
            text = ""
        else:
            text += compact(member)
        mark = ","
    return b"".join([*parts, encode_line(text + "}}")])
