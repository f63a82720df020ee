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

    `index` is the newest one found. `short` are the lines (texts.py) of a short history and their index. For a long
    history `verified` is (identity, bytes, checksum) of the part of a file of texts that was verified.
    """

    __slots__ = ("index", "short", "verified")

    def __init__(self) -> None:
        self.index: Index | None = None
        self.short: tuple[Index | None, list[bytes]] = (None, [])
        self.verified = UNVERIFIED
