"""The rows of a session file, tasks or issues, with their JSON text as files and answers hold it."""

from __future__ import annotations

from json import JSONEncoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Some readers of lines, such as Node's readline, take these for line ends; JSON does not.
LINE_ENDS = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}

_encode = JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class Row(dict):  # type: ignore[type-arg]
    """A checked JSON object that is never changed: a change makes another one.

    `text` is its JSON as the file holds it (store/session.py), b"" when that is not known.
    """

    __slots__ = ("_answered", "text")

    def __init__(self, members: dict[str, Any]) -> None:
        super().__init__(members)
        self.text = b""
        self._answered: tuple[bytes, bytes] | None = None

    def to_answer(self) -> tuple[bytes, bytes]:
        """Return the result of `encode_answer` for its JSON text."""
        if self._answered is None:
            self._answered = encode_answer(_encode(self))
        return self._answered


class Rows(list):  # type: ignore[type-arg]
    """A list of `Row` that is never changed."""

    __slots__ = ()

    def compact(self) -> bytes:
        """Return the array as JSON text (`encode_line`) without insignificant white space. Of the non-ASCII
        characters only LINE_ENDS are escaped.
        """
        return b"[%b]" % b",".join([row.to_answer()[0] for row in self])

    def escape(self) -> bytes:
        """Return the array as JSON text, escaped for the inside of a JSON string, without quotes around it."""
        return b"[%b]" % b",".join([row.to_answer()[1] for row in self])


def encode_answer(text: str) -> tuple[bytes, bytes]:
    """Return compact JSON text as an answer holds it: as a value (`encode_line`), and within a JSON string."""
    # JSON text has no control characters, so nothing else in it needs an escape.
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return encode_line(text), encode_line(quoted)


def encode_line(text: str) -> bytes:
    """Encode JSON text so that every reader of lines and of UTF-8 reads it as one line.

    Lone surrogates, which only a file of another program can contain, become U+FFFD: a client could not read them.
    """
    if not text.isascii():
        for char, escape in LINE_ENDS.items():
            text = text.replace(char, escape)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
