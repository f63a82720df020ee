"""Read catalog files from their sources, the shipped assets and `.nexus/` of a project, within bounds.

A hook reads all files of a project while an agent waits. To read the largest catalog within the bounds takes clearly
less than 300 ms (docs/decisions/0068). A file that is too large is refused before it is parsed; at any other bound,
parsing stops.
"""

from __future__ import annotations

import json
import os

from nexus_mcp.errors import CatalogError, StateError
from nexus_mcp.packaged import data_path
from nexus_mcp.store.folder import Folder

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Protocol

    class Source(Protocol):
        """A source of files; paths are relative and have `/`."""

        def folders(self, name: str) -> list[str]:
            """Return the names of the possible entries in the folder `name`, sorted; [] when it is absent.

            Raise CatalogError, PathRefused, StorageError.
            """

        def read(self, path: str) -> bytes | None:
            """Return the bytes of a file, None when it is absent. Raise CatalogError, PathRefused, StorageError."""

        def format_path(self, path: str) -> str:
            """Return the path for messages."""


SHIPPED_NAME = "catalog.json"
"""The file in assets/ that `make catalog` builds from the other files there: parsing YAML takes too long for a hook."""
AGENTS, SKILLS = "agents", "skills"
KINDS = (AGENTS, SKILLS)
META, BODY = "meta.yml", "body.md"
MAP = "capability-map.yml"
PROJECT = "project"
"""The `origin` of entries that a project adds or changes."""
MEND = "mend"
"""The field of a faulty agent with its first faulty file. Other agents do not have the field."""
CLOSED = "closed"
"""The field of a project's catalog with the folder of its agents if that cannot be listed (then any agent may be one of
the project), else "".
"""
LOST_MAP = "lost_map"
"""The field of a project's catalog with the path of its capability map if the map is faulty, ".nexus" if the folder
`.nexus` cannot be opened, else "".
"""

YAML_BYTES = 64 << 10
YAML_VALUES = 4_000
"""The maximum number of values in a YAML file: each text, number, list, mapping and key counts as one."""
DEPTH = 32
KEY = 256
"""The maximum number of characters of a key."""
TEXT_BYTES = 256 << 10
PLACEHOLDERS = 1_000
"""The maximum number of placeholders, such as {{tool:context}}, in one text."""
ENTRIES = 200
"""The maximum number of agents of a project, and of skills of a project."""
NAMES = 2_000
"""The maximum number of names in `agents/` or `skills/`, including those that are not entries."""

ALL_YAML_BYTES = 256 << 10
ALL_VALUES = 20_000
"""The maximum number of values of all YAML files together, where each placeholder of a text counts as one."""
ALL_TEXT_BYTES = 4 << 20

BODY_TOO_LARGE = f"larger than {TEXT_BYTES >> 10} KiB, the limit for a text"
YAML_TOO_LARGE = f"larger than {YAML_BYTES >> 10} KiB, the limit for a YAML file"
TOO_MANY_VALUES = f"more than {YAML_VALUES} values, the limit for a file"
TOO_MANY_PLACEHOLDERS = f"more than {PLACEHOLDERS} placeholders, the limit for a text"
TOO_LARGE_TOGETHER = f"with the files before it, larger than {ALL_YAML_BYTES >> 10} KiB, the limit for all YAML files"
TOO_MUCH_TEXT_TOGETHER = f"with the texts before it, larger than {ALL_TEXT_BYTES >> 20} MiB, the limit for all texts"
TOO_MANY_TOGETHER = f"with the files before it, more than {ALL_VALUES} values, the limit for all files"


class Over(Exception):
    """A file exceeds the remaining room. The message names the bound."""


class Room:
    """How much may still be read of a project: bytes of YAML, bytes of text, and values.

    After the first file that does not fit, every file is refused, so that the result depends only on the order of the
    files.
    """

    __slots__ = ("is_closed", "text_bytes", "values", "yaml_bytes")

    def __init__(self) -> None:
        self.yaml_bytes = ALL_YAML_BYTES
        self.text_bytes = ALL_TEXT_BYTES
        self.values = ALL_VALUES
        self.is_closed = False

    def remaining(self) -> list[int]:
        return [self.yaml_bytes, self.text_bytes, self.values]

    def take_yaml(self, size: int) -> None:
        """Subtract bytes of YAML. Raise Over."""
        self.yaml_bytes -= size
        self._check(self.yaml_bytes, TOO_LARGE_TOGETHER)

    def take_text(self, size: int) -> None:
        """Subtract bytes of text. Raise Over."""
        self.text_bytes -= size
        self._check(self.text_bytes, TOO_MUCH_TEXT_TOGETHER)

    def take_values(self, count: int) -> None:
        """Subtract values. Raise Over."""
        self.values -= count
        self._check(self.values, TOO_MANY_TOGETHER)

    def take(self, used: list[int]) -> bool:
        """Subtract the sizes of an entry that was read earlier; if it does not fit, subtract nothing and return False.
        `used` has the sizes in the order of `remaining`.
        """
        rest = [have - want for have, want in zip(self.remaining(), used, strict=True)]
        if self.is_closed or min(rest) < 0:
            return False
        self.yaml_bytes, self.text_bytes, self.values = rest
        return True

    def _check(self, left: int, problem: str) -> None:
        if left < 0 or self.is_closed:
            self.is_closed = True
            raise Over(problem)


def read_shipped() -> dict[str, Any]:
    """Return the shipped catalog, as building.shipped_value returns it, from assets/catalog.json."""
    with open(data_path("assets", SHIPPED_NAME), encoding="utf-8") as file:
        value: dict[str, Any] = json.load(file)
    return value


def list_entries(folder: Folder) -> list[str]:
    """Return the possible entries in the folder of a kind, sorted: all names except files with a dot, e.g. README.md.

    Folders with a dot are included, and reading.py reports them. Hidden folders (of editors, unfinished copies) are
    left out. Raise StorageError, and CatalogError for too many.
    """
    there = folder.names(NAMES)
    if len(there) > NAMES:
        raise CatalogError([f"{folder.shown}: has more than {NAMES} names, the limit for this folder"])
    names = [name for name in there if "." not in name or _is_shown_folder(folder, name)]
    if len(names) > ENTRIES:
        raise CatalogError([f"{folder.shown}: has {len(names)} entries, and the limit is {ENTRIES}"])
    return sorted(names)


def _is_shown_folder(folder: Folder, name: str) -> bool:
    return not name.startswith(".") and os.path.isdir(os.path.join(folder.path, name))


class ShippedFiles:
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

    def format_path(self, path: str) -> str:
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
            raise CatalogError([f"{self.format_path(path)}: {too_large}"]) from error

    def format_path(self, path: str) -> str:
        return f".nexus/{path}"
