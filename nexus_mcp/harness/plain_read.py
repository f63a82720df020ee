"""Read a configuration file of another program, and refuse what is no plain file instead of waiting for it.

A path may name a FIFO without a writer, or a link to a device that never ends. A hook imports this module, so it
imports nothing else.
"""

from __future__ import annotations

import os
import stat

LIMIT = 64 << 20
"""Bytes of a file, at most."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def read_plain(path: str, limit: int = LIMIT) -> bytes:
    """Return the bytes of a plain file, `limit` at most; links are followed.

    Raise OSError for everything else that is there, and for a missing file; ValueError for a path that has a NUL.
    """
    fd = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{path} is no plain file")
        parts = []
        while limit > 0 and (part := os.read(fd, min(limit, 1 << 20))):
            parts.append(part)
            limit -= len(part)
    finally:
        os.close(fd)
    return b"".join(parts)
