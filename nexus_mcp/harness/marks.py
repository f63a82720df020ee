"""Mark generated files with our version and a hash of their other text, in a comment that the file's format allows."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from nexus_mcp import __version__

_MARK = re.compile(r"^(?:#|//) nexus-mcp (\S+) (sha256:[0-9a-f]{64})(?: .*)?$", re.MULTILINE)
_FRONT = "---\n"


def digest(data: bytes) -> str:
    """Return the hash of the bytes, as `sha256:` and 64 digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def value_digest(value: Any) -> str:
    """Return the hash of a JSON value; the order of keys and the layout do not count."""
    return digest(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "surrogatepass"))


def add_mark(text: str, comment: str) -> str:
    """Return the text with its mark: in line 2 when it begins with front matter, else in line 1."""
    line = f"{comment} nexus-mcp {__version__} {digest(text.encode())}\n"
    if text.startswith(_FRONT):
        return f"{_FRONT}{line}{text.removeprefix(_FRONT)}"
    return f"{line}{text}"


def remove_mark(text: str) -> str:
    """Return the text without its mark."""
    found = _first_mark(text)
    return text if found is None else text[: found.start()] + text[found.end() + 1 :]


def is_marked(text: str) -> bool:
    """Return whether the text has a mark, even one whose hash differs."""
    return _first_mark(text) is not None


def is_intact(text: str) -> bool:
    """Return whether the text has a mark and was not edited since."""
    found = _first_mark(text)
    return found is not None and found[2] == digest(remove_mark(text).encode("utf-8", "surrogatepass"))


def _first_mark(text: str) -> re.Match[str] | None:
    """Return the mark in line 1 or 2; None without one."""
    found = _MARK.search(text, 0, 4096)
    return found if found is not None and text.count("\n", 0, found.start()) < 2 else None
