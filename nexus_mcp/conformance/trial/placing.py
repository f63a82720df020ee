"""Write files into a folder that another process may change meanwhile: part by part, and through no link."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from nexus_mcp.conformance.trial.emptying import FOLDER
from nexus_mcp.conformance.trial.snapshot import DEEPEST

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags to read a file that was a regular one a moment ago."""


@contextmanager
def open_parent(root: int, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Open the folder, below the open folder `root`, of a path's last part, and yield its descriptor and that part.

    `make` creates missing folders. A path that ends in /. is that of a folder. Raises OSError for a link or a file on
    the way, or for too long a path.
    """
    *above, name = [part for part in path.split("/") if part] or ["."]
    if len(above) > DEEPEST:
        raise OSError(errno.ENAMETOOLONG, f"more than {DEEPEST} nested folders", path)
    fd = os.open(".", FOLDER, dir_fd=root)
    try:
        for part in above:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=fd)
            below = _entered(part, fd, path)
            os.close(fd)
            fd = below
        yield fd, name
    finally:
        os.close(fd)


def write_new_file(folder: int, name: str, content: bytes) -> None:
    """Create a file that does not exist yet. Raises OSError."""
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=folder)
    with open(fd, "wb") as file:
        file.write(content)


def _entered(name: str, folder: int, path: str) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=folder)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "a link is in the path", path) from None
        raise
