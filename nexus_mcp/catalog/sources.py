"""Where agents, skills, vocabulary and maps lie: what is shipped, and `.nexus/` of a project."""

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
        """Files by their path from a folder, with `/`."""

        def folders(self, name: str) -> list[str]:
            """The folders in the folder `name`, sorted; none when it is absent."""

        def read(self, path: str) -> bytes | None:
            """The bytes of a file, None when it is absent. Raises CatalogError, PathRefused, StorageError."""

        def shown(self, path: str) -> str:
            """The path as messages name it."""


AGENTS, SKILLS = "agents", "skills"
KINDS = (AGENTS, SKILLS)
META, BODY = "meta.yml", "body.md"
MAP = "capability-map.yml"
PROJECT = "project"
"""The `origin` of what a project adds or changes."""
MEND = "mend"
"""The member of an agent with a fault in its files that names the first of them; others have none."""
CLOSED = "closed"
"""The member of what a project's files come to that names the folder of its agents where that cannot be listed, else
"": any agent may be one of its own then."""
LOST_MAP = "lost_map"
"""The member that names the project's capability map where something is wrong with it, else ""."""
BODY_TOO_LARGE = f"larger than the {TEXT_BYTES >> 10} KiB of a text that leaves room for the work"
YAML_TOO_LARGE = f"larger than the {YAML_BYTES >> 10} KiB that are read"


def named(folder: Folder) -> list[str]:
    """What may be an entry of a kind in its folder, sorted: all but files with a dot, as a README.md is one.

    A folder with a dot in its name is among them, as a fault that reading.py tells; not one that is hidden, as editors
    have, or a copy of an entry that was not finished. Raises StorageError, and CatalogError for too many.
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
    """What comes with the package: assets/, in a checkout or in a wheel."""

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
    """What a project has in its `.nexus`. No link is followed."""

    def __init__(self, nexus: Folder) -> None:
        self._nexus = nexus

    def folders(self, name: str) -> list[str]:
        folder = self._nexus.child(name)
        if folder is None:
            return []
        with folder:
            return named(folder)

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
