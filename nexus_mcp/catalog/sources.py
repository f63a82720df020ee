"""Sources of catalog files: the shipped assets, and `.nexus/` of a project."""

from __future__ import annotations

import os

from nexus_mcp.catalog.bounds import ENTRIES, NAMES, TEXT_BYTES, YAML_BYTES
from nexus_mcp.errors import CatalogError, StateError
from nexus_mcp.packaged import data_path
from nexus_mcp.store.folder import Folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Source(Protocol):
        """Reads files by path, relative and with `/`."""

        def folders(self, name: str) -> list[str]:
            """Return the folders in the folder `name`, sorted; [] when it is absent."""

        def read(self, path: str) -> bytes | None:
            """Return the bytes of a file, None when it is absent. Raises CatalogError, PathRefused, StorageError."""

        def shown(self, path: str) -> str:
            """Return the path for messages."""


AGENTS, SKILLS = "agents", "skills"
KINDS = (AGENTS, SKILLS)
META, BODY = "meta.yml", "body.md"
MAP = "capability-map.yml"
PROJECT = "project"
"""The `origin` of entries that a project adds or changes."""
MEND = "mend"
"""Field of a faulty agent: its first faulty file. Other agents do not have it."""
CLOSED = "closed"
"""Field of a project's catalog: the folder of its agents when it cannot be listed (any agent may be one of its own
then), else ""."""
LOST_MAP = "lost_map"
"""Field of a project's catalog: the path of its capability map when that is faulty, else ""."""
BODY_TOO_LARGE = f"larger than the {TEXT_BYTES >> 10} KiB of a text that leaves room for the work"
YAML_TOO_LARGE = f"larger than the {YAML_BYTES >> 10} KiB that are read"


def list_entries(folder: Folder) -> list[str]:
    """Return the possible entries in the folder of a kind, sorted: all names but files with a dot, e.g. README.md.

    Folders with a dot are included, and reading.py reports them; hidden ones (of editors, unfinished copies) are not.
    Raises StorageError, and CatalogError for too many.
    """
    there = folder.names(NAMES)
    if len(there) > NAMES:
        raise CatalogError([f"{folder.shown}: has more than the {NAMES} names that are looked at"])
    names = [name for name in there if "." not in name or _is_shown_folder(folder, name)]
    if len(names) > ENTRIES:
        raise CatalogError([f"{folder.shown}: has {len(names)} entries, more than the {ENTRIES} that are read"])
    return sorted(names)


def _is_shown_folder(folder: Folder, name: str) -> bool:
    return not name.startswith(".") and os.path.isdir(os.path.join(folder.path, name))


class Shipped:
    """The shipped files: assets/, in a checkout or in a wheel."""

    def __init__(self, root: str = "") -> None:
        self._root = root or data_path("assets")

    def folders(self, name: str) -> list[str]:
        folder = os.path.join(self._root, name)
        if not os.path.isdir(folder):
            return []
        return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())

    def read(self, path: str) -> bytes | None:
        try:
            with open(os.path.join(self._root, *path.split("/")), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def shown(self, path: str) -> str:
        return f"assets/{path}"


class Own:
    """The files of a project in its `.nexus`. No link is followed."""

    def __init__(self, nexus: Folder) -> None:
        self._nexus = nexus

    def folders(self, name: str) -> list[str]:
        folder = self._nexus.child(name)
        if folder is None:
            return []
        with folder:
            return list_entries(folder)

    def read(self, path: str) -> bytes | None:
        *parts, name = path.split("/")
        return self._read(self._nexus, parts, name, path)

    def _read(self, folder: Folder, parts: list[str], name: str, path: str) -> bytes | None:
        if parts:
            below = folder.child(parts[0])
            if below is None:
                return None
            with below:
                return self._read(below, parts[1:], name, path)
        limit, too_large = (TEXT_BYTES, BODY_TOO_LARGE) if name == BODY else (YAML_BYTES, YAML_TOO_LARGE)
        try:
            return folder.read(name, limit)
        except StateError as error:
            raise CatalogError([f"{self.shown(path)}: {too_large}"]) from error

    def shown(self, path: str) -> str:
        return f".nexus/{path}"
