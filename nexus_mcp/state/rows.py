"""The rows of a session file, tasks or issues, with their JSON as answers hold it."""

from __future__ import annotations

from json import JSONEncoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Line ends to some readers of lines (Node's readline among them), though not to JSON.
LINE_ENDS = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}

_encode = JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_MOST_STEPS = 8
"""After so many changes what is known is taken over, also when no call needs it: each keeps its rows until then."""


class Rows(list):  # type: ignore[type-arg]
    """A list of JSON objects that stays as it is, and so does what is in it: a change makes another one.

    Rows that are made from others take over what those know of the JSON of each, once a call needs that.
    """

    __slots__ = ("_highest", "_known", "_made_from", "_steps")

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        super().__init__(rows)
        self._highest: int | None = None  # not known
        self._known: tuple[list[bytes], list[bytes]] | None = None
        # (the rows before, where they differ from these: from which one on, up to which one here, and there).
        self._made_from: tuple[Rows, int, int, int] | None = None
        self._steps = 0  # to those whose JSON is known

    @classmethod
    def spliced(cls, old: Rows, start: int, new: list[dict[str, Any]], rest: int) -> Rows:
        """The first `start` of the `old` rows, the `new` ones, and the old ones from `rest` on."""
        made = cls([*old[:start], *new, *old[rest:]])
        if old._highest is not None and all(row["id"] != old._highest for row in old[start:rest]):
            made._highest = max([old._highest, *[row["id"] for row in new]])
        if old._steps == _MOST_STEPS:
            old._texts()
        if old._known is not None or old._made_from is not None:
            made._made_from = old, start, start + len(new), rest
            made._steps = old._steps + 1
        return made

    def highest_id(self) -> int:
        """The highest `id` of the rows, 0 when there is none."""
        if self._highest is None and self:
            self._highest = max([row["id"] for row in self])
        return self._highest or 0

    def compact(self) -> bytes:
        """The array as JSON text (`in_line`) without insignificant white space, non-ASCII unescaped."""
        return b"[%b]" % b",".join(self._texts()[0])

    def quoted(self) -> bytes:
        """The same text as it lies within a JSON string, without the quotes around it."""
        return b"[%b]" % b",".join(self._texts()[1])

    def _texts(self) -> tuple[list[bytes], list[bytes]]:
        """The JSON of each row, and the same as it lies within a string."""
        known = self._known
        if known is None:
            known = self._known = self._taken_over() or _encode_rows(self)
            self._made_from, self._steps = None, 0  # the rows before are needed no more
        return known

    def _taken_over(self) -> tuple[list[bytes], list[bytes]] | None:
        steps = []
        rows, before = self, self._made_from
        while rows._known is None and before is not None:
            steps.append((rows, before))
            rows = before[0]
            before = rows._made_from
        if rows._known is None:
            return None
        texts, quoted = map(list.copy, rows._known)
        for made, (_, start, end, rest) in reversed(steps):
            texts[start:rest], quoted[start:rest] = _encode_rows(made[start:end])
        return texts, quoted


def next_id(rows: list[dict[str, Any]]) -> int:
    """The `id` of a row to be added: highest + 1."""
    return 1 + (rows if isinstance(rows, Rows) else Rows(rows)).highest_id()


def _encode_rows(rows: list[dict[str, Any]]) -> tuple[list[bytes], list[bytes]]:
    made = [*map(_encode, rows)]
    return [*map(encode_line, made)], [*map(_encode_quoted, made)]


def encode_line(text: str) -> bytes:
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


def _encode_quoted(text: str) -> bytes:
    # JSON text has no control characters, so nothing else in it needs an escape.
    return encode_line(text.replace("\\", "\\\\").replace('"', '\\"'))
