"""Random merges, cherry-picks and rebases: each branch has exactly the cycles that it must have."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.merging.repo import HISTORY, Repo
from tests.merging.support import titles

STEPS = 12


class Life:
    """A repository and, for each branch, the cycles that it has by the rules of docs/merging.md."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.cycles = {"main": {1}}
        self.number = 1

    def close(self, branch: str, _: str) -> None:
        self.number += 1
        self.repo.close(self.number)
        self.cycles[branch] = self.cycles[branch] | {self.number}

    def fork(self, branch: str, _: str) -> None:
        name = f"branch{len(self.cycles)}"
        self.repo.git("checkout", "-q", "-b", name)
        self.cycles[name] = self.cycles[branch]

    def merge(self, branch: str, other: str) -> None:
        self.repo.git("merge", "--no-edit", other)
        self.cycles[branch] = self.cycles[branch] | self.cycles[other]

    def rebase(self, branch: str, other: str) -> None:
        self.repo.git("rebase", other)
        self.cycles[branch] = self.cycles[branch] | self.cycles[other]

    def pick(self, branch: str, other: str) -> None:
        parents = self.repo.git("rev-list", "--parents", "-n", "1", other).out.split()[1:]
        if len(parents) == 1:
            before = titles(self.repo.git("show", f"{parents[0]}:{HISTORY}").out.encode())
            self.repo.git("cherry-pick", "--allow-empty", "--keep-redundant-commits", other)
            self.cycles[branch] = self.cycles[branch] | (self.cycles[other] - set(before))


@pytest.mark.parametrize("seed", range(4))
def test_random_operations_never_conflict(tmp_path: Path, seed: int) -> None:
    """No step conflicts, and after each of them the branch has exactly its cycles, in order."""
    choose = random.Random(seed)
    life = Life(Repo.made(tmp_path / "repo"))
    for _ in range(STEPS):
        step = choose.choice([life.close, life.close, life.fork, life.merge, life.merge, life.rebase, life.pick])
        branch, other = (choose.choice(list(life.cycles)) for _ in range(2))
        life.repo.git("checkout", "-q", branch)
        step(branch, other)
        life.repo.git("checkout", "-q", branch)
        assert life.repo.numbers() == sorted(life.cycles[branch])
        assert life.repo.clean()
