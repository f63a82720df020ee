"""The first line of a note, `<!-- tags: a, b -->`: read, and made."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST_BYTES = 1024
"""So much of a note is looked at for its tags; a line that does not end there has none."""
MOST_TAGS = 32
LONGEST_TAG = 64
_OPEN = "<!--"
_CLOSE = "-->"
_WORD = "tags:"
_BOM = b"\xef\xbb\xbf"


def read(head: bytes) -> list[str]:
    """The tags in the first bytes of a note, each once, in order; [] when its first line names none.

    At most MOST_TAGS are taken, and none of more than LONGEST_TAG characters.
    """
    tags = named(head)
    return [] if tags is None else [tag for tag in tags if len(tag) <= LONGEST_TAG][:MOST_TAGS]


def named(head: bytes) -> list[str] | None:
    """All that the first line names, each once, in order, however long and many; None when it is no such line."""
    first = head.removeprefix(_BOM).partition(b"\n")[0].strip()
    if not (first.startswith(_OPEN.encode()) and first.endswith(_CLOSE.encode())):
        return None
    text = first[len(_OPEN) : -len(_CLOSE)].decode("utf-8", "replace").strip()
    if text[: len(_WORD)].lower() != _WORD:
        return None
    tags = (tag.strip() for tag in text[len(_WORD) :].split(","))
    return list(dict.fromkeys(filter(None, tags)))


def made(tags: Iterable[str]) -> str:
    """The line for these tags, without a newline."""
    return f"{_OPEN} {_WORD} {', '.join(tags)} {_CLOSE}"
