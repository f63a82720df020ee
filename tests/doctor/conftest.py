"""A project outside of git, so that a look asks no git."""

from __future__ import annotations

from pathlib import Path

import pytest

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
