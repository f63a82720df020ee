"""Names of notes: which are allowed, which one a message gives, and one for a text that comes without."""

from __future__ import annotations

from nexus_mcp import schemas
from nexus_mcp.errors import PathRefused
from nexus_mcp.knowledge.index import SUFFIX
from nexus_mcp.knowledge.words import words
from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

LONGEST = 100
_WORDS = 4
_SHOWN = 60


def checked(name: str, pattern: str, folder: str) -> str:
    """`name` itself. Raises PathRefused unless it matches `pattern` and can be a file's name everywhere.

    `folder` is where it was to be, e.g. ".nexus/memory", for the message.
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


def given(text: str) -> tuple[str, str]:
    """(the name, the rest) of a text that begins with the name of a note, as in `lock-order.md: text`; else ("", text).

    The name may be none that is allowed.
    """
    name, colon, rest = text.partition(":")
    is_name = bool(colon) and name.lower().endswith(SUFFIX) and not any(map(str.isspace, name))
    return (name, rest.strip()) if is_name else ("", text)


def made(text: str, taken: Container[str]) -> str:
    """A name for `text` by its first words, by its checksum when they have no Latin letters; one that is not taken."""
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
