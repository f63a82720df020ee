"""A folder that is held by a descriptor, and known again by device and inode whatever its path leads to by now."""

from __future__ import annotations

import os
import stat
from itertools import islice

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
"""How a folder is opened: a link to one is refused."""


def identity(fd: int) -> tuple[int, int]:
    """Device and inode of an open file: nothing else has both as long as it is open."""
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


class Anchor:
    """The folder at `path`, whose last part may be no link. Raises OSError when there is none. `close` lets it go."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = os.open(path, FOLDER)
        self._mode = stat.S_IMODE(os.fstat(self.fd).st_mode)

    @property
    def stands(self) -> bool:
        """Whether its path still leads to it, and not over a link at the end."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == identity(self.fd)

    @property
    def permitted(self) -> bool:
        """Whether it has the permissions that it had at first."""
        return stat.S_IMODE(os.fstat(self.fd).st_mode) == self._mode

    def permit(self) -> None:
        """Gives it the permissions that it had at first. Raises OSError."""
        os.fchmod(self.fd, self._mode)

    def names(self, most: int = 1000) -> list[str]:
        """What is in it, sorted, but no more than `most` of it. Raises OSError."""
        with os.scandir(self.fd) as found:
            return sorted(entry.name for entry in islice(found, most))

    def close(self) -> None:
        """Lets it go; twice is no error."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)
