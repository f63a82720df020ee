"""Putting files into a folder that another process changes meanwhile: part by part, and over no link."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from nexus_mcp.conformance.trial.anchor import FOLDER
from nexus_mcp.conformance.trial.snapshot import DEEPEST

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""How a file is opened to be read, when it was a plain one a moment ago."""


@contextmanager
def parent(root: int, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The open folder, below the open folder `root`, that a path's last part stands in, and that part.

    `make` makes the folders that are missing. A path that ends in /. is that of a folder. Raises OSError when a link
    or a file stands on the way, or the path is longer than anybody looks.
    """
    *above, name = [part for part in path.split("/") if part] or ["."]
    if len(above) > DEEPEST:
        raise OSError(errno.ENAMETOOLONG, f"more than {DEEPEST} folders in one another", path)
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


def put(folder: int, name: str, content: bytes) -> None:
    """Makes a file that is not there yet. Raises OSError."""
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=folder)
    with open(fd, "wb") as file:
        file.write(content)


def _entered(name: str, folder: int, path: str) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=folder)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "a link stands on the way", path) from None
        raise
