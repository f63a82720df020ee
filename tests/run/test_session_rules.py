"""Sessions of a run leave plan and tasks alone, use the shared state, and other sessions see what a run works on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.cli import main
from nexus_mcp.run.run_folder import run_folder
from nexus_mcp.server.app import App
from nexus_mcp.store import tasks_extension
from nexus_mcp.store.folder import Folder
from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.definition import ARTIFACT_WRITE, READING
from nexus_mcp.workspace import Workspace, run_denial
from nexus_mcp.worktree import state_root
from tests.lifecycle.support import Teller
from tests.run.runs import Ground, git
from tests.support import Project, task, tasks

ALLOWED = tuple(tool.name for tool in TOOLS if {*tool.classes} <= {READING, ARTIFACT_WRITE})
DENIED = tuple(tool.name for tool in TOOLS if tool.name not in ALLOWED)
CLASSES = {tool.name: tool.classes for tool in TOOLS}


@pytest.mark.parametrize("tool", DENIED)
def test_the_server_denies_plan_and_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str) -> None:
    """With NEXUS_RUN in its environment the call is an error before its arguments are looked at."""
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("NEXUS_RUN", "run-1")
    answer = App(Workspace(str(tmp_path))).call(tool, {})
    assert answer.result["isError"] is True
    assert f"{tool} is denied" in json.dumps(answer.result)


def test_other_tools_and_other_sessions_are_not_denied() -> None:
    """Reading and artifacts are allowed in a run, and everything is outside of one."""
    of_a_run = {"NEXUS_RUN": "r"}
    assert [run_denial(f"mcp__nexus__{tool}", CLASSES, of_a_run) for tool in ALLOWED] == [""] * len(ALLOWED)
    assert [run_denial(tool, CLASSES, {}) for tool in DENIED] == [""] * len(DENIED)
    assert run_denial("mcp__nexus__new", {"new": ()}, of_a_run) != ""  # a tool without classes may do anything
    assert {"task_add", "task_update", "task_close", "plan_start", "plan_update", "plan_decide"} <= {*DENIED}


@pytest.mark.parametrize("tool", DENIED)
def test_the_hook_denies_them_too(project: Project, monkeypatch: pytest.MonkeyPatch, tool: str) -> None:
    """Whatever the client puts before the name."""
    monkeypatch.setenv("NEXUS_RUN", "run-1")
    answer = Teller(project.root)("pre_tool_use", tool=f"mcp__nexus__{tool}", tool_input={})
    assert answer["decision"] == "deny"
    assert "belongs to a run" in answer["reason"]


@pytest.mark.parametrize(
    "words",
    [("answer", "q1", "yes"), ("retry", "1"), ("skip", "1"), ("stop",), ("merge",), ("clean",), ("unlock",), ()],
    ids=" ".join,
)
def test_a_session_changes_no_run(
    tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It could answer its own question, give itself more money, or end the run; it may look at the run."""
    monkeypatch.setenv("NEXUS_RUN", "run-x")
    (tmp_path / ".git").mkdir()
    assert main(["run", *words, "--project", str(tmp_path)]) == 2
    assert "which may not change runs" in capsys.readouterr().err
    assert main(["run", "list", "--project", str(tmp_path)]) == 0


def test_a_brief_with_a_tag_starts_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of tasks reach a session of a run as its prompt: a tag in them is plain text."""
    given = {"session_id": "s", "prompt": "[plan] Write the words"}
    assert Teller(project.root)("user_message", **given)["tags"] == ["plan"]
    monkeypatch.setenv("NEXUS_RUN", "run-1")
    answer = Teller(project.root)("user_message", **given)
    assert answer["tags"] == []
    assert "nx-plan" not in json.dumps(answer)


def test_a_session_of_a_run_may_end_its_turn(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run closes the cycle, so the last session is not asked for task_close, which it is denied."""
    project.put("state/tasks.json", tasks(task(1, status="completed")))
    monkeypatch.setenv("NEXUS_RUN", "run-1")
    assert Teller(project.root)("turn_end", session_id="s")["decision"] != "block"
    monkeypatch.delenv("NEXUS_RUN")
    assert Teller(project.root)("turn_end", session_id="s")["decision"] == "block"


def _lease(project: Project) -> None:
    with Folder.root(str(project.nexus / "state")) as state:
        tasks_extension.put(state, {1: {"lease": {"run": "run-1", "attempt": 1, "fence": 3}}})


def test_a_session_elsewhere_is_warned_about_a_task_of_a_run(project: Project) -> None:
    """A task_update of a leased task gets a warning that names the run; other tasks and freed leases get none."""
    project.put("state/tasks.json", tasks(task(1), task(2)))
    _lease(project)
    teller = Teller(project.root)

    def update(id_: int) -> dict[str, Any]:
        given = {"id": id_, "status": "completed"}
        return teller("pre_tool_use", tool="mcp__nexus__task_update", tool_input=given)

    assert "run-1" in json.dumps(update(1))
    assert "run-1" not in json.dumps(update(2))
    with Folder.root(str(project.nexus / "state")) as state:
        assert tasks_extension.free(state) == [1]
    assert "run-1" not in json.dumps(update(1))


def test_the_extension_keeps_what_a_person_wrote(project: Project) -> None:
    """`files` of a task stay when a run writes its state; tests/run/test_kept_files.py has damaged files."""
    project.put("state/nexus-mcp/tasks.extension.json", {"tasks": {"1": {"files": ["a.py"]}}})
    with Folder.root(str(project.nexus / "state")) as state:
        tasks_extension.put(state, {1: {"run_state": "running", "reason": None}})
        assert tasks_extension.read(state) == {1: {"files": ["a.py"], "run_state": "running"}}


def test_the_worktree_of_an_attempt_uses_the_shared_state(tmp_path: Path) -> None:
    """The lease leads there with `worktrees: auto`; `own` and a worktree without a lease keep their own."""
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"say": "STATUS: blocked\nWhich?"}]]})
    ground.run()
    worktree = ground.worktrees / ground.run_id / "1-1"
    assert state_root(str(worktree), "auto") == str(ground.root)
    assert state_root(str(worktree), "own") == str(worktree)
    git(ground.root, "worktree", "add", "-q", "--detach", str(tmp_path / "other"))
    assert state_root(str(tmp_path / "other"), "auto") == str(tmp_path / "other")


def test_a_run_shows_its_tasks_while_it_works(tmp_path: Path) -> None:
    """The extension file has strategy, tier and state; at the end no lease is left."""
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"write": "a", "text": "1"}]]})
    ground.configure()
    assert ground.cli("--trust", "--merge", "never")[0] == 0
    with Folder.root(str(ground.root / ".nexus/state")) as state, run_folder(state, ground.run_id) as folder:
        assert folder is not None
        entry = tasks_extension.read(state)[1]
    assert entry == {"run_state": "completed", "strategy": "test-after", "tier": "standard"}
