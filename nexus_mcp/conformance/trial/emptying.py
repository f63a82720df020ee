"""Deleting what stands in a folder: by descriptors, so that no link is ever followed, and to any depth."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import NamedTuple

from nexus_mcp.conformance.trial.anchor import FOLDER, identity


class _Level(NamedTuple):
    name: str
    identity: tuple[int, int]
    folders: list[str]


def remove_at(folder: int, name: str) -> None:
    """Deletes the file, the link itself or the folder `name` in an open folder. What is gone is no error.

    Raises OSError when it remains.
    """
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(mode):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        return
    inside = _entered(name, folder)
    try:
        empty(inside)
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=folder)


def empty(top: int) -> None:
    """Deletes all that is in an open folder, as far as that can be done: look whether something remains.

    One descriptor at a time, and no recursion: a target can leave folders nested deeper than both would bear.
    """
    with suppress(OSError):
        os.fchmod(top, stat.S_IMODE(os.fstat(top).st_mode) | stat.S_IRWXU)
        _descend(top)


def _descend(top: int) -> None:
    fd = os.open(".", FOLDER, dir_fd=top)
    try:
        levels = [_Level("", identity(fd), _without_files(fd))]
        while True:
            if levels[-1].folders:
                name = levels[-1].folders.pop()
                with suppress(OSError):
                    below = _entered(name, fd)
                    os.close(fd)
                    fd = below
                    levels.append(_Level(name, identity(fd), _without_files(fd)))
            elif len(levels) == 1:
                return
            else:
                name = levels.pop().name
                above = os.open("..", FOLDER, dir_fd=fd)
                os.close(fd)
                fd = above
                if identity(fd) != levels[-1].identity:
                    return  # Somebody moved it meanwhile, and nobody knows where this is.
                with suppress(OSError):
                    os.rmdir(name, dir_fd=fd)
    finally:
        os.close(fd)


def _without_files(fd: int) -> list[str]:
    """Deletes what is no folder, and returns the names of the folders."""
    with os.scandir(fd) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for name, is_folder in entries:
        if not is_folder:
            with suppress(OSError):
                os.unlink(name, dir_fd=fd)
    return [name for name, is_folder in entries if is_folder]


def _entered(name: str, folder: int) -> int:
    """A folder opened so that all in it can be deleted."""
    try:
        fd = os.open(name, FOLDER, dir_fd=folder)
    except PermissionError:
        _permit(name, folder)
        fd = os.open(name, FOLDER, dir_fd=folder)
    with suppress(OSError):
        os.fchmod(fd, stat.S_IRWXU)
    return fd


def _permit(name: str, folder: int) -> None:
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, stat.S_IRWXU, dir_fd=folder, follow_symlinks=False)
        return
    # Linux changes the mode of what stands there, and not of what a link leads to, only by way of a descriptor.
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{fd}", stat.S_IRWXU)
    finally:
        os.close(fd)
