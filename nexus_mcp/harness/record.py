"""The record of the entries and files of installations: `generated.json`, tracked by git in a project.

It maps each generated file, and each entry in a file of the user, to the hash of the written content, so that edits by
hand are detected. A generated file that several harnesses use can have several owners.
"""

from __future__ import annotations

import json
from typing import Any

from nexus_mcp.errors import InstallRefused
from nexus_mcp.log import printable
from nexus_mcp.store.codec import pretty

NAME = "generated.json"
VERSION = 1
WHOLE_FILE = ""
"""Stands in `made` in place of a pointer: the installation made the whole file."""


NEXT = "next"


def hashes(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the hashes of a row of files or entries: content with one of them is ours."""
    return (row["hash"], *row.get(NEXT, "").split())


def succeed(row: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the row `new` with the hashes of the present `row` beside its own."""
    first, *more = dict.fromkeys((*hashes(row), new["hash"]))
    return {**new, "hash": first, **({NEXT: " ".join(more)} if more else {})}


class Record:
    """The record of one scope. Paths are relative to the project, absolute in user scope.

    files: path → {hash, part, owners}. entries: path → pointer → {hash, part, owner}. During an update a row also has
    `next`, the hash after the update, so that no row looks edited after a kill between two files; several kills leave
    several hashes, separated by a space. made: path → pointers of the objects and arrays that were made for the
    entries, WHOLE_FILE for the file itself. installed: harness id → {nexus_mcp: version, options}. folders: the folders
    that installations made.
    """

    __slots__ = ("entries", "files", "folders", "installed", "made")

    def __init__(self) -> None:
        self.files: dict[str, dict[str, Any]] = {}
        self.entries: dict[str, dict[str, dict[str, Any]]] = {}
        self.made: dict[str, list[str]] = {}
        self.installed: dict[str, dict[str, Any]] = {}
        self.folders: list[str] = []

    def options(self, harness: str) -> dict[str, Any]:
        """Return the options of the installation for the harness; {} without an installation."""
        found: dict[str, Any] = self.installed.get(harness, {}).get("options", {})
        return found

    def entry(self, path: str, pointer: str) -> dict[str, Any] | None:
        """Return the row of an entry; None if the entry is not recorded."""
        return self.entries.get(path, {}).get(pointer)

    def owned_files(self, harness: str) -> list[str]:
        """Return the files of which the harness is an owner."""
        return [path for path, row in self.files.items() if harness in row["owners"]]

    def owned_entries(self, harness: str) -> list[tuple[str, str]]:
        """Return (path, pointer) of the entries of a harness."""
        return [
            (path, pointer)
            for path, rows in self.entries.items()
            for pointer, row in rows.items()
            if row["owner"] == harness
        ]

    def parts(self, harness: str) -> list[str]:
        """Return the parts that are installed for a harness."""
        parts = [self.files[path]["part"] for path in self.owned_files(harness)]
        parts += [self.entries[path][pointer]["part"] for path, pointer in self.owned_entries(harness)]
        return list(dict.fromkeys(parts))

    def forget_entry(self, path: str, pointer: str) -> None:
        """Remove an entry from the record; after the last entry of a file, remove the file from the record, too."""
        self.entries.get(path, {}).pop(pointer, None)
        if not self.entries.get(path, True):
            del self.entries[path]
            self.made.pop(path, None)

    def add_made(self, path: str, pointers: list[str]) -> None:
        """Record what was made for an entry: pointers of objects and arrays in the file, or WHOLE_FILE."""
        if pointers:
            self.made[path] = sorted({*self.made.get(path, ()), *pointers})

    def disown(self, path: str, harness: str) -> None:
        """Remove an owner of a generated file from the record; after the last owner, remove the file from it, too."""
        row = self.files[path]
        row["owners"] = [owner for owner in row["owners"] if owner != harness]
        if not row["owners"]:
            del self.files[path]

    def encode(self) -> bytes | None:
        """Return the bytes of the file; None when nothing is installed."""
        if not (self.files or self.entries or self.installed):
            return None
        value = {
            "version": VERSION,
            "installed": dict(sorted(self.installed.items())),
            "files": dict(sorted(self.files.items())),
            "entries": {path: dict(sorted(rows.items())) for path, rows in sorted(self.entries.items())},
            "made": dict(sorted(self.made.items())),
            "folders": sorted(set(self.folders)),
        }
        return f"{pretty(value)}\n".encode()


def decode(data: bytes | None, shown: str) -> Record:
    """Return the record from the bytes of its file; an empty one for None. Raise InstallRefused."""
    record = Record()
    if data is None:
        return record
    try:
        value = json.loads(data)
        _check(value)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        problem = f"{printable(shown)} is not a record of installations"
        raise InstallRefused(
            [f"{problem}. Restore it from git, or move it away: all installed entries and files then count as yours."]
        ) from None
    if value["version"] > VERSION:
        raise InstallRefused([f"{printable(shown)} was written by a newer nexus-mcp. Update nexus-mcp."])
    record.files = value["files"]
    record.entries = value["entries"]
    record.made = value["made"]
    record.installed = value["installed"]
    record.folders = value["folders"]
    return record


def _check(value: Any) -> None:
    """Raise an error for a value of another shape: a merge or an edit may have changed the file."""
    if not isinstance(value["version"], int):
        raise TypeError("version")
    for path, row in value["files"].items():
        _check_texts(path, *hashes(row), row["part"], *row["owners"])
    for path, rows in value["entries"].items():
        for pointer, row in rows.items():
            _check_texts(path, pointer, *hashes(row), row["part"], row["owner"])
    for path, pointers in value["made"].items():
        _check_texts(path, *pointers)
    for name, row in value["installed"].items():
        _check_texts(name, row["nexus_mcp"], *row["options"])
    _check_texts(*value["folders"])


def _check_texts(*values: object) -> None:
    if not all(isinstance(value, str) for value in values):
        raise TypeError("a text is missing")
