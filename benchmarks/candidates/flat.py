"""A flat file with one lowered text per line, searched from the beginning. Compact JSON has no line ends inside."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

_PART = 1 << 20


def build(path: Path, texts: list[str]) -> None:
    with path.open("wb") as file:
        file.writelines(text.encode() + b"\n" for text in texts)


def by_parts(path: Path, term: str) -> int:
    """Search parts of a megabyte, cut at line ends, with bytes.find, so that memory does not grow with the file."""
    needle, count, rest = term.encode(), 0, b""
    with path.open("rb", buffering=0) as file:
        while part := file.read(_PART):
            cut = part.rfind(b"\n") + 1
            block, rest = (rest + part[:cut], part[cut:]) if cut else (b"", rest + part)
            count += _lines_with(needle, block)
    return count


def by_mmap(path: Path, term: str) -> int:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return _lines_with(term.encode(), view)


def _lines_with(needle: bytes, text: bytes | mmap.mmap) -> int:
    count, place = 0, text.find(needle)
    while place >= 0:
        count += 1
        place = text.find(needle, text.find(b"\n", place))
    return count


def by_pattern(path: Path, term: str) -> int:
    """Search with one regular expression, which matches the rest of a line with a hit."""
    pattern = re.compile(re.escape(term.encode()) + rb"[^\n]*")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return sum(1 for _ in pattern.finditer(view))
