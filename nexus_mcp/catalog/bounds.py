"""Bounds on a project's YAML and Markdown: for each file, and for all files together.

A hook reads all of them while an agent waits. The largest catalog within the bounds is read in well under 300 ms
(docs/decisions/0068). A file beyond a bound is refused before it is parsed.
"""

from __future__ import annotations

YAML_BYTES = 64 << 10
YAML_VALUES = 4_000
"""Values of a YAML file: each text, number, list, mapping and key counts as one."""
DEPTH = 32
KEY = 256
"""Characters of a key."""
TEXT_BYTES = 256 << 10
PLACEHOLDERS = 1_000
"""Placeholders of one text, such as {{tool:context}}."""
ENTRIES = 200
"""Agents of a project, and skills of a project."""
NAMES = 2_000
"""Names in `agents/` or `skills/`, including those that are not entries."""

ALL_YAML_BYTES = 256 << 10
ALL_VALUES = 20_000
"""Values of all YAML files together, each placeholder of a text counted as one."""
ALL_TEXT_BYTES = 4 << 20

TOO_MANY_VALUES = f"more than the {YAML_VALUES} values that are read of a file"
TOO_MANY_PLACEHOLDERS = f"more than the {PLACEHOLDERS} placeholders of a text"
TOO_LARGE_TOGETHER = f"with the files before it, larger than the {ALL_YAML_BYTES >> 10} KiB of YAML that are read"
TOO_MUCH_TEXT_TOGETHER = f"with the texts before it, larger than the {ALL_TEXT_BYTES >> 20} MiB of text that are read"
TOO_MANY_TOGETHER = f"with the files before it, more than the {ALL_VALUES} values that are read"


class Over(Exception):
    """A file exceeds the remaining room. The text names the bound."""


class Room:
    """The remaining bytes of YAML, bytes of text and values that may be read of a project.

    After the first file that does not fit, every file is refused: the result depends only on the order of the files.
    """

    __slots__ = ("is_closed", "text_bytes", "values", "yaml_bytes")

    def __init__(self) -> None:
        self.yaml_bytes = ALL_YAML_BYTES
        self.text_bytes = ALL_TEXT_BYTES
        self.values = ALL_VALUES
        self.is_closed = False

    def left(self) -> list[int]:
        return [self.yaml_bytes, self.text_bytes, self.values]

    def take_yaml(self, size: int) -> None:
        """Subtract bytes of YAML. Raises Over."""
        self.yaml_bytes -= size
        self._check(self.yaml_bytes, TOO_LARGE_TOGETHER)

    def take_text(self, size: int) -> None:
        """Subtract bytes of text. Raises Over."""
        self.text_bytes -= size
        self._check(self.text_bytes, TOO_MUCH_TEXT_TOGETHER)

    def take_values(self, count: int) -> None:
        """Subtract values. Raises Over."""
        self.values -= count
        self._check(self.values, TOO_MANY_TOGETHER)

    def take(self, used: list[int]) -> bool:
        """Subtract what an entry used in an earlier reading. Returns False, without subtracting, if it does not fit."""
        left = [have - want for have, want in zip(self.left(), used, strict=True)]
        if self.is_closed or min(left) < 0:
            return False
        self.yaml_bytes, self.text_bytes, self.values = left
        return True

    def _check(self, left: int, problem: str) -> None:
        if left < 0 or self.is_closed:
            self.is_closed = True
            raise Over(problem)
