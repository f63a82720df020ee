"""A project on a real disk, for one server alone."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.client import ROOT
from benchmarks.data.history import history
from benchmarks.data.tasks import plan_file, tasks_file

PLACE = ROOT / ".cache" / "bench" / "projects"


class Project:
    """A repository without commits on branch main, and the files of its .nexus."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.history = root / ".nexus" / "history.json"
        self.state = root / ".nexus" / "state"
        self.plan = self.state / "plan.json"
        self.tasks = self.state / "tasks.json"
        self.cache = self.state / "cache"
        for folder in (root / ".git" / "objects", root / ".git" / "refs" / "heads", self.state):
            folder.mkdir(parents=True, exist_ok=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    def give_tasks(self, count: int) -> None:
        """Reset the task list to `count` tasks; with 0 it is an empty list."""
        self._put(self.tasks, tasks_file(count))

    def give_plan(self) -> None:
        self._put(self.plan, plan_file())

    def give_history(self, count: int) -> None:
        shutil.copyfile(history(count), self.history)

    def forget_index(self) -> None:
        """Remove the derived files, which are missing after a clone, too."""
        shutil.rmtree(self.cache, ignore_errors=True)

    @staticmethod
    def _put(path: Path, data: bytes) -> None:
        unfinished = path.with_suffix(".new")
        unfinished.write_bytes(data)
        unfinished.replace(path)


@contextmanager
def projects(names: list[str]) -> Iterator[dict[str, Project]]:
    """Yield one empty project for each name, and delete them afterwards."""
    PLACE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        yield {name: Project(Path(folder, str(place))) for place, name in enumerate(names)}
