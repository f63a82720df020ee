"""Keep the bytes that files had before an installation, and copies of files that were edited by hand.

Some of these files hold credentials: only the user can read the folder, git ignores it, and uninstall deletes what the
harness has in it. A copy of an edited file stays, unless a file that uninstall left has the same bytes.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nexus_mcp.errors import InstallRefused
from nexus_mcp.harness import files, marks
from nexus_mcp.harness.plain_read import read_plain
from nexus_mcp.log import printable
from nexus_mcp.store.folder import reason

if TYPE_CHECKING:
    from collections.abc import Collection

EDITED = "edited"
_INDEX = "before.json"


class Vault:
    """The stored bytes of one harness in one scope: absolute path → (hashes of the file as we left it, bytes before).

    The bytes are None if there was no file. The hashes, separated by a space, are of the last installation and of the
    one before it, whose bytes a kill may have left in the file.
    """

    def __init__(self, folder: str, harness: str) -> None:
        self._top = folder
        self._folder = os.path.join(folder, harness)

    def read(self) -> dict[str, tuple[str, bytes | None]]:
        """Return the stored rows; {} if their file is missing or unusable. Raise InstallRefused for a folder that is
        not ours.
        """
        found: dict[str, tuple[str, bytes | None]] = {}
        try:
            self._check(self._folder)
            rows: dict[str, Any] = json.loads(read_plain(os.path.join(self._folder, _INDEX)))
            for path, row in rows.items():
                before = None if row["before"] is None else base64.b64decode(row["before"])
                found[path] = (str(row["after"]), before)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}
        return found

    def write(self, rows: dict[str, tuple[str, bytes | None]]) -> None:
        """Store these rows instead of the earlier ones; without rows, do nothing. Raise InstallRefused."""
        if not rows:
            return
        self._make(self._folder)
        value = {
            path: {"after": after, "before": None if before is None else base64.b64encode(before).decode()}
            for path, (after, before) in rows.items()
        }
        target = os.path.join(self._folder, _INDEX)
        self._write(target, json.dumps(value).encode())

    def copy(self, edited: dict[str, bytes]) -> list[str]:
        """Store copies of edited files; return their paths. Raise InstallRefused."""
        made = []
        for path, data in edited.items():
            self._make(os.path.join(self._top, EDITED))
            name = f"{marks.digest(data)[7:19]}-{os.path.basename(path)}"
            made.append(os.path.join(self._top, EDITED, name))
            self._write(made[-1], data)
        return made

    def prune_copies(self, known: Collection[str]) -> list[str]:
        """Delete the copies of edited files whose hash is in `known`; return the paths of the others.

        Raise InstallRefused for a folder that is not ours.
        """
        folder = os.path.join(self._top, EDITED)
        self._check(folder)
        left = []
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            try:
                if os.path.islink(path) or marks.digest(read_plain(path)) not in known:
                    left.append(path)
                else:
                    os.unlink(path)
            except OSError:  # the bytes of an unreadable copy may be stored nowhere else
                left.append(path)
        with suppress(OSError):
            os.rmdir(folder)
        return left

    def delete(self) -> None:
        """Delete the stored rows of the harness, and the whole vault if nothing else is in it.

        Raise InstallRefused for a folder that is not ours.
        """
        self._check(self._folder)
        shutil.rmtree(self._folder, ignore_errors=True)
        with suppress(OSError):
            if os.listdir(self._top) == [".gitignore"]:
                os.unlink(os.path.join(self._top, ".gitignore"))
            os.rmdir(self._top)

    def _make(self, folder: str) -> None:
        files.make_folders(os.path.dirname(self._top))
        self._check(folder)
        for path in (self._top, folder):
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
        ignore = os.path.join(self._top, ".gitignore")
        if not os.path.lexists(ignore):
            self._write(ignore, b"*\n")

    def _check(self, folder: str) -> None:
        """Raise InstallRefused if a folder of the vault is a link or a file.

        A cloned project may have a link there, through which files outside of the project would be written or deleted.
        """
        for path in (self._top, folder):
            if os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path)):
                raise InstallRefused([f"{printable(path)} is no folder of nexus-mcp. Move it away."])

    def _write(self, path: str, data: bytes) -> None:
        temporary = f"{path}.new"
        try:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            with suppress(OSError):
                os.unlink(temporary)  # it may have the beginning of a credential
            step = "Look at that folder, then run the command again."
            raise InstallRefused([f"{printable(path)} cannot be written: {reason(error)}. {step}"]) from error
