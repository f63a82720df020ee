"""Fixtures of the contract tests."""

from __future__ import annotations

import pytest

from tests.support import Client, Project, plan, task, tasks


@pytest.fixture
def full(project: Project, call: Client) -> Client:
    """A client of a project with a plan and a task, so that every smallest call succeeds."""
    project.put("state/plan.json", plan())
    project.put("state/tasks.json", tasks(task(1)))
    return call
