"""Read a file that another program may have written; refuse a special file, whose read could block or never end.

A path may name a FIFO without a writer, or a link to a device with endless data. A hook imports this module, so the
module imports only `os` and `stat`.
"""

from __future__ import annotations

import os
import stat

LIMIT = 64 << 20
"""Maximum bytes that are read of a file."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def read_plain(path: str, limit: int = LIMIT) -> bytes:
    """Return the first bytes of a plain file, at most `limit`; links are followed.

    Raise OSError if the file is missing, unreadable or not a plain file; ValueError if the path has a NUL.
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
