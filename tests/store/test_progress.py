"""The stages that the store notes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from nexus_mcp import progress
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


def _stages(app: App, tool: str, **arguments: object) -> list[str]:
    found: list[str] = []
    with progress.listening(found.append):
        assert not app.call(tool, arguments).result["isError"]
    return found


@pytest.mark.parametrize("cycles", [3, 3000])
def test_search_notes_its_stages(tmp_path: Path, cycles: int) -> None:
    """A search of a history that was not read before notes the reading, then the search; a large one several times."""
    cycle: dict[str, object] = {
        "completed_at": "2026-01-01T00:00:00.000Z",
        "branch": "main",
        "plan": None,
        "tasks": [],
        "x": "y" * 4000,
    }
    (tmp_path / ".nexus").mkdir()
    (tmp_path / ".nexus" / "history.json").write_text(json.dumps({"cycles": [cycle] * cycles}))
    found = _stages(App(Workspace(str(tmp_path))), "history_search", query="none")
    assert set(found) == {progress.READING, progress.SEARCHING}
    assert found.index(progress.SEARCHING) > found.index(progress.READING)
    assert (len(found) > 4) is (cycles == 3000)


def test_close_notes_that_it_writes(tmp_path: Path) -> None:
    """A close notes the stage in which its files are written."""
    app = App(Workspace(str(tmp_path)))
    app.call("task_add", {"title": "T", "context": "C"})
    assert progress.WRITING in _stages(app, "task_close")


def test_listener_is_that_of_the_innermost_block_and_of_one_thread() -> None:
    """Blocks restore the listener of the block around them, and without a block a note is dropped."""
    outer: list[str] = []
    inner: list[str] = []
    progress.note("nobody listens")
    with progress.listening(outer.append):
        with progress.listening(inner.append):
            progress.note("a")
        with progress.listening(None):
            progress.note("b")
        progress.note("c")
    assert (outer, inner) == (["c"], ["a"])
