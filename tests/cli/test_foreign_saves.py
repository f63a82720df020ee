"""Another program saves a user's file while a command replaces or removes it: the save is never lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from nexus_mcp.cli import main
from nexus_mcp.store import folder  # noqa: F401 - asks what `os` can do when it is loaded, before that is replaced here
from tests.store.crash_points import dying_at, meddling_at

PLACES = ("fsync", "replace", "exchange", "link", "unlink")
"""Calls of the system before which a save is tried: those around the moment at which the file is replaced."""
CYCLE = '{"completed_at": "2025-01-01T00:00:00.000Z", "branch": "b", "plan": null, "tasks": []}'


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _empty(root: Path) -> None:
    _git(root, "init", "-q")


def _torn_history(root: Path) -> None:
    _put(root / ".nexus/history.json", '{"cycles": [' + CYCLE)


def _attributes(root: Path) -> None:
    _git(root, "init", "-q")
    _put(root / ".gitattributes", "*.txt text\n")


def _agent(root: Path) -> None:
    _put(root / ".nexus/agents/engineer/meta.yml", "id: engineer\n# mine\n")


def _added(root: Path) -> None:
    _main(root, *ADD)


def _notes(root: Path) -> None:
    _git(root, "init", "-q")
    _git(root, "config", "user.name", "a")
    _git(root, "config", "user.email", "a@b.c")
    for name in ("old", "older"):
        _put(root / f".nexus/memory/{name}.md", f"{name}\n")
        os.utime(root / f".nexus/memory/{name}.md", (1e9, 1e9))
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "Notes")


@dataclass(frozen=True)
class Scene:
    name: str
    begin: Callable[[Path], None]
    path: str
    command: tuple[str, ...]
    start: str = ""


ADD = ("capabilities", "add", "no_shell_exec", "--agent", "engineer")
META = ".nexus/agents/engineer/meta.yml"
SCENES = (
    Scene("repair", _torn_history, ".nexus/history.json", ("history", "repair", "--yes")),
    Scene("attributes", _attributes, ".gitattributes", ("init", "--git-merge")),
    Scene("ignore", _empty, ".nexus/.gitignore", ("init",)),
    Scene("add", _agent, META, ADD),
    Scene("new", _empty, META, ADD, "id: engineer\n"),
    Scene("remove", _added, META, ("capabilities", "remove", *ADD[2:])),
    Scene("clean-up", _notes, ".nexus/memory/old.md", ("memory", "gc", "--apply")),
)


def _main(root: Path, *arguments: str) -> int:
    return main([*arguments, "--project", str(root)])


def _by_rename(path: Path, text: str) -> None:
    edited = path.parents[1] / "edited"
    _put(edited, text)
    path.parent.mkdir(parents=True, exist_ok=True)
    edited.replace(path)


@pytest.mark.parametrize("save", [_put, _by_rename])
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_save_during_a_command_is_kept(scene: Scene, save: Callable[[Path, str], None], tmp_path: Path) -> None:
    """The command runs again on it, or refuses, or leaves it alone."""
    start, root = tmp_path / "start", tmp_path / "project"
    start.mkdir()
    scene.begin(start)
    shutil.copytree(start, root)
    with dying_at(1_000_000) as undisturbed:
        assert _main(root, *scene.command) == 0
    places = [number for number, name in enumerate(undisturbed.names, 1) if name in PLACES]
    assert places
    lost = []
    for place in places:
        shutil.rmtree(root)
        shutil.copytree(start, root)
        path = root / scene.path

        def meddle(_: str, path: Path = path) -> None:
            save(path, (path.read_text() if path.exists() else scene.start) + "# saved\n")

        with meddling_at(place, meddle) as seen:
            _main(root, *scene.command)
        found = [file for file in root.rglob("*") if file.is_file() and ".git" not in file.parts]
        if not any(b"# saved" in file.read_bytes() for file in found):
            lost.append((place, seen.names[place - 1 : place + 1]))
    assert lost == []
