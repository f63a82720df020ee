"""Names of notes: check a name, split it from a message, or make one from the words of a text."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.errors import PathRefused
from nexus_mcp.knowledge.index import SUFFIX
from nexus_mcp.knowledge.merge import words
from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

LONGEST = 100
_WORDS = 4
_SHOWN = 60


def check_name(name: str, pattern: str, folder: str) -> str:
    """Return `name`. Raises PathRefused unless it matches `pattern` and is a valid file name on all systems.

    `folder` is the folder of the note for the error message, e.g. ".nexus/memory".
    """
    from nexus_mcp.state import artifact_name
    from nexus_mcp.store import atomic

    advice = "Use lower-case letters, digits and -, and .md at the end, e.g. empirical-lock-order.md."
    shown = f"{folder}/{printable(name[:_SHOWN])}{'…' * (len(name) > _SHOWN)}"
    if len(name) > LONGEST:
        raise PathRefused(shown, f"has a name of more than {LONGEST} characters", next_step=advice)
    if not schemas.search(pattern)(name):
        raise PathRefused(shown, "is not how a note may be called", next_step=advice)
    try:
        artifact_name.segments(name, atomic.PREFIX)
    except PathRefused as error:
        raise PathRefused(shown, error.problem, next_step=advice) from error
    return name


def split_name(text: str) -> tuple[str, str]:
    """Return (name, rest) of a text such as `lock-order.md: text`; ("", text) if it begins with no name of a note.

    The name is not checked.
    """
    name, colon, rest = text.partition(":")
    is_name = bool(colon) and name.lower().endswith(SUFFIX) and not any(map(str.isspace, name))
    return (name, rest.strip()) if is_name else ("", text)


def make_name(text: str, taken: Container[str]) -> str:
    """Return a name not in `taken` from the first words of `text`, or its checksum if they have no Latin letters."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    stem = "-".join(words(plain)[:_WORDS])[: LONGEST - 20].strip("-")
    if not any(map(str.isalpha, stem)):
        import zlib

        stem = f"note-{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"
    elif "-" not in stem:
        stem = f"note-{stem}"  # one word says little, and may be the name of a device
    number, name = 1, f"{stem}{SUFFIX}"
    while name in taken:
        number += 1
        name = f"{stem}-{number}{SUFFIX}"
    return name
