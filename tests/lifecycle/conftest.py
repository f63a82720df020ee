"""Fixtures of the event tests."""

from __future__ import annotations

import pytest

from tests.lifecycle.support import Teller
from tests.support import Clock, Project


@pytest.fixture
def tell(project: Project, clock: Clock) -> Teller:
    return Teller(project.root, clock)
