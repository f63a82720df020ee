"""Codex in a worktree that it makes itself, with `codex exec --worktree`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.codex import DIRECT
from tests.e2e.codex_run import Make, Run
from tests.e2e.cycle import tool

_OPTIONS = "--worktree", "--dangerously-bypass-hook-trust"


@pytest.fixture(scope="module")
def worktrees(make_codex: Make) -> Run:
    codex = make_codex(DIRECT)
    run = Run(codex)
    scratch, script = codex.scratch, codex.model.script
    codex.install("--scope", "user")
    scratch.call("task_add", title="Of the main worktree", context="c")
    for word in ("FIRST", "SHARED"):
        add = tool("task_add", title=f"Added {word}", context="c")
        script.on(f"BEGIN-{word}", tool("task_list"), tool("context"), add, {"text": "DONE"})
    codex.run("BEGIN-FIRST", *_OPTIONS)
    scratch.write(".nexus/config.yml", "worktrees: shared\n")
    scratch.git("add", ".")
    scratch.git("commit", "-q", "-m", "Share the state")
    codex.run("BEGIN-SHARED", *_OPTIONS)
    lines = scratch.git("worktree", "list", "--porcelain").splitlines()
    run.kept["folders"] = [Path(line.removeprefix("worktree ")) for line in lines if line.startswith("worktree ")]
    return run


def titles(run: Run, word: str) -> list[str]:
    listed = run.last(f"BEGIN-{word}").results("task_list")[0].value
    return [task["title"] for task in listed.get("tasks", ())]


@pytest.mark.shows("worktree")
def test_worktree_of_codex_is_outside_of_the_project_and_has_its_own_state(worktrees: Run) -> None:
    """Codex makes it in its own folder, so its tasks are its own, and those of the project stay as they are."""
    root, *linked = worktrees.kept["folders"]
    assert root == worktrees.codex.scratch.root
    assert [root in folder.parents for folder in linked] == [False, False]
    assert titles(worktrees, "FIRST") == []
    assert (linked[0] / ".nexus/state/tasks.json").exists() != (linked[1] / ".nexus/state/tasks.json").exists()


@pytest.mark.shows("worktree")
def test_setting_shares_the_state(worktrees: Run) -> None:
    """With `worktrees: shared` the session has the tasks of the main worktree, and adds one there."""
    assert titles(worktrees, "SHARED") == ["Of the main worktree"]
    stored = worktrees.codex.scratch.state("state/tasks.json")["tasks"]
    assert [task["title"] for task in stored] == ["Of the main worktree", "Added SHARED"]
