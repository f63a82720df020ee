"""Hold the data that a process remembers about a history between calls.

This is a separate module because every store has this memory, but most hooks never read the history, so they do not
have to load index.py with struct, zlib and array.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.history.index import Index

    Verified = tuple[tuple[str | int, ...], int, int]

UNVERIFIED: Verified = ((), 0, 0)


class Memory:
    """The index and texts that this process remembers. Each field is replaced as a whole, because threads may share it.

    `index` is the newest index. `short` is the index of a short history, and its lines (texts.py). For a long history
    `verified` describes the part of a file of texts that was verified: (name and identity of the file, size of the part
    in bytes, its checksum).
    """

    __slots__ = ("index", "short", "verified")

    def __init__(self) -> None:
        self.index: Index | None = None
        self.short: tuple[Index | None, list[bytes]] = (None, [])
        self.verified = UNVERIFIED
