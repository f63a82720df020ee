"""Somebody without our lock writes the history while a close does: what he wrote is not lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from unittest.mock import patch

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store import journal
from nexus_mcp.workspace import Workspace
from tests.store.history.made import CYCLE, OLD, ours_of

THEIRS = {**CYCLE, "branch": "theirs"}


@pytest.mark.parametrize("before", [None, [CYCLE]])
@pytest.mark.parametrize("in_place", [False, True])
def test_a_history_written_after_the_commit_point_keeps_both(
    fast_path: Path, before: list[object] | None, in_place: bool
) -> None:
    """The close has happened by then: its cycle goes to the end of what is there."""
    path = fast_path / ".nexus" / "history.json"
    app = App(Workspace(str(fast_path)))
    app.call("task_add", {"title": "t", "context": "c"}, "").delivered()
    if before is not None:
        path.write_bytes(ours_of([CYCLE]))
        os.utime(path, OLD)
    real = journal.apply

    def apply(*arguments: object) -> None:
        data = ours_of([*[CYCLE] * (before is not None), THEIRS])
        if in_place:
            path.write_bytes(data)
        else:
            new = path.with_name("new")
            new.write_bytes(data)
            new.replace(path)
        real(*arguments)  # type: ignore[arg-type]

    with patch.object(journal, "apply", apply):
        answer = app.call("task_close", {}, "")
    assert not answer.result["isError"]
    answer.delivered()
    branches = [cycle["branch"] for cycle in json.loads(path.read_bytes())["cycles"]]
    assert branches[:-1] == ["b"] * (before is not None) + ["theirs"]
    assert sorted(os.listdir(path.parent)) == [".gitignore", "history.json", "state"]
    assert json.loads(path.read_bytes())["cycles"][-1]["tasks"][0]["title"] == "t"
