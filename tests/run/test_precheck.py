"""The rows of the precheck that tests of the command do not meet."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.run import precheck
from nexus_mcp.run.checks import CheckResult
from nexus_mcp.run.config import RunConfig
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.run.runs import Ground, git
from tests.support import Json


def failed(ground: Ground, **values: Any) -> dict[str, str]:
    """Return name -> message of the rows that did not pass."""
    root = str(ground.root)
    store = Store(Workspace(root))
    tasks = store.tasks() or {"tasks": []}
    subject = precheck.Subject(root, store, ground.config(**values), load(root), tasks)
    return {item.name: item.message for item in asyncio.run(precheck.examine(subject)) if not item.passed}


def ground(tmp_path: Path, *tasks: Json) -> Ground:
    return Ground(tmp_path, list(tasks) or [{"id": 1, "title": "One", "acceptance": "a"}], {})


def test_a_good_project_has_no_finding(tmp_path: Path) -> None:
    """Every row passes."""
    assert failed(ground(tmp_path)) == {}


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"deps": [9]}, "dependencies"),
        ({"owner": "stranger"}, "owners"),
        ({"acceptance": ""}, "acceptance"),
        ({"acceptance": "; ".join("abcdefgh")}, "size"),
        ({"context": "x" * 2001}, "size"),
        ({"approach": "\n".join("- step" for _ in range(9))}, "size"),
    ],
)
def test_tasks_that_agents_would_not_understand_are_named(tmp_path: Path, row: Json, name: str) -> None:
    """A missing dependency stops a run; the others are warnings."""
    found = failed(ground(tmp_path, {"id": 1, "title": "One", "acceptance": "a", **row}))
    assert list(found) == [name]
    assert "1" in found[name]


def test_untracked_files_and_conflicts_are_named(tmp_path: Path) -> None:
    """Untracked files are a warning, unresolved conflicts a blocker."""
    made = ground(tmp_path)
    (made.root / "new").write_text("n")
    assert failed(made) == {"untracked files": "attempts do not see them: new"}
    git(made.root, "checkout", "-q", "-b", "other")
    (made.root / "README.md").write_text("other\n")
    git(made.root, "commit", "-q", "-a", "-m", "o")
    git(made.root, "checkout", "-q", "main")
    (made.root / "README.md").write_text("main\n")
    git(made.root, "commit", "-q", "-a", "-m", "m")
    with pytest.raises(Exception, match="merge"):
        git(made.root, "merge", "other")
    assert "README.md" in failed(made)["conflicts"]


def test_missing_programs_and_secrets_are_named(tmp_path: Path) -> None:
    """A harness that is not in PATH and a sandbox that is not there stop a run; a linked secret is a warning."""
    gone = {"command": ["no-such-program-here"]}
    found = failed(ground(tmp_path), drivers={"fake": gone}, link=[".env"], sandbox={"command": ["no-such-sandbox"]})
    assert set(found) == {"harness fake", "sandbox", "linked secrets"}
    assert "no-such-program-here is not in PATH" in found["harness fake"]


def test_questions_that_an_agent_could_answer_are_a_warning(tmp_path: Path) -> None:
    """Without a sandbox a session can write the file of an answer. Other triggers approve no merge."""
    asked = {"triggers": {"security-review": True, "pre-merge": True}}
    warning = failed(ground(tmp_path), questions=asked)["questions"]
    assert warning.startswith(
        "without run.sandbox an agent, which runs as your user, could answer security-review, pre-merge itself"
    )
    wrapped = failed(ground(tmp_path / "wrapped"), questions=asked, sandbox={"command": ["env"]})
    assert wrapped == {}
    assert failed(ground(tmp_path / "other"), questions={"triggers": {"cost-warning": True}}) == {}


def test_a_cost_limit_needs_a_known_cost(tmp_path: Path) -> None:
    """A harness that reports none needs prices; one that prints plain text cannot have a limit at all."""
    text = {"command": ["true"], "format": "text"}
    prices = {"*": {"input": 1, "output": 2}}
    found = failed(ground(tmp_path / "text"), max_cost_usd=1.0, prices=prices, drivers={"fake": text})
    assert found["cost of fake"] == "fake reports no cost, so a limit of 1 USD cannot be enforced: leave the limit out"
    assert "cost of fake" in failed(ground(tmp_path), max_cost_usd=1.0)
    assert failed(ground(tmp_path / "other"), max_cost_usd=1.0, prices=prices) == {}


def test_red_checks_are_a_warning_with_their_time() -> None:
    """Only new failures will count; a project without checks is warned, too."""
    config = RunConfig(checks={"test": "make test"})
    result = CheckResult("test", ok=False, code=1, seconds=1.5, output="")
    (item,) = precheck.of_checks({"test": result}, config)
    assert (item.tier, item.passed, "1.5 s" in item.message) == ("warning", False, True)
    (item,) = precheck.of_checks({}, RunConfig())
    assert "no checks are set" in item.message
    assert precheck.exit_code_of([item], strict=True) == "warning"
    assert precheck.exit_code_of([item], strict=False) == "ok"


def test_a_missing_login_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blocker where nothing works without it; for OpenCode, which has models that need none, a warning."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, answer in (("claude", '{"loggedIn": false}'), ("opencode", "0 credentials")):
        (programs / name).write_text(f"#!/bin/sh\necho '{answer}'\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    there = ground(tmp_path)
    root = str(there.root)
    config = there.config(harness={"do": "claude-code", "check": "opencode"})
    subject = precheck.Subject(root, Store(Workspace(root)), config, load(root), {"tasks": []})
    rows = {item.name: item for item in asyncio.run(precheck.examine(subject))}
    claude, opencode = rows["login of claude-code"], rows["login of opencode"]
    assert (claude.passed, claude.tier) == (False, "blocker")
    assert "type claude auth login" in claude.message
    assert (opencode.passed, opencode.tier) == (False, "warning")


def test_a_harness_that_is_not_installed_has_a_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the harnesses that the run knows, and says nothing about the cost of one that is not there."""
    ground = Ground(tmp_path, [{"id": 1, "title": "One", "acceptance": "a"}], {})
    ground.configure(harness="codex", max_cost_usd=1.0)
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in ("git", "sh"):
        (folder / program).symlink_to(shutil.which(program) or "")
    monkeypatch.setenv("PATH", str(folder))
    code, out, _ = ground.cli("precheck")
    assert code == 5
    assert "codex is not in PATH: install it, or name another harness in run.harness, one of claude-code" in out or (
        "codex is not in PATH: install it, or name another harness in run.harness, such as fake, which is installed"
        in out
    )
    assert "cost of codex" not in out
