"""Trees on a real disk, and the values in a project's files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from nexus_mcp.store.atomic import PREFIX
from tests.reliability.suites.powercut.disk import Tree


@contextmanager
def put_tree(root: Path, tree: Tree) -> Iterator[None]:
    """Make the folder `root` with this content, and remove it after the block."""
    root.mkdir()
    try:
        for path in sorted(tree):
            data = tree[path]
            if data is None:
                (root / path).mkdir()
            else:
                (root / path).write_bytes(data)
        yield
    finally:
        shutil.rmtree(root)


def tree_of(root: Path) -> Tree:
    """Return all entries below a folder."""
    return {path.relative_to(root).as_posix(): None if path.is_dir() else path.read_bytes() for path in root.rglob("*")}


@contextmanager
def known_as(root: Path, infos: Mapping[str, os.stat_result]) -> Iterator[None]:
    """During the block the files at these paths have the inode numbers and times from before the power cut."""
    known = {}
    for path, info in infos.items():
        found = os.stat(root / path)
        known[found.st_dev, found.st_ino, found.st_mtime_ns] = info

    def told(found: os.stat_result) -> os.stat_result:
        info = known.get((found.st_dev, found.st_ino, found.st_mtime_ns))
        if info is None:
            return found
        names = ("st_atime_ns", "st_mtime_ns", "st_ctime_ns")
        same = (found.st_mode, info.st_ino, info.st_dev, *found[3:])
        return os.stat_result(same, {name: getattr(info, name) for name in names})

    stat, fstat = os.stat, os.fstat
    if not known:
        yield
        return
    with (
        patch.object(os, "stat", lambda *args, **named: told(stat(*args, **named))),
        patch.object(os, "fstat", lambda fd: told(fstat(fd))),
    ):
        yield


def state_of(root: Path) -> str:
    """Return history, plan, tasks and artifacts as one JSON text. Raise ValueError for a torn file."""
    nexus = root / ".nexus"
    artifacts = nexus / "state" / "artifacts"
    found: dict[str, Any] = {
        name: _parsed(nexus / path)
        for name, path in (("history", "history.json"), ("plan", "state/plan.json"), ("tasks", "state/tasks.json"))
    }
    found["artifacts"] = {
        path.relative_to(artifacts).as_posix(): path.read_text()
        for path in sorted(artifacts.rglob("*"))
        if path.is_file() and not path.name.startswith((PREFIX, "conflict-"))
    }
    return json.dumps(found)


def conflicts(root: Path) -> list[str]:
    """Return the contents that were set aside: artifacts as text, session files as compact JSON."""
    found = sorted((root / ".nexus" / "state").rglob("conflict-*"))
    return [json.dumps(_parsed(path)) if path.suffix == ".json" else path.read_text() for path in found]


def leftovers(root: Path) -> list[str]:
    """Return the temporary files in the folders that the next change has to sweep."""
    nexus = root / ".nexus"
    return sorted(path.name for folder in (nexus, nexus / "state") for path in folder.glob(f"{PREFIX}*"))


def short(name: str) -> str:
    """Return the name of a file for messages: the names of temporary files are random."""
    return "the temporary file" if name.startswith(PREFIX) else name


def _parsed(path: Path) -> Any:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path.name} is torn: {text[:60]!r}") from error
