"""The JSON of an answer: what is known of the text of its rows is taken, all else is encoded."""

from __future__ import annotations

import json
from json.encoder import encode_basestring

from nexus_mcp.state.rows import Rows
from nexus_mcp.store.codec import compact, without_surrogates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Rendered:
    """JSON text, in parts, that stands in a message for the value that it is of."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[str]) -> None:
        self.parts = parts

    def value(self) -> Any:
        """A value of its own for whoever asks."""
        return json.loads("".join(self.parts))


def content(value: dict[str, Any]) -> tuple[Rendered, Rendered]:
    """(The list of one text block that has `value` as its text, `value` itself).

    Lone surrogates, which only a foreign file can bring in, are U+FFFD: a client could not read what has them.
    """
    plain, quoted = ["{"], ['[{"type":"text","text":"{']
    comma = ""
    for name, member in value.items():
        key = f"{comma}{compact(name)}:"
        if isinstance(member, Rows):
            plain += (key, member.compact())
            quoted += (_within(key), member.quoted())
        else:
            text = key + compact(member)
            plain.append(text)
            quoted.append(_within(text))
        comma = ","
    return _readable([*quoted, '}"}]']), _readable([*plain, "}"])


def message(envelope: dict[str, Any]) -> str:
    """A JSON-RPC message as compact JSON text; members of its result may be Rendered. Raises as json.dumps does."""
    rest = compact({name: member for name, member in envelope.items() if name != "result"})
    parts = [rest[:-1], ',"result":']
    mark = "{"
    for name, member in envelope["result"].items():
        parts.append(f"{mark}{compact(name)}:")
        parts += member.parts if isinstance(member, Rendered) else (compact(member),)
        mark = ","
    return "".join([*parts, "}}"])


def _readable(parts: list[str]) -> Rendered:
    return Rendered([*map(without_surrogates, parts)])


def _within(text: str) -> str:
    quoted: str = encode_basestring(text)
    return quoted[1:-1]
