"""Write a folder of generated files as a whole: a package, or an export of the plan, tasks and history.

The new folder is completed beside the old one, then takes its name. If the system can exchange two names in one step, a
kill leaves either the old files or the new ones. A record in the folder has the hash of each file, so that edits by
hand, and a folder that is not ours, are detected.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp import __version__
from nexus_mcp.errors import EditedByHand, InstallRefused
from nexus_mcp.harness import marks
from nexus_mcp.harness.carry_out import signals_wait
from nexus_mcp.harness.packages.definition import json_file
from nexus_mcp.harness.plain_read import read_plain
from nexus_mcp.log import printable
from nexus_mcp.store import atomic
from nexus_mcp.store.folder import Folder, reason

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
_LIMIT = 64 << 20
_LEFT = re.compile(rf"{re.escape(atomic.PREFIX)}[0-9a-f]{{16}}(?:-old)?")
"""The names of the temporary folders that `_place` makes."""
_OLD = "-old"
_ABANDONED_S = 3600
ADDED, UPDATED, SAME = "written", "updated", "unchanged"


class Kind(NamedTuple):
    """A kind of folder: the file name of its record, and its noun in messages and in the record."""

    record: str
    noun: str


PACKAGE = Kind(".nexus-package.json", "package")
EXPORT = Kind(".nexus-export.json", "export")


def write(folder: str, name: str, files: Mapping[str, bytes], kind: Kind = PACKAGE) -> str:
    """Write the files of the package or export `name` as the folder `folder`; return ADDED, UPDATED or SAME.

    ADDED is for a new or empty folder. Raise InstallRefused if the folder cannot be written, is not ours or has another
    package or export, EditedByHand if a user edited files in it.
    """
    path = os.path.abspath(folder)
    shown = printable(path)
    real = os.path.realpath(path)
    try:
        known = _look(kind, real, shown, name)
    except OSError as error:
        raise _unusable(shown, error) from error
    hashes = {key: marks.digest(data) for key, data in sorted(files.items())}
    record = json_file({"version": VERSION, kind.noun: name, "nexus_mcp": __version__, "files": hashes})
    if known == {**hashes, kind.record: marks.digest(record)}:
        return SAME
    with signals_wait():
        _place(real, shown, {**files, kind.record: record}, known or {})
    return UPDATED if known else ADDED


def _look(kind: Kind, path: str, shown: str, name: str) -> dict[str, str] | None:
    """Return path → hash of the files in the folder, including the record; {} if it is empty, None if there is none.

    Raise InstallRefused, EditedByHand, OSError.
    """
    above = os.path.dirname(path)
    if not os.path.isdir(above):
        raise InstallRefused([f"{printable(above)} does not exist. Make that folder first."])
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISDIR(info.st_mode):
        raise InstallRefused([f"{shown} is no folder. Name one that is empty or new."])
    if os.path.join(os.path.realpath(os.curdir), "").startswith(os.path.join(path, "")):
        raise InstallRefused([f"{shown} is the folder you are in, and would be replaced. Name a folder in it."])
    if not info.st_mode & stat.S_IWUSR:
        raise InstallRefused([f"{shown} is read-only. Name another folder."])
    if not os.listdir(path):
        return {}
    recorded = _read_record(kind, path, shown)
    if recorded[kind.noun] != name:
        there = printable(str(recorded[kind.noun]))[:40]
        raise InstallRefused([f"{shown} has the {kind.noun} {there}. Name another folder."])
    found = _hashes(path)
    own = found.pop(kind.record)
    if edits := sorted(key for key in {*found, *recorded["files"]} if found.get(key) != recorded["files"].get(key)):
        faults = [f"{printable(os.path.join(path, key))} was {_edit(key, found, recorded['files'])}." for key in edits]
        raise EditedByHand(faults, next_step="Name another folder, or move this one away.")
    return {**found, kind.record: own}


def _edit(key: str, found: Mapping[str, str], recorded: Mapping[str, str]) -> str:
    return "added" if key not in recorded else "edited by hand" if key in found else "deleted"


def _read_record(kind: Kind, path: str, shown: str) -> dict[str, Any]:
    """Return the record. Raise InstallRefused if it is missing, unreadable or malformed."""
    with suppress(OSError, ValueError, RecursionError):
        value: dict[str, Any] = json.loads(read_plain(os.path.join(path, kind.record), _LIMIT))
        files = value.get("files") if isinstance(value, dict) else None
        if isinstance(files, dict) and isinstance(value.get(kind.noun), str):
            return value
    what = f"{shown} is not empty, and is no {kind.noun} of nexus-mcp"
    raise InstallRefused([f"{what}. Name a folder that is empty or new."])


def _hashes(path: str) -> dict[str, str]:
    """Return path → hash of the first _LIMIT bytes of each file below the folder; the hash of a link or special file is
    "". Raise OSError.
    """
    found = {}
    for place, folders, names in os.walk(path, onerror=_raise):
        for name in [*names, *(one for one in folders if os.path.islink(os.path.join(place, one)))]:
            full = os.path.join(place, name)
            key = os.path.relpath(full, path).replace(os.sep, "/")
            if not stat.S_ISREG(os.lstat(full).st_mode):
                found[key] = ""
                continue
            with open(full, "rb") as file:
                found[key] = marks.digest(file.read(_LIMIT))
    return found


def _raise(error: OSError) -> None:
    raise error


def _place(path: str, shown: str, files: Mapping[str, bytes], known: Mapping[str, str]) -> None:
    """Write the files into a new folder, and replace the folder `path`, whose files are `known`, by it.

    Raise InstallRefused if that fails; the old folder then stays in its place.
    """
    above, name = os.path.split(path)
    _sweep(above)
    temporary = f"{atomic.PREFIX}{os.urandom(8).hex()}"
    made = os.path.join(above, temporary)
    filled = None
    try:
        _fill(made, files)
        filled = os.lstat(made)
        with Folder.root(above) as folder:
            if not known:
                folder.rename(temporary, name)  # the rename replaces an empty folder
            else:
                _replace(folder, temporary, path, shown, known)
            with suppress(OSError):  # some file systems cannot sync a folder
                folder.sync()
    except OSError as error:
        if old := _displaced(made, filled):
            fault = f"{shown} cannot be written: {reason(error)}. Its files are in {printable(old)}: move them back."
            raise InstallRefused([fault], is_unchanged=False) from error
        raise _unusable(shown, error) from error
    finally:
        if _displaced(made, filled) != made:
            shutil.rmtree(made, ignore_errors=True)


def _displaced(made: str, filled: os.stat_result | None) -> str:
    """Return the temporary path that the old folder has after failed renames, "" if it has none. `filled` is the stat
    of the new folder, which was made as `made`; None before it was complete.
    """
    if os.path.lexists(f"{made}{_OLD}"):
        return f"{made}{_OLD}"
    with suppress(OSError):
        if filled is not None and not os.path.samestat(filled, os.lstat(made)):
            return made
    return ""


def _replace(folder: Folder, new: str, path: str, shown: str, known: Mapping[str, str]) -> None:
    """Replace the folder `path`, whose files are `known`, by the folder `new` beside it, and delete the old one.

    Raise InstallRefused if the old one has other files now, OSError if a rename fails. The old folder then stays in its
    place; if it cannot be put back there, it is kept, and InstallRefused names it.
    """
    name, aside = os.path.basename(path), f"{new}{_OLD}"
    _exchange(folder, new, name, aside)
    old = os.path.join(os.path.dirname(path), aside)
    try:
        is_known = _hashes(old) == known
    except OSError:
        is_known = False
    if is_known:
        _delete(old, known)
        return
    what = f"{shown} was changed meanwhile"
    try:
        _exchange(folder, aside, name, new)
    except OSError as error:
        fault = f"{what}, and cannot be restored: {reason(error)}. Its files are in {printable(old)}."
        raise InstallRefused([fault], is_unchanged=False) from error
    raise InstallRefused([f"{what}. Run the command again."])


def _delete(path: str, known: Mapping[str, str]) -> None:
    """Delete a folder, its record last: by the record a later command knows what a kill left of it."""
    records = {kind.record for kind in (PACKAGE, EXPORT)}
    for name in known.keys() - records:
        with suppress(OSError):
            os.unlink(os.path.join(path, *name.split("/")))
    shutil.rmtree(path, ignore_errors=True)


def _sweep(folder: str) -> None:
    """Remove the temporary folders of killed processes in `folder` whose last change is more than an hour ago.

    An old folder that was moved away stays unless it has the files of its record alone: a user may have changed it.
    """
    with suppress(OSError):
        for entry in os.scandir(folder):
            if _LEFT.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    info = entry.stat(follow_symlinks=False)
                    is_left = max(info.st_mtime, info.st_ctime) < time.time() - _ABANDONED_S
                    if is_left and not (entry.name.endswith(_OLD) and _is_edited(entry.path)):
                        shutil.rmtree(entry.path, ignore_errors=True)


def _is_edited(path: str) -> bool:
    """Return whether a folder has files that its record does not have so, or files and no usable record. Raise OSError.

    A missing file is no edit: a process may have been killed while it deleted the folder.
    """
    found = _hashes(path)
    for kind in (PACKAGE, EXPORT):
        if found.pop(kind.record, None) is not None:
            with suppress(InstallRefused):
                files = _read_record(kind, path, path)["files"]
                return any(files.get(name) != digest for name, digest in found.items())
    return bool(found)


def _fill(folder: str, files: Mapping[str, bytes]) -> None:
    """Make the folder with the files. Raise OSError."""
    os.mkdir(folder)
    for key, data in files.items():
        target = os.path.join(folder, *key.split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def _exchange(folder: Folder, new: str, name: str, aside: str) -> None:
    """Rename the folder `name` to `aside`, and the folder `new` to `name`.

    If the system has a call for that, the two folders first exchange their names in one step. Raise OSError if a rename
    fails; the old folder then stays in its place.
    """
    if atomic.exchange(folder, new, name):
        try:
            folder.rename(new, aside)
        except BaseException:
            atomic.exchange(folder, new, name)
            raise
        return
    folder.rename(name, aside)
    try:
        folder.rename(new, name)
    except BaseException:
        folder.rename(aside, name)
        raise


def _unusable(shown: str, error: OSError) -> InstallRefused:
    return InstallRefused([f"{shown} cannot be written: {reason(error)}. Correct that, or name another folder."])
