"""Read and replace configuration files that belong to the user, without losing what another program saves meanwhile.

The new file is completed first. Then it and the old file exchange their names, and the old file is compared with the
bytes that were read; if it differs, they exchange their names again. If the system cannot exchange two names in one
step, the old file is compared before a rename replaces it.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import Any

from nexus_mcp.errors import InstallRefused, NexusError
from nexus_mcp.harness.plain_read import LIMIT, read_plain
from nexus_mcp.log import printable
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import Folder, reason

_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Interference(Exception):
    """Another program changed the file since it was read. The caller has to read it again."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class FoundFile:
    """A file as it was read: `path` as named, `real` with links resolved, `data` (None for a missing file), `info`."""

    __slots__ = ("data", "info", "path", "real")

    def __init__(self, path: str, real: str, data: bytes | None, info: os.stat_result | None) -> None:
        self.path = path
        self.real = real
        self.data = data
        self.info = info


def look(path: str, within: str = "") -> FoundFile:
    """Read the file at the absolute `path`, which may be missing. Raise InstallRefused if it cannot be read.

    Links are followed. With `within`, the project folder, links may not lead out of it: a project must not make us
    change the user's own files. Before a change call `check_replaceable`.
    """
    real = os.path.realpath(path)
    if within and os.path.commonpath((within, real)) != within:
        raise _refusal(path, f"leads out of the project, to {printable(real)}", "Replace that link by a plain file.")
    try:
        fd = os.open(real, _FLAGS)
    except FileNotFoundError:
        _check_new(path, real)
        return FoundFile(path, real, None, None)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        info = os.fstat(fd)
        _check_kind(path, info)
        with os.fdopen(os.dup(fd), "rb") as file:
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise _unusable(path, error) from error
    finally:
        os.close(fd)
    if len(data) > LIMIT:
        raise _refusal(path, f"is larger than {LIMIT >> 20} MiB", "Find out why it is so large.")
    return FoundFile(path, real, data, info)


def check_replaceable(found: FoundFile) -> None:
    """Raise InstallRefused if the file may be read, but not replaced or created."""
    if found.info is not None:
        _check_owner(found.path, found.info)
    folder = os.path.dirname(found.real)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    _check_folder(found.path, folder)


def read_settings(path: str) -> dict[str, Any]:
    """Return the settings in a JSON or TOML file, links followed; {} when they cannot be read."""
    import tomllib

    from nexus_mcp.harness import jsonc

    try:
        text = read_plain(path).decode("utf-8-sig")
        value = tomllib.loads(text) if path.endswith(".toml") else jsonc.parse(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def read_if_plain(path: str) -> bytes | None:
    """Return the bytes of a file; None if it cannot be read completely."""
    try:
        data = read_plain(path, LIMIT + 1)
    except (OSError, ValueError):
        return None
    return data if len(data) <= LIMIT else None


def missing_folders(path: str) -> list[str]:
    """Return which of the folder `path` and the folders above it do not exist, the deepest first."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    return missing


def make_folders(path: str) -> list[str]:
    """Make the folder `path` and those above it; return the new ones, the uppermost first. Raise InstallRefused."""
    made = []
    try:
        for folder in reversed(missing_folders(path)):
            with suppress(FileExistsError):
                os.mkdir(folder)
                made.append(folder)
    except OSError as error:
        remove_folders(made)
        raise _unusable(error.filename or path, error) from error
    except BaseException:
        remove_folders(made)
        raise
    return made


def remove_folders(paths: list[str]) -> None:
    """Remove those of the folders that are empty, the deepest first."""
    for path in sorted(paths, key=len, reverse=True):
        with suppress(OSError):
            os.rmdir(path)


def write(found: FoundFile, data: bytes | None) -> None:
    """Create the file with `data`, or replace it by `data`, or remove it if `data` is None.

    Raise Interference if the file has changed since it was read, and InstallRefused when the system refuses.
    """
    folder_path, name = os.path.split(found.real)
    try:
        with Folder.root(folder_path) as folder:
            if data is None:
                _remove(folder, name, found)
            elif found.data is None:
                _create(folder, name, found, data)
            else:
                _exchange(folder, name, found, data)
            with suppress(OSError):  # some file systems cannot sync a folder, and the rename is done already
                folder.sync()
    except OSError as error:
        raise _unusable(found.path, error) from error
    except InstallRefused:
        raise
    except NexusError as error:
        raise _refusal(
            found.path, f"cannot be written: {error.fault}", "Correct that, then run the command again."
        ) from error


def _create(folder: Folder, name: str, found: FoundFile, data: bytes) -> None:
    temporary = atomic.prepare(folder, [data])
    try:
        atomic.place(folder, temporary, name)
    except FileExistsError as error:
        folder.unlink(temporary)
        raise Interference(found.path) from error
    except BaseException:
        folder.unlink(temporary)
        raise


def _exchange(folder: Folder, name: str, found: FoundFile, data: bytes) -> None:
    assert found.info is not None
    temporary = atomic.prepare(folder, [data], found.info)
    try:
        _compare(folder, name, found)
        if not atomic.exchange(folder, temporary, name):
            folder.rename(temporary, name)
            return
        try:
            _compare(folder, temporary, found)
        except Interference:
            atomic.exchange(folder, temporary, name)
            raise
    finally:
        folder.unlink(temporary)


def _remove(folder: Folder, name: str, found: FoundFile) -> None:
    if found.data is None:
        return
    _compare(folder, name, found)
    aside = f"{atomic.PREFIX}{os.urandom(8).hex()}"
    folder.rename(name, aside)
    try:
        _compare(folder, aside, found)
    except Interference:
        atomic.place(folder, aside, name)
        raise
    folder.unlink(aside)


def _compare(folder: Folder, name: str, found: FoundFile) -> None:
    """Raise Interference unless the file has the bytes that were read."""
    try:
        data = folder.read(name, LIMIT)
    except NexusError as error:
        raise Interference(found.path) from error
    if data != found.data:
        raise Interference(found.path)


def _check_kind(path: str, info: os.stat_result) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise _refusal(path, "is a folder where a file belongs", "Move it away.")
    if not stat.S_ISREG(info.st_mode):
        raise _refusal(path, "is a special file where a plain one belongs", "Move it away.")


def _check_owner(path: str, info: os.stat_result) -> None:
    if hasattr(os, "geteuid") and info.st_uid != os.geteuid():
        raise _refusal(path, f"belongs to another user (uid {info.st_uid})", "Run the command as that user.")
    if not info.st_mode & stat.S_IWUSR:
        raise _refusal(path, "is read-only", f"Run chmod u+w {printable(path)} if it may be changed.")


def _check_new(path: str, real: str) -> None:
    if os.path.islink(path):
        raise _refusal(path, f"is a link to {printable(real)}, which does not exist", "Remove the link.")
    above = os.path.dirname(real)
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        raise _refusal(path, f"cannot be made: {printable(above)} is no folder", "Move that file away.")


def _check_folder(path: str, folder: str) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        problem = f"cannot be written: there is no write permission in {printable(folder)}"
        raise _refusal(path, problem, "Get that permission, then run the command again.")


def _unusable(path: str, error: OSError) -> InstallRefused:
    if error.errno == errno.ELOOP:
        return _refusal(path, "is a link in a loop of links", "Remove the link.")
    if error.errno == errno.ENOTDIR:
        return _refusal(path, "cannot be reached: a file is in the place of a folder", "Move that file away.")
    return _refusal(path, f"cannot be used: {reason(error)}", "Correct that, then run the command again.")


def _refusal(path: str, problem: str, next_step: str) -> InstallRefused:
    return InstallRefused([f"{printable(path)} {problem}. {next_step}"])
