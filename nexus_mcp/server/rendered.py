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
    plain, quoted = [b"{"], [b'[{"type":"text","text":"{']
    comma = ""
    for name, member in value.items():
        key = f"{comma}{compact(name)}:"
        if isinstance(member, Rows):
            plain += (in_line(key), member.compact())
            quoted += (_within(key), member.quoted())
        else:
            text = key + compact(member)
            plain.append(in_line(text))
            quoted.append(_within(text))
        comma = ","
    return Rendered([*quoted, b'}"}]']), Rendered([*plain, b"}"])


def message(envelope: dict[str, Any]) -> bytes:
    """A JSON-RPC message as compact JSON text; members of its result may be Rendered. Raises as json.dumps does."""
    rest = compact({name: member for name, member in envelope.items() if name != "result"})
    parts = [in_line(rest[:-1]), b',"result":']
    mark = "{"
    for name, member in envelope["result"].items():
        parts.append(in_line(f"{mark}{compact(name)}:"))
        parts += member.parts if isinstance(member, Rendered) else (in_line(compact(member)),)
        mark = ","
    return b"".join([*parts, b"}}"])


def _within(text: str) -> bytes:
    return in_line(encode_basestring(text)[1:-1])
