"""The JSON of an answer: what is known of the text of its rows is taken, all else is encoded."""

from __future__ import annotations

import json
from json.encoder import encode_basestring

from nexus_mcp.state.rows import Rows, in_line
from nexus_mcp.store.codec import compact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Rendered:
    """JSON text (state.rows.in_line), in parts, that stands in a message for the value that it is of."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[bytes]) -> None:
        self.parts = parts

    def value(self) -> Any:
        """A value of its own for whoever asks."""
        return json.loads(b"".join(self.parts))


def content(value: dict[str, Any]) -> tuple[Rendered, Rendered]:
    """(The list of one text block that has `value` as its text, `value` itself)."""
    plain: list[bytes] = []
    quoted = [b'[{"type":"text","text":"']
    text, mark = "", "{"
    for name, member in value.items():
        text += f"{mark}{encode_basestring(name)}:"
        if isinstance(member, Rows):
            plain += (in_line(text), member.compact())
            quoted += (_within(text), member.quoted())
            text = ""
        else:
            text += compact(member)
        mark = ","
    text += "}" if value else "{}"
    return Rendered([*quoted, _within(text), b'"}]']), Rendered([*plain, in_line(text)])


def message(envelope: dict[str, Any]) -> bytes:
    """A JSON-RPC message as compact JSON text; members of its result may be Rendered. Raises as json.dumps does."""
    parts: list[bytes] = []
    text = "".join(f"{encode_basestring(n)}:{compact(member)}," for n, member in envelope.items() if n != "result")
    text, mark = f'{{{text}"result":', "{"
    for name, member in envelope["result"].items():
        text += f"{mark}{encode_basestring(name)}:"
        if isinstance(member, Rendered):
            parts += (in_line(text), *member.parts)
            text = ""
        else:
            text += compact(member)
        mark = ","
    return b"".join([*parts, in_line(text + "}}")])


def _within(text: str) -> bytes:
    return in_line(encode_basestring(text)[1:-1])
