"""Projects in a git repository, and projects outside of any, where doctor calls no git."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import git
from tests.doctor.support import whole_cycle
from tests.support import Project


@pytest.fixture
def bare(tmp_path: Path) -> Project:
    """An empty folder, in no repository."""
    root = tmp_path / "bare"
    root.mkdir()
    return Project(root.resolve())


@pytest.fixture
def made(bare: Project) -> Project:
    """A project with an empty `.nexus`, as init makes it."""
    bare.put(".gitignore", "state/\n")
    bare.state.mkdir()
    return bare


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a commit, in which one cycle was closed."""
    root = tmp_path_factory.mktemp("template")
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "First")
    whole_cycle(root)
    return root


@pytest.fixture
def used(template: Path, tmp_path: Path) -> Project:
    """A repository of the test's own in which one cycle was closed."""
    root = tmp_path / "used"
    shutil.copytree(template, root)
    return Project(root.resolve())
