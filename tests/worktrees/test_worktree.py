"""The main worktree of a linked one: found only if git's own files name each other, and used as the setting says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.lifecycle.guard import answer_event
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from nexus_mcp.worktree import main_of, state_root
from tests.support import Project, plan, task, tasks


def git(at: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=n", "-c", "user.email=e", *words]
    subprocess.run(command, cwd=at, check=True, capture_output=True)


@pytest.fixture
def main(tmp_path: Path) -> Project:
    """A repository with a commit, and an open cycle in its main worktree."""
    root = tmp_path / "main"
    root.mkdir()
    git(root, "init", "-q", "-b", "trunk")
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    made = Project(root)
    made.put("state/plan.json", plan())
    made.put("state/tasks.json", tasks(task(1)))
    return made


def linked(main: Project, place: str = ".claude/worktrees/one") -> Path:
    path = main.root / place
    git(main.root, "worktree", "add", "-q", "-b", path.name, str(path))
    return Path(os.path.realpath(path))


def nexus(at: Path, *words: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "nexus_mcp", *words]
    return subprocess.run(command, cwd=at, input=data, capture_output=True, check=False)


def of_main(main: Project) -> dict[str, bytes | str]:
    return {path: data for path, data in main.snapshot().items() if path.startswith(".nexus")}


def told(at: Path, event: str, **params: Any) -> Any:
    payload = {"harness_id": "claude-code", "session_id": "s", **params}
    return json.loads(nexus(at, "hook", event, data=json.dumps(payload).encode()).stdout)


@pytest.mark.requirement("branch.shared-state")
def test_worktree_of_an_agent_shares_the_state(main: Project) -> None:
    """Below .claude/worktrees/ a session sees the main worktree's tasks; its notes and its branch are its own."""
    one = linked(main)
    (one / ".nexus/memory").mkdir(parents=True)
    (one / ".nexus/memory/own.md").write_text("# Own\n")
    main.put("memory/of-main.md", "# Main\n")
    answer = told(one, "session_start", source="startup")
    assert str(main.root) in answer["context"]
    assert "1 of 1 issues pending" in json.dumps(answer["warnings"])
    notes = told(one, "context_compact")["context"]
    assert ("own.md" in notes, "of-main.md" in notes) == (True, False)
    assert main.json("state/claude-code/agent-tracker.json") == []
    assert not (one / ".nexus/state").exists()
    assert Workspace(str(one), state_root=str(main.root)).branch() == "one"


def test_worktree_elsewhere_has_its_own_state(main: Project, tmp_path: Path) -> None:
    """A worktree that the user made has its own plan by default, and the main one's with `shared`."""
    two = linked(main, "../two")
    assert told(two, "session_start", source="startup")["warnings"] == []
    assert (two / ".nexus/state/claude-code").is_dir()
    (two / ".nexus/config.yml").write_text("worktrees: shared\n")
    assert "plan.json is left" in json.dumps(told(two, "session_start", source="startup")["warnings"])


@pytest.mark.parametrize("setting", ["worktrees: own\n", "worktrees: mine\n", "worktrees: [\n"])
def test_setting_keeps_an_agents_worktree_apart(main: Project, setting: str) -> None:
    """With `own`, and with a file that cannot be read, nothing outside of the worktree is used."""
    one = linked(main)
    (one / ".nexus").mkdir()
    (one / ".nexus/config.yml").write_text(setting)
    before = of_main(main)
    assert "plan.json is left" not in json.dumps(told(one, "session_start", source="startup"))
    assert of_main(main) == before


def test_edits_are_judged_by_the_worktree(main: Project) -> None:
    """A path counts from the worktree; the shared state is guarded there, by its path and through a hard link."""
    one = linked(main)
    os.link(main.root / ".nexus/state/plan.json", one / "copy.json")
    edit: dict[str, Any] = {
        "tool": "Edit",
        "tool_input": {"file_path": "src/a.py", "old_string": "a", "new_string": "b"},
    }
    assert told(one, "pre_tool_use", **edit)["decision"] == "allow"
    for path in ("../../../.nexus/state/plan.json", str(main.root / ".nexus/history.json"), "copy.json"):
        answer = told(one, "pre_tool_use", tool="Edit", tool_input={**edit["tool_input"], "file_path": path})
        assert answer["decision"] == "deny", path
    main.put("state/tasks.json", b"")
    (main.root / ".nexus/state/tasks.json").unlink()
    assert told(one, "pre_tool_use", **edit)["decision"] == "block"


def test_doctor_names_the_state_that_is_used(main: Project) -> None:
    """It says whose plan, tasks and history a linked worktree uses, and nothing for any other project."""
    one, two = linked(main), linked(main, "../two")
    text = {at: nexus(at, "doctor").stdout.decode() for at in (one, two, main.root)}
    assert f"those of the main worktree, {main.root}" in text[one]
    assert "this worktree's own" in text[two]
    assert "worktree" not in text[main.root]
    assert json.loads(nexus(one, "doctor", "--json").stdout)["state_root"] == str(main.root)


def test_notes_of_a_shared_worktree_are_written_there(main: Project) -> None:
    """The store writes notes into the worktree and state into the main one."""
    one = linked(main)
    store = Store(Workspace(str(one), "x", str(main.root)))
    with store.locked_nexus() as (folder, _), store.locked_state() as (state, _):
        assert folder.path == str(one / ".nexus")
        assert state.path == str(main.root / ".nexus/state")


def link_git(one: Path, main: Project) -> None:
    real = one / ".git"
    real.rename(one / "git")
    real.symlink_to(one / "git")


def rename_back(one: Path, main: Project) -> None:
    (main.root / ".git/worktrees/one/gitdir").write_text("/elsewhere/.git\n")


def other_common(one: Path, main: Project) -> None:
    (main.root / ".git/worktrees/one/commondir").write_text("../../../other\n")


def link_admin(one: Path, main: Project) -> None:
    folder = main.root / ".git/worktrees"
    folder.rename(main.root / "kept")
    folder.symlink_to(main.root / "kept")


def link_main_git(one: Path, main: Project) -> None:
    folder = main.root / ".git"
    folder.rename(main.root / "kept")
    folder.symlink_to(main.root / "kept")


def point_elsewhere(one: Path, main: Project) -> None:
    (one / ".git").write_text(f"gitdir: {main.root}/.git/worktrees/two\n")


def point_at_itself(one: Path, main: Project) -> None:
    (one / ".git").write_text(f"gitdir: {one}/.git/worktrees/one\n")


def more_lines(one: Path, main: Project) -> None:
    (one / ".git").write_text((one / ".git").read_text() + "gitdir: /x\n")


def large(one: Path, main: Project) -> None:
    (one / ".git").write_text("gitdir: /" + "x" * 5000)


def pipe(one: Path, main: Project) -> None:
    (main.root / ".git/worktrees/one/gitdir").unlink()
    os.mkfifo(main.root / ".git/worktrees/one/gitdir")


@pytest.mark.parametrize(
    "craft",
    [
        *(link_git, rename_back, other_common, link_admin, link_main_git),
        *(point_elsewhere, point_at_itself, more_lines, large, pipe),
    ],
)
def test_crafted_files_lead_nowhere(main: Project, craft: Callable[[Path, Project], None]) -> None:
    """A link on the way, or files of git that do not name each other: the worktree uses its own state."""
    one = linked(main)
    assert main_of(str(one)) == str(main.root)
    craft(one, main)
    assert main_of(str(one)) == ""
    assert state_root(str(one), "shared") == str(one)


def test_link_in_place_of_the_folder_of_worktrees_leads_nowhere(main: Project, tmp_path: Path) -> None:
    """A worktree that only a link puts below .claude/worktrees/ is no agent's."""
    (tmp_path / "far").mkdir()
    (main.root / ".claude").mkdir()
    (main.root / ".claude/worktrees").symlink_to(tmp_path / "far")
    one = linked(main)
    assert state_root(str(one), "auto") == str(one)


def test_link_in_place_of_the_shared_nexus_is_refused(main: Project, tmp_path: Path) -> None:
    """The main worktree's .nexus is opened as any other: a link there is refused, and nothing is written behind it."""
    one = linked(main)
    away = tmp_path / "far"
    main.nexus.rename(away)
    main.nexus.symlink_to(away)
    before = sorted(away.rglob("*"))
    answer = answer_event("session_start", {"source": "startup"}, Workspace(str(one), "x", str(main.root)))
    assert "link" in json.dumps(answer["warnings"])
    assert sorted(away.rglob("*")) == before


def test_submodule_has_its_own_state(main: Project, tmp_path: Path) -> None:
    """Its .git is a file, too, and names no worktree."""
    inner = main.root / "inner"
    inner.mkdir()
    (main.root / ".git/modules/inner").mkdir(parents=True)
    (inner / ".git").write_text("gitdir: ../.git/modules/inner\n")
    assert state_root(str(inner), "shared") == str(inner)
