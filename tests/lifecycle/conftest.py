"""Fixtures of the event tests."""

from __future__ import annotations

import pytest

from tests.lifecycle.progress_texts import PLAN, TASKS, THE_PLAN, THE_TASKS
from tests.lifecycle.support import Teller, put
from tests.support import Clock, Project


@pytest.fixture
def tell(project: Project, clock: Clock) -> Teller:
    return Teller(project.root, clock)


@pytest.fixture
def working(project: Project) -> Project:
    """A project with a plan and tasks."""
    put(project, PLAN, THE_PLAN)
    put(project, TASKS, THE_TASKS)
    return project
