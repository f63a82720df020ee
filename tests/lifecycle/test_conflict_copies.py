"""Hooks name the conflict copies of files that another program saved."""

from __future__ import annotations

import pytest

from tests.lifecycle.support import Teller
from tests.support import Project

COPY = "conflict-0123456789abcdef-"


@pytest.mark.parametrize("event", ["user_message", "session_start"])
def test_copies_are_reported_while_they_exist(tell: Teller, project: Project, event: str) -> None:
    """Copies of the session files, the history, a note and an artifact in any folder are reported."""
    paths = [
        f"state/{COPY}tasks.json",
        f"{COPY}history.json",
        f"memory/{COPY}note.md",
        f"state/artifacts/a.b/c/{COPY}note.md",
    ]
    for path in paths:
        project.put(path, "saved")
    for _ in range(2):
        told = tell(event, session_id="s")["context"]
        assert all(f".nexus/{path}" in told for path in paths)
    for path in paths:
        (project.nexus / path).unlink()
    assert "conflict-" not in tell(event, session_id="s").get("context", "")


def test_artifact_with_a_similar_name_is_no_copy(tell: Teller, project: Project) -> None:
    """Only a file whose name has the id of a copy is reported."""
    project.put("state/artifacts/conflict-resolution.md", "ours")
    project.put("memory/conflict-resolution.md", "ours")
    assert "conflict-" not in tell("user_message", session_id="s").get("context", "")
