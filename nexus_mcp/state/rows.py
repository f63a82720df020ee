"""The rows of a state file, tasks or issues, with the JSON that answers hold of them."""

from __future__ import annotations

from json import JSONEncoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_encoded = JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class Rows(list):  # type: ignore[type-arg]
    """A list of JSON objects that stays as it is, and so does what is in it: whoever changes it makes another one.

    Rows that are made from others take over what those know of the JSON of each.
    """

    __slots__ = ("_quoted", "_texts")

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        super().__init__(rows)
        self._texts: list[str] | None = None
        self._quoted: list[str] | None = None

    @classmethod
    def spliced(cls, old: Rows, start: int, new: list[dict[str, Any]], rest: int) -> Rows:
        """The first `start` of the `old` rows, the `new` ones, and the old ones from `rest` on."""
        made = cls([*old[:start], *new, *old[rest:]])
        if old._texts is not None and old._quoted is not None:
            texts = [*map(_encoded, new)]
            made._texts = [*old._texts[:start], *texts, *old._texts[rest:]]
            made._quoted = [*old._quoted[:start], *map(_within, texts), *old._quoted[rest:]]
        return made

    def compact(self) -> str:
        """The array as JSON text without insignificant white space, non-ASCII unescaped."""
        return f"[{','.join(self._rendered()[0])}]"

    def quoted(self) -> str:
        """The same text as it lies within a JSON string, without the quotes around it."""
        return f"[{','.join(self._rendered()[1])}]"

    def _rendered(self) -> tuple[list[str], list[str]]:
        texts, quoted = self._texts, self._quoted
        if texts is None or quoted is None:
            texts = [*map(_encoded, self)]
            quoted = [*map(_within, texts)]
            self._texts, self._quoted = texts, quoted
        return texts, quoted


def _within(text: str) -> str:
    # JSON text has no control characters, so nothing else in it needs an escape.
    return text.replace("\\", "\\\\").replace('"', '\\"')
