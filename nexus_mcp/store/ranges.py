"""Bytes of an open file from offset to offset: read in parts, or copied to another file by the kernel."""

from __future__ import annotations

import errno
import os

from nexus_mcp.store.atomic import read_at, write_all

CHUNK = 1 << 20
_NO_SUCH_CALL = (errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)
"""What says that this kernel or file system has no such copy, and nothing of how one would have gone."""


class Shrunk(OSError):
    """The file has fewer bytes than it had."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "it has become shorter")


def read(fd: int, begin: int, end: int) -> bytes:
    """The bytes of a file from offset to offset. Raises OSError (Shrunk)."""
    parts = []
    while begin < end:
        part = read_at(fd, min(CHUNK, end - begin), begin)
        if not part:
            raise Shrunk
        parts.append(part)
        begin += len(part)
    return b"".join(parts)


def copy(source: int, target: int, size: int) -> None:
    """Write the first `size` bytes of the file `source` to `target`, where that stands. Raises OSError (Shrunk).

    By the kernel where it can: blocks that both files share, where the file system has that, or one copy in its cache.
    """
    done = _by_kernel(source, target, size) if hasattr(os, "copy_file_range") else 0
    while done < size:
        end = min(size, done + CHUNK)
        write_all(target, read(source, done, end))
        done = end


def _by_kernel(source: int, target: int, size: int) -> int:
    """How many bytes were copied; fewer than `size` where the rest has to be copied otherwise."""
    done = 0
    while done < size:
        try:
            count = os.copy_file_range(source, target, size - done, offset_src=done)
        except OSError as error:
            if error.errno in _NO_SUCH_CALL:
                return done
            raise
        if not count:
            return done  # some file systems say so of files that have bytes left
        done += count
    return done
