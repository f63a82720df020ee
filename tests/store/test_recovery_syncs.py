"""Files that a dead process left unsynced are synced before a change builds on them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.store import test_crashes
from tests.store.crash_points import dying_at, killed
from tests.store.test_crashes import call

NOTE = {"filename": "a/b.md", "content": "new"}


def prepared(root: Path) -> App:
    root.mkdir()
    return test_crashes.prepared(root)


def test_recovery_confirms_the_journal_before_it_changes_a_file(tmp_path: Path) -> None:
    """A journal whose name was never synced is synced by the recovery, before the history grows.

    Otherwise the cut could leave the cycle in the history, plan and tasks where they were, and no journal.
    """
    app = prepared(tmp_path / "first")
    with dying_at(10_000) as undisturbed:
        app.call("task_close", {}).confirm_delivery()
    commit = undisturbed.names.index("replace") + 1
    root = tmp_path / "second"
    app = prepared(root)
    assert killed(commit + 1, partial(app.call, "task_close", {})) is None  # before the sync that follows
    assert (root / ".nexus" / "state" / "txn.json").exists()
    with dying_at(10_000) as recovery:
        call(App(Workspace(str(root))), "plan_status", {})
    assert recovery.names.index("fsync") < recovery.names.index("write")


@pytest.mark.parametrize("folder", ["artifacts", "a"])
def test_a_folder_that_a_dead_process_made_is_confirmed(tmp_path: Path, folder: str) -> None:
    """An artifact that was answered does not hang below a folder whose name was never synced."""
    root = tmp_path / "project"
    app = prepared(root)
    made = next(n for n in range(1, 100) if _died_after_making(folder, tmp_path / str(n), n))
    assert killed(made, partial(app.call, "artifact_write", NOTE)) is None
    with dying_at(10_000) as seen:
        call(App(Workspace(str(root))), "artifact_write", NOTE)
    folders = ("artifacts", "a")  # the folders above have a lock file in them, so a process has synced them
    makes = [index for index, name in enumerate(seen.names) if name == "mkdir"]
    number = folders.index(folder)
    following = makes[number + 1] if number + 1 < len(makes) else seen.names.index("write")
    assert "fsync" in seen.names[makes[number] : following]


def _died_after_making(folder: str, root: Path, number: int) -> bool:
    app = prepared(root)
    killed(number, partial(app.call, "artifact_write", NOTE))
    return any(path.name == folder for path in (root / ".nexus" / "state").rglob("*"))
