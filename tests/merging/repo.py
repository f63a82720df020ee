"""A real git repository in which cycles are closed on branches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from nexus_mcp.merging.driver import register
from nexus_mcp.merging.repository import Repository
from tests.cli.support import CHECKOUT
from tests.merging.support import grown, numbered, titles

OWN = (sys.executable, "-m", "nexus_mcp")
HISTORY = ".nexus/history.json"


class Ran(NamedTuple):
    code: int
    out: str


class Repo:
    """A working tree at `path`; the project lies in its folder `below` ("" or "a/b/")."""

    def __init__(self, path: Path, below: str = "") -> None:
        self.path = path
        self.project = path / below
        self.history = self.project / HISTORY

    @classmethod
    def made(cls, path: Path, below: str = "") -> Repo:
        """A new one on branch main, with the merge driver and cycle 1 in its first commit."""
        repo = cls(path, below)
        repo.project.mkdir(parents=True, exist_ok=True)
        repo.git("init", "-q", "-b", "main")
        register(Repository.around(str(repo.project)), OWN)
        repo.close(1)
        return repo

    def git(self, *words: str, code: int | None = 0, **variables: str) -> Ran:
        """Run git; its exit code must be `code` (None: any). Output and complaints are in `out` together."""
        surroundings = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            **{f"GIT_{who}_{what}": f"{what}@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_EDITOR": "true",
            "PYTHONPATH": str(CHECKOUT),
            **variables,
        }
        done = subprocess.run(
            ["git", *words], cwd=self.path, env=surroundings, capture_output=True, text=True, check=False
        )
        out = done.stdout + done.stderr
        assert code is None or done.returncode == code, out
        return Ran(done.returncode, out)

    def close(self, *numbers: int) -> None:
        """Close the cycles `numbers`, each in a commit of its own."""
        for number in numbers:
            self.history.parent.mkdir(parents=True, exist_ok=True)
            before = self.history.read_bytes() if self.history.exists() else None
            self.history.write_bytes(grown(before, numbered(number)))
            self.commit(f"Close {number}")

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def branch(self, name: str, start: str, *numbers: int) -> None:
        """A branch `name` from `start` on which these cycles are closed; it is checked out then."""
        self.git("checkout", "-q", "-b", name, start)
        self.close(*numbers)

    def numbers(self) -> list[int]:
        """The numbers of the cycles in the working tree, which is as committed and was merged without a conflict."""
        return titles(self.history.read_bytes())

    def clean(self) -> bool:
        """Whether nothing is unmerged, changed or left over."""
        return self.git("status", "--porcelain").out == ""
