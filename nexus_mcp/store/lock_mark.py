"""What is in the lock file: who has the lock, for those who wait in vain, or how whoever had it let it go."""

from __future__ import annotations

import os
from contextlib import suppress

_SIZE = 48  # a size that stays is no work for the file system
_SETTLED = b"settled "


def sign(fd: int, file: os.stat_result) -> bytes | None:
    """Leave our pid in the lock file, for those who wait in vain: what was in it before, None when it was left alone.

    Advice only, so a full disk does not matter. Only in an empty file of one name, or over what we left there (which a
    power cut may have made zeros of): a planted one could be somebody's own.
    """
    try:
        before = os.pread(fd, _SIZE, 0)
        own = before.startswith(_SETTLED) or _pid_in(before) or not before.strip(b"\0 \n")
        if file.st_nlink != 1 or file.st_size > _SIZE or not own:
            return None
        os.pwrite(fd, b"%-*d\n" % (_SIZE - 1, os.getpid()), 0)
    except OSError:
        return None
    return before


def settled(file: os.stat_result) -> bytes:
    """What whoever lets go leaves in the lock file: that the folders on the way to it are on disk, and nobody died.

    It names the file itself, so that a copy of it, or one that came with a repository, vouches for nothing.
    """
    return (_SETTLED + b"%x %x" % (file.st_dev, file.st_ino)).ljust(_SIZE - 1) + b"\n"


def unsign(fd: int, found: bytes, left: bytes) -> None:
    """Put what is to be `left` in the place of our pid; `found` was there before."""
    try:
        os.pwrite(fd, left, 0)
        if not len(found) == len(left) == _SIZE:
            os.ftruncate(fd, len(left))
    except OSError:
        pass


def holder(fd: int) -> int | None:
    """The pid of who has the lock, None when nobody says."""
    with suppress(OSError):
        return _pid_in(os.pread(fd, _SIZE, 0))
    return None


def _pid_in(text: bytes) -> int | None:
    with suppress(ValueError):
        return int(text)
    return None
