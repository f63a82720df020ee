"""Exchange the names of two files in one step: renameat2(2) with RENAME_EXCHANGE.

Whatever the name held at that very moment is then under the other name, however late somebody put it there. `os` has no
such call, and `ctypes` takes a millisecond and half a megabyte; the C module below it takes a third of both.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from nexus_mcp.store.folder import Folder

    Call = Callable[[int, bytes, int, bytes], int]

_EXCHANGE = 2  # RENAME_EXCHANGE
# For a call that this kernel, file system or sandbox does not have. A sandbox answers as if access was denied: where it
# really is, the rename that is tried instead fails with the same reason.
_NO_SUCH_CALL = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.EXDEV)
_NO_LINKS = (*_NO_SUCH_CALL, errno.EMLINK)
_known: list[Call | None] = []


def exchange(folder: Folder, one: str, other: str) -> bool:
    """Exchange the names `one` and `other` in `folder`; False where names cannot be exchanged. Raises OSError."""
    if folder.descriptor is None:
        return False
    call = prepare()
    if call is None:
        return False
    failed = call(folder.descriptor, os.fsencode(one), folder.descriptor, os.fsencode(other))
    if failed in _NO_SUCH_CALL:
        return False
    if failed:
        raise OSError(failed, os.strerror(failed), other)
    return True


def prepare() -> Call | None:
    """Load the call: it returns 0 or an errno. None where the system has none."""
    if not _known:
        _known.append(_loaded() if sys.platform == "linux" else None)
    return _known[0]


def place(folder: Folder, temporary: str, name: str) -> None:
    """Give the file `temporary` the name `name`, which nobody has. Raises FileExistsError, OSError.

    A link, which never replaces anything; where the file system has no links, a look and a rename.
    """
    try:
        os.link(temporary, name, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor, follow_symlinks=False)
    except (OSError, NotImplementedError) as error:
        if folder.descriptor is not None and getattr(error, "errno", 0) not in _NO_LINKS:
            raise
        if folder.look(name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from error
        folder.rename(temporary, name)
        return
    try:
        folder.unlink(temporary)
    except OSError:  # the file has its name; the second one goes with the next sweep
        folder.is_untidy = True


def add_name(folder: Folder, name: str, other: str) -> bool:
    """Give the file `name` a second name; False where it cannot have one. Raises FileNotFoundError, FileExistsError."""
    if folder.descriptor is None:
        return False
    try:
        os.link(name, other, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor, follow_symlinks=False)
    except (FileNotFoundError, FileExistsError):
        raise
    except (OSError, NotImplementedError):
        return False
    return True


def _loaded() -> Call | None:
    try:
        import _ctypes
    except ImportError:
        return None

    class Number(_ctypes._SimpleCData):  # type: ignore[type-arg]
        _type_ = "i"

    class Function(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
        _restype_ = Number

    try:
        program = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
        function = Function(_ctypes.dlsym(program, "renameat2"))
    except OSError:
        return None

    def call(one_folder: int, one: bytes, other_folder: int, other: bytes) -> int:
        return _ctypes.get_errno() if function(one_folder, one, other_folder, other, _EXCHANGE) else 0

    return call
