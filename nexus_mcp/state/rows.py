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

    __slots__ = ("_texts",)

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        super().__init__(rows)
        self._texts: list[str] | None = None

    @classmethod
    def spliced(cls, old: Rows, start: int, new: list[dict[str, Any]], rest: int) -> Rows:
        """The first `start` of the `old` rows, the `new` ones, and the old ones from `rest` on."""
        made = cls([*old[:start], *new, *old[rest:]])
        if old._texts is not None:
            made._texts = [*old._texts[:start], *map(_encoded, new), *old._texts[rest:]]
        return made

    def compact(self) -> str:
        """The array as JSON text without insignificant white space, non-ASCII unescaped."""
        if self._texts is None:
            self._texts = [*map(_encoded, self)]
        return f"[{','.join(self._texts)}]"
