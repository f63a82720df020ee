"""What a process remembers of the history from call to call."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.history.index import Index

    Verified = tuple[tuple[str | int, ...], int, int]

UNVERIFIED: Verified = ((), 0, 0)


class Memory:
    """`index` is the newest that was found. `short` are the lines (texts.py) of a short history and the index they are
    of; of a long one `verified` says how much of which file of texts was seen to be whole: (identity, bytes, checksum).

    Each is put in its place whole: threads may share it.
    """

    __slots__ = ("index", "short", "verified")

    def __init__(self) -> None:
        self.index: Index | None = None
        self.short: tuple[Index | None, list[bytes]] = (None, [])
        self.verified = UNVERIFIED
