"""An output without blanks at the ends of lines: tables are padded, and in a pipe nobody needs that."""

from __future__ import annotations

import re
from typing import IO, Any

_AT_THE_END = re.compile(r"[ \t]+(?=\n)")


class Trimmed:
    """The text file `file`, of which `write` leaves blanks before a newline out. Lines have to be written whole."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        self._file.write(_AT_THE_END.sub("", text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
