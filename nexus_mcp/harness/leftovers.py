"""Remove the temporary files that a killed installation left in the folders of the recorded files.

Such a file may hold credentials, and no harness would ever remove it. It may also hold bytes that another program saved
at the moment of the kill: bytes that are stored nowhere else are moved to the vault.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from nexus_mcp.harness import HARNESSES, marks
from nexus_mcp.harness.definition import USER
from nexus_mcp.harness.files import read_if_plain
from nexus_mcp.harness.vault import Vault
from nexus_mcp.store import atomic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nexus_mcp.harness.definition import Site
    from nexus_mcp.harness.record import Record

_NAME = re.compile(re.escape(atomic.PREFIX) + r"[0-9a-f]{16}\Z")


def remove_leftovers(site: Site, record: Record, harness: str) -> list[str]:
    """Remove the temporary files beside the recorded files and, in user scope, beside the record. Return the paths of
    the copies, in the vault, of the temporary files with unknown bytes.

    The caller holds the lock, so no other installation is at work here. Raise InstallRefused.
    """
    paths = [os.path.realpath(site.path(key)) for key in (*record.files, *record.entries)]
    if site.scope == USER:
        for path in _temporary_files(site.record_folder):  # this folder holds files of nexus-mcp only
            _remove(path)
    folders = dict.fromkeys(map(os.path.dirname, paths))
    found = [path for folder in folders if _is_ours(site, folder) for path in _temporary_files(folder)]
    if not found:
        return []
    stored = _stored_hashes(site) | {marks.digest(data) for path in paths if (data := read_if_plain(path))}
    copies: list[str] = []
    for path in found:
        data = read_if_plain(path)
        if data is None:
            continue
        is_stored = not data or marks.digest(data) in stored or marks.is_marked(data.decode("utf-8", "replace"))
        if not is_stored:
            copies += Vault(site.vault, harness).copy({path: data})
        _remove(path)
    return copies


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _is_ours(site: Site, folder: str) -> bool:
    """Return whether to look into the folder: a link in a project may lead to a folder outside of it."""
    return not site.within or os.path.commonpath((site.within, folder)) == site.within


def _temporary_files(folder: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in filter(_NAME.match, names):
        path = os.path.join(folder, name)
        with suppress(OSError):
            if stat.S_ISREG(os.lstat(path).st_mode):
                yield path


def _stored_hashes(site: Site) -> set[str]:
    """Return the hashes of the bytes in the vault, and of the files as installations left them."""
    rows = [row for name in HARNESSES for row in Vault(site.vault, name).read().values()]
    after = {one for hashes, _ in rows for one in hashes.split()}
    return after | {marks.digest(before) for _, before in rows if before is not None}
