"""Check artifact names by the rules of the contract: every segment is checked, and no name is changed.

An accepted name stays inside its folder on every system. Windows refuses a few more characters; there the write fails.
"""

from __future__ import annotations

import unicodedata

from nexus_mcp.errors import PathRefused
from nexus_mcp.log import UNSEEN

MAX_SEGMENT_BYTES = 200
MAX_SEGMENTS = 16
# Unicode categories of characters that are invisible, or make a name look like another one.
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
# Characters of other categories that are invisible, too.
_UNSEEN = UNSEEN | {"\ufe0f"}
_TAGS = (0xE0000, 0xE0FFF)
_DEVICES = frozenset(
    (
        *("con", "prn", "aux", "nul", "conin$", "conout$", "clock$"),
        *(f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"),
    )
)


def segments(filename: str, temporary_prefix: str) -> list[str]:
    """Return `filename` split at `/`. Raise PathRefused, which names the broken rule: a name must not leave its
    folder, mislead, or have a form that a system or the store treats in a special way.

    `temporary_prefix` is the prefix of the store's temporary files. A file with this prefix would be deleted as a
    leftover.
    """
    parts = filename.split("/")
    problem = _problem(filename, parts) or next(
        (found for part in parts if (found := _segment_problem(part, temporary_prefix))), ""
    )
    if problem:
        raise PathRefused(
            "filename", problem, next_step="Use a plain relative path such as notes/summary.md, then call again."
        )
    return parts


def _problem(filename: str, parts: list[str]) -> str:
    if not filename:
        return "is empty"
    if filename.startswith("/"):
        return "is an absolute path"
    if "\\" in filename:
        return "has a backslash"
    if len(parts) > MAX_SEGMENTS:
        return f"has more than {MAX_SEGMENTS} segments"
    return ""


def _segment_problem(part: str, temporary_prefix: str) -> str:
    lowered = part.lower()
    rules = (
        (part == "", "has an empty segment"),
        (part in (".", ".."), 'has a segment "." or ".."'),
        # `~` is refused everywhere, because on Windows GIT~1 is another name of .git.
        ("~" in part, "has a ~"),
        (part.startswith("-"), "has a segment that starts with -"),
        (":" in part, "has a colon"),
        (any(map(_is_unseen, part)), "has a control or invisible character"),
        (part != part.rstrip().rstrip("."), "has a segment that ends with a dot or a space"),
        (not part.strip(), "has a blank segment"),
        (lowered.split(".")[0].rstrip() in _DEVICES, "has a segment that is a device name on Windows"),
        (lowered in (".git", ".gitignore"), "has a segment that git would obey"),
        (part.startswith(temporary_prefix), "has a segment that is kept for temporary files"),
        (len(part.encode("utf-8", "replace")) > MAX_SEGMENT_BYTES, f"has a segment over {MAX_SEGMENT_BYTES} bytes"),
    )
    return next((text for broken, text in rules if broken), "")


def _is_unseen(char: str) -> bool:
    code = ord(char)
    return unicodedata.category(char) in _INVISIBLE or char in _UNSEEN or _TAGS[0] <= code <= _TAGS[1]
