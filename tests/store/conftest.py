"""Fixtures for tests that play hundreds of deaths."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = "/dev/shm"


@pytest.fixture
def fast_path() -> Iterator[Path]:
    """A folder of the test's own, in memory where there is such a place: fsync is free, and nothing has to survive."""
    folder = tempfile.mkdtemp(dir=MEMORY if os.path.isdir(MEMORY) else None)
    yield Path(folder).resolve()
    shutil.rmtree(folder)


@pytest.fixture
def quick_gc() -> Iterator[None]:
    """What is there already is left out of every collection: after a death one has to close what was open."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
