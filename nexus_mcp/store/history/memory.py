"""What a process remembers of the history from call to call."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.history.index import Index


class Memory:
    """`index` is the newest that was found. `texts` are the lines (texts.py) of a short history, which has the index
    `texts_of`; of a long one `verified` says how much of which file of texts was seen to be whole: (name, bytes,
    checksum).
    """

    __slots__ = ("index", "texts", "texts_of", "verified")

    def __init__(self) -> None:
        self.index: Index | None = None
        self.texts: list[bytes] = []
        self.texts_of: Index | None = None
        self.verified = ("", 0, 0)
