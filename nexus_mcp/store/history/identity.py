"""Detect whether a file is still the one that was read, without reading all of it again.

Device, inode, size and the times (of the last write, and of the last change of any kind) reveal a change, with two
gaps. First, within a clock tick of some milliseconds a file can be written again, in place, and look the same. A file
is *settled* if its last write is longer ago than a tick, or if nexus-mcp gave it a time that the clock never shows: any
later write to it is visible. A file that is not settled has to be compared by its bytes.

Second, a write through a shared mapping changes the times only at the first write to a page. A later write to that page
is detected only in the last TAIL bytes of the file, which are compared.
"""

from __future__ import annotations

import os
import time
import zlib

from nexus_mcp.store import atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    Identity = tuple[int, int, int, int, int]

_BY_DESCRIPTOR = os.utime in os.supports_fd
TAIL = 4096
"""Bytes at the end of a file that are compared each time."""
_SECOND = 1_000_000_000
_TICK = 50_000_000
"""Nanoseconds: several ticks of 100 Hz, the slowest clock from which kernels take file times."""
_COARSE_TICK = 2 * _SECOND
"""Nanoseconds, used if a time is a whole second: some file systems count in steps of one or two seconds."""


def of(info: os.stat_result) -> Identity:
    """Return (device, inode, size in bytes, time of the last write, time of the last change of any kind, in
    nanoseconds).
    """
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def is_settled(identity: Identity) -> bool:
    """Return whether any write from now on would change `identity`."""
    # No program can set the time of the last change, so a file with a modification time in the future can be settled,
    # too. On Windows st_ctime_ns is the time of creation.
    newest = identity[4] if os.name == "posix" else max(identity[3:])
    return newest < time.time_ns() - (_TICK if newest % _SECOND else _COARSE_TICK)


def is_apart(identity: Identity) -> bool:
    """Return whether any write from now on would change `identity`, even within the tick of the last one.

    A write sets both times to the same tick; `set_apart` makes them differ. Only a program that sets a time itself
    could hide a write.
    """
    return os.name == "posix" and identity[3] != identity[4]


def tail(fd: int, size: int) -> int:
    """Return a checksum of the last TAIL bytes of a file of `size` bytes. Raise OSError."""
    return checksum(atomic.read_range(fd, max(0, size - TAIL), size))


def read(fd: int) -> tuple[Identity, int]:
    """Return the identity and the `tail` of an open file. Raise OSError."""
    seen = of(os.fstat(fd))
    return seen, tail(fd, seen[2])


def checksum(end: bytes) -> int:
    """Return the `tail` of a file that ends with `end`: its last TAIL bytes or more, or the whole file."""
    return zlib.crc32(end[-TAIL:])


def is_as_read(before: Identity, after: Identity) -> bool:
    """Return whether the bytes are the same; the name, the permissions and the number of names may differ.

    If a program writes and then sets the time of the last write back, the write is not detected: it shows only in the
    time of the last change of any kind, which is not compared.
    """
    return before[:4] == after[:4]


def set_apart(fd: int) -> bool:
    """Set the time of the last write to a file back by a nanosecond, so that no clock tick has this time.

    A later write, even within the same tick, sets another time. Return False if the platform or the file system cannot
    set such a time. Raise OSError.
    """
    if not _BY_DESCRIPTOR:
        return False
    info = os.fstat(fd)
    apart = info.st_mtime_ns - 1
    os.utime(fd, ns=(info.st_atime_ns, apart))
    return os.fstat(fd).st_mtime_ns == apart
