"""The rows of a state file, tasks or issues, with the JSON that answers hold of them."""

from __future__ import annotations

from json import JSONEncoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Line ends to some readers of lines (Node's readline among them), though not to JSON.
LINE_ENDS = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}

_encoded = JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class Rows(list):  # type: ignore[type-arg]
    """A list of JSON objects that stays as it is, and so does what is in it: whoever changes it makes another one.

    Rows that are made from others take over what those know of the JSON of each.
    """

    __slots__ = ("_quoted", "_texts")

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        super().__init__(rows)
        self._texts: list[bytes] | None = None
        self._quoted: list[bytes] | None = None

    @classmethod
    def spliced(cls, old: Rows, start: int, new: list[dict[str, Any]], rest: int) -> Rows:
        """The first `start` of the `old` rows, the `new` ones, and the old ones from `rest` on."""
        made = cls([*old[:start], *new, *old[rest:]])
        if old._texts is not None and old._quoted is not None:
            texts = [*map(_encoded, new)]
            made._texts = [*old._texts[:start], *map(in_line, texts), *old._texts[rest:]]
            made._quoted = [*old._quoted[:start], *map(_within, texts), *old._quoted[rest:]]
        return made

    def compact(self) -> bytes:
        """The array as JSON text (`in_line`) without insignificant white space, non-ASCII unescaped."""
        return b"[%b]" % b",".join(self._rendered()[0])

    def quoted(self) -> bytes:
        """The same text as it lies within a JSON string, without the quotes around it."""
        return b"[%b]" % b",".join(self._rendered()[1])

    def _rendered(self) -> tuple[list[bytes], list[bytes]]:
        texts, quoted = self._texts, self._quoted
        if texts is None or quoted is None:
            made = [*map(_encoded, self)]
            texts, quoted = [*map(in_line, made)], [*map(_within, made)]
            self._texts, self._quoted = texts, quoted
        return texts, quoted


def in_line(text: str) -> bytes:
    """JSON text as it lies in a line that every reader of lines and of UTF-8 reads as one.

    Lone surrogates, which only a foreign file can bring in, are U+FFFD: a client could not read what has them.
    """
    if not text.isascii():
        for char, escape in LINE_ENDS.items():
            text = text.replace(char, escape)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _within(text: str) -> bytes:
    # JSON text has no control characters, so nothing else in it needs an escape.
    return in_line(text.replace("\\", "\\\\").replace('"', '\\"'))
