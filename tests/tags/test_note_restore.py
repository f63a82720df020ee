"""Deleted notes can be restored, and the result says how even if git fails after the commit."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from nexus_mcp.errors import UsageError
from nexus_mcp.merging import repository
from nexus_mcp.tags.actions import notes_git
from tests.conftest import git
from tests.support import Project
from tests.tags.support import aged
from tests.tags.test_memory_gc import clean, committed, notes, there


@pytest.mark.requirement("memory.commit")
@pytest.mark.parametrize("part", ["", ":a part", "[ab]"])
def test_restore_command_of_a_pattern_like_name_restores_only_it(real_repository: Project, part: str) -> None:
    """The printed command restores this note, and no other one."""
    project = Project(real_repository.root / part)
    notes(project, a=1, b=1)
    for name in ("*.md", "[ab].md", "a\\*.md", "?.md"):
        aged(project.put(f"memory/{name}", "old\n"), 200)
    committed(project)
    gone = {one["path"]: one["restore"] for one in clean(project)["deleted"]}
    notes(project, a=0, b=0)
    for name in ("a", "b"):
        project.put(f"memory/{name}.md", "newer\n")
    for path, restore in gone.items():
        subprocess.run(["sh", "-c", restore], cwd=real_repository.root, check=True)
        assert project.get(path) == b"old\n"
        (project.nexus / path).unlink()
    assert [project.get(f"memory/{name}.md") for name in ("a", "b")] == [b"newer\n"] * 2
    assert there(project) == ["a", "b"]


def test_index_locked_at_the_end_is_reported_with_the_commands(
    real_repository: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is made and the notes are deleted: the result has the commands that restore them and repair
    the index.
    """
    project = real_repository
    notes(project, old=200)
    committed(project)
    advance = notes_git.Git.advance

    def then_locked(self: notes_git.Git, commit: str, parent: str) -> None:
        advance(self, commit, parent)
        (project.root / ".git" / "index.lock").touch()

    monkeypatch.setattr(notes_git.Git, "advance", then_locked)
    done = clean(project)
    (project.root / ".git" / "index.lock").unlink()
    assert (there(project), [one["path"] for one in done["deleted"]]) == ([], ["memory/old.md"])
    before, _, advice = done["next_step"].rpartition(": ")
    assert before.startswith("Git's index still has the deleted notes (\"fatal: ")
    assert advice == "at the top of the repository git reset -q -- .nexus/memory/ removes them from it."
    git(project.root, "reset", "-q", "--", ".nexus/memory/")
    assert git(project.root, "status", "--porcelain") == ""


@pytest.mark.parametrize(("part", "option"), [("a part", ""), ("[a] part", "--literal-pathspecs ")])
def test_index_command_has_the_whole_path(
    real_repository: Project, monkeypatch: pytest.MonkeyPatch, part: str, option: str
) -> None:
    """The command that puts it right has the whole way from the top of the repository, which is no pattern."""
    top = real_repository
    project = Project(top.root / part)
    notes(project, old=200)
    committed(project)
    advance = notes_git.Git.advance

    def then_locked(self: notes_git.Git, commit: str, parent: str) -> None:
        advance(self, commit, parent)
        (top.root / ".git" / "index.lock").touch()

    monkeypatch.setattr(notes_git.Git, "advance", then_locked)
    told = clean(project)["next_step"]
    (top.root / ".git" / "index.lock").unlink()
    command = f"git {option}reset -q -- '{part}/.nexus/memory/'"
    assert told.endswith(f": at the top of the repository {command} removes them from it.")
    subprocess.run(["sh", "-c", command], cwd=top.root, check=True)
    assert git(top.root, "status", "--porcelain") == ""


def test_slow_git_at_the_end_is_reported_with_the_commands(
    real_repository: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notes are deleted by then, so the result has the commands that restore them nevertheless."""
    project = real_repository
    notes(project, old=200)
    committed(project)
    ask = repository.run_git

    def slow(folder: str, *words: str, data: bytes = b"", index: str = "", seconds: float | None = None) -> object:
        if words[0] == "update-index" and not index:
            raise UsageError("git did not answer in 0.5 seconds (git update-index in x).", next_step="See.")
        return ask(folder, *words, data=data, index=index, seconds=seconds)

    monkeypatch.setattr(notes_git, "run_git", slow)
    done = clean(project)
    assert (there(project), [one["path"] for one in done["deleted"]]) == ([], ["memory/old.md"])
    assert done["next_step"].startswith("Git's index still has the deleted notes (\"git did not answer in 0.5 seconds")


@pytest.mark.parametrize(
    ("dying", "complaint"),
    [
        ("kill -KILL $$", "ended by SIGKILL"),
        (f"kill -{signal.SIGRTMIN + 1} $$", f"ended by signal {signal.SIGRTMIN + 1}"),
        ("exit 3", "exit code 3"),
        ("echo fatal: no >&2; exit 3", "fatal: no"),
    ],
)
def test_silent_git_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dying: str, complaint: str) -> None:
    """The result names the cause of the end."""
    (tmp_path / "git").write_text(f"#!/bin/sh\n{dying}\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert repository.run_git(str(tmp_path), "status")[2] == complaint
