"""Whether a file is still the one that was read, told without reading it again.

Device, inode, size and both times say so, but for one gap: a clock's tick of some milliseconds, within which a file can
be written again, in place, and look the same. What was written as long ago as that, or by us with a time that the
clock never gives, is settled: any later write shows. What is not settled has to be compared by its bytes.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    Identity = tuple[int, int, int, int, int]

_BY_DESCRIPTOR = os.utime in os.supports_fd
_SECOND = 1_000_000_000
_TICK = 50_000_000
"""Nanoseconds: several ticks of the slowest clock that kernels take file times from (100 Hz)."""
_COARSE_TICK = 2 * _SECOND
"""For a time without fractions: file systems have that which count seconds, or two at a time."""


def of(info: os.stat_result) -> Identity:
    """(device, inode, size in bytes, time of the last write, time of the last change of any kind, in nanoseconds)."""
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def is_settled(identity: Identity) -> bool:
    """Whether any write from now on would change `identity`."""
    newest = max(identity[3:])
    return newest < time.time_ns() - (_TICK if newest % _SECOND else _COARSE_TICK)


def set_apart(fd: int) -> bool:
    """Date a file that we have just written a nanosecond back, to where no clock's tick lies; whether that held.

    Whoever writes to it within the same tick gives it the tick's own time, which differs. Raises OSError.
    """
    if not _BY_DESCRIPTOR:
        return False
    info = os.fstat(fd)
    apart = info.st_mtime_ns - 1
    os.utime(fd, ns=(info.st_atime_ns, apart))
    return os.fstat(fd).st_mtime_ns == apart
