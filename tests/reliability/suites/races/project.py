"""A project, an outside folder to which links lead, and the check of both afterwards."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.reliability.suites.races.exchange import PARKED

CHAIN = (".nexus", "state", "artifacts", "a", "b")  # folders, each within the one before; all are swapped
NAMES = ("note.md", "a/note.md", "a/b/note.md")  # artifacts that are swapped, too
CALM = "a/b/calm.md"  # an artifact that is never swapped, so its acknowledged content must stay
CANARY = b"canary\n"


@dataclass(frozen=True)
class Point:
    """A name that is swapped: the open folder that contains it, the target of its link, its name for messages."""

    fd: int
    name: str
    target: str
    shown: str

    def replant(self) -> None:
        """Park a link again if a write has replaced or removed it."""
        parked = self.name + PARKED
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.lstat(parked, dir_fd=self.fd).st_mode):
                return
            os.unlink(parked, dir_fd=self.fd)
        os.symlink(self.target, parked, dir_fd=self.fd)


class Ground:
    """The project below `folder`. `points` are the folders of CHAIN and the files, a link parked beside each."""

    def __init__(self, folder: Path) -> None:
        self.project, self.outside = folder / "project", folder / "outside"
        self.project.mkdir()
        self.app = App(Workspace(str(self.project), "nexus-mcp"))
        self.points: list[Point] = []
        for name in (*NAMES, CALM):
            assert self.write(name, "first") == "", name
        above = self.project
        for depth, part in enumerate(CHAIN):
            self._add(above, part, self._outside_of(depth), is_folder=True)
            above = above / part
        for beside in (self.project / ".nexus", self.project / ".nexus/state"):
            for name in sorted(entry.name for entry in os.scandir(beside) if entry.is_file(follow_symlinks=False)):
                self._add(beside, name, self.outside / "file", is_folder=False)
        for name in NAMES:
            place = self.project.joinpath(*CHAIN[:3], *name.split("/"))
            self._add(place.parent, place.name, self.outside / "file", is_folder=False)
        self._innermost = os.open(above, os.O_RDONLY)
        self._settle()

    def write(self, name: str, content: str) -> str:
        """Make one attempt: return "" if it was written, else the refusal."""
        answer = self.app.call("artifact_write", {"filename": name, "content": content})
        answer.confirm_delivery()
        result = answer.result
        return str(result["structuredContent"]["error"]) if result["isError"] else ""

    def calm(self) -> bytes:
        """Return the content of the artifact CALM, whatever name its folder has at the moment."""
        fd = os.open(CALM.rpartition("/")[2], os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._innermost)
        with os.fdopen(fd, "rb") as file:
            return file.read()

    def trespasses(self) -> list[str]:
        """Return the changes outside of the project, and the new entries beside `.nexus`.

        A new file that was removed again is detected, too: it has changed the time of its folder.
        """
        changed = [path for path, number in self._before if _look(path) != (number, 0)]
        around = {*os.listdir(self.project)} - {CHAIN[0], CHAIN[0] + PARKED}
        return [
            *(f"outside{path.removeprefix(str(self.outside))} changed" for path in changed),
            *(f"{name} appeared beside .nexus" for name in sorted(around)),
        ]

    def move_copies_away(self) -> None:
        """Remove the kept copies of what was swapped in: where 64 lie beside a file, it is no longer replaced."""
        for folder, _, names in os.walk(self.project.joinpath(*CHAIN[:3])):
            for name in names:
                if name.startswith("conflict-"):
                    os.unlink(os.path.join(folder, name))

    def remove_links(self) -> None:
        """Remove the links that have the name of an artifact.

        While 64 copies lie beside a file, a link that was swapped in gets its name back. If the other process has
        exchanged the names in between, the link stays when all swaps have ended.
        """
        for name in NAMES:
            place = self.project.joinpath(*CHAIN[:3], name)
            if place.is_symlink():
                place.unlink()

    def close(self) -> None:
        for fd in (self._innermost, *(point.fd for point in self.points)):
            os.close(fd)

    def _add(self, folder: Path, name: str, target: Path, *, is_folder: bool) -> None:
        target.mkdir(parents=True, exist_ok=True) if is_folder else target.write_bytes(CANARY)
        (folder / (name + PARKED)).symlink_to(target)
        fd = os.open(folder, os.O_RDONLY)
        self.points.append(Point(fd, name, str(target), str((folder / name).relative_to(self.project))))

    def _outside_of(self, depth: int) -> Path:
        """Return an outside folder to stand in for the one at this depth: it has the deeper folders and files."""
        start = self.outside / str(depth)
        for length in range(len(CHAIN) - depth):
            folder = start.joinpath(*CHAIN[depth + 1 : depth + 1 + length])
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("note.md", ".gitignore", "history.json", "plan.json"):
                (folder / name).write_bytes(CANARY)
            for name in ("lock", "oplog.jsonl"):
                (folder / name).touch()
        return start

    def _settle(self) -> None:
        """Give all files outside the time 0, so that any change there shows."""
        paths = [str(path) for path in (self.outside, *self.outside.rglob("*"))]
        for path in paths:
            os.utime(path, ns=(0, 0))
        self._before = [(path, os.lstat(path).st_ino) for path in paths]


def _look(path: str) -> tuple[int, int] | None:
    """Return (inode number, time of the last change) of a file or folder; None when it is gone."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return None
    return info.st_ino, info.st_mtime_ns


@contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    """Yield a Ground in this folder, and close it afterwards."""
    made = Ground(folder)
    try:
        yield made
    finally:
        made.close()
