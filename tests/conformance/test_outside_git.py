"""Projects that are in no git repository."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.target import stdio
from nexus_mcp.errors import HarnessFault
from tests.conformance.support import NASTY, act, nasty_fixture, outcome

NO_GIT: dict[str, Any] = {"git": False}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which a run makes its own folder."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize(("precondition", "new"), [(NO_GIT, True), ({"git": True}, False), ({}, False)])
def test_project_outside_git_has_no_git_folder(precondition: dict[str, Any], new: bool) -> None:
    """A project outside of git has no .git, so one that the server makes is new; any other project has one."""
    fixture = nasty_fixture(act("mkdir", path=".git/new"), precondition=precondition)
    (result,) = run([fixture], stdio(NASTY), jobs=1).results
    status, failures = outcome(result)
    assert status == "failed"
    assert (failures[0][2].endswith(": .git, .git/new")) is new


def test_project_below_a_repository_ends_the_run(temporary: Path) -> None:
    """A project below a repository cannot be outside of git: the run reports this, and does not blame the target."""
    (temporary.parent / ".git").write_text("gitdir: elsewhere")
    with pytest.raises(HarnessFault) as told:
        run([nasty_fixture(act("wave"), precondition=NO_GIT)], stdio(NASTY), jobs=1)
    assert f"{temporary.parent}, a parent folder, has a .git" in told.value.faults[0]
    assert run([nasty_fixture(act("wave"))], stdio(NASTY), jobs=1).results[0].status == "passed"
