"""How the store opens files and folders: no link is followed, no pipe waited for, and no time of access noted.

The file system would note one at the first reading after each change, which is a write that the next sync waits for.
Linux lets the owner of a file do without (open(2), O_NOATIME). Where that is refused, such times are noted as ever.
"""

from __future__ import annotations

import errno
import os
import stat

from nexus_mcp.errors import PathRefused

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | _CLOEXEC
FILE = _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | _CLOEXEC  # a pipe of that name must not keep us waiting

ADVICE = "Look at what was put there and why; move it away yourself if it is not needed, then call again."

# What others than the owner are told (EPERM), or whoever asks a file system that knows no such flag.
_REFUSED = frozenset({errno.EPERM, errno.EINVAL, errno.EOPNOTSUPP})
_undated = [getattr(os, "O_NOATIME", 0)]


def folder(name: str, within: int | None = None) -> int:
    """A descriptor of the folder `name`, in the one with the descriptor `within`. Raises OSError."""
    return _undated_if_let(name, _FOLDER, 0, within)


def file(name: str, flags: int, mode: int, within: int | None) -> int:
    """A descriptor of the file `name`, in the same way. Raises OSError."""
    if flags & os.O_CREAT:  # what is made may come to belong to somebody else (CIFS), and would be left when refused
        return os.open(name, flags | FILE, mode, dir_fd=within)
    return _undated_if_let(name, flags | FILE, mode, within)


def _undated_if_let(name: str, flags: int, mode: int, within: int | None) -> int:
    undated = _undated[0]  # another thread may come to know better meanwhile
    try:
        return os.open(name, flags | undated, mode, dir_fd=within)
    except OSError as error:
        if not undated or error.errno not in _REFUSED:
            raise
    fd = os.open(name, flags, mode, dir_fd=within)
    _undated[0] = 0  # that was it: nobody asks for it any more
    return fd


def refused(shown: str, mode: int, wanted: str) -> PathRefused:
    """For what stands where `wanted`, a file or a folder, belongs."""
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file"}
    seen = kinds.get(stat.S_IFMT(mode), "a special file")
    return PathRefused(shown, f"is {seen} where {wanted} belongs", next_step=ADVICE)


def let_go(fd: int) -> None:
    """Close a descriptor that was only read, or whose data is on disk: raised, what close reports then would make a
    change that was carried out look like one that failed."""
    try:  # noqa: SIM105 - a change closes eight of them, and `suppress` is three calls
        os.close(fd)
    except OSError:
        pass


def reason(error: OSError) -> str:
    """The system's own words for an error, without the path that Python adds."""
    return error.strerror or type(error).__name__
