"""Deletion of notes through git: refused cases, untouched files, and programs that are never run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nexus_mcp.errors import NexusError
from nexus_mcp.tags.actions import notes_git
from tests.conftest import git
from tests.support import Project
from tests.tags.support import aged
from tests.tags.test_memory_gc import clean, committed, notes, there


def dirty(project: Project) -> None:
    aged(project.put("memory/old.md", "changed\n"), 200)


def staged(project: Project) -> None:
    dirty(project)
    git(project.root, "add", ".")


def untracked(project: Project) -> None:
    notes(project, new=200)


def merging(project: Project) -> None:
    (project.root / ".git" / "MERGE_HEAD").write_text(git(project.root, "rev-parse", "HEAD"))


def rebasing(project: Project) -> None:
    (project.root / ".git" / "rebase-merge").mkdir()


def nameless(project: Project) -> None:
    git(project.root, "config", "user.useConfigOnly", "true")
    git(project.root, "config", "--unset", "user.email")


def locked(project: Project) -> None:
    (project.root / ".git" / "refs" / "heads" / "main.lock").touch()


@pytest.mark.requirement("memory.refused")
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (dirty, 'Some of the notes are not as they are in the last commit, and could not be restored: "old.md"'),
        (staged, 'Some of the notes are not as they are in the last commit, and could not be restored: "old.md"'),
        (untracked, 'Some of the notes are not in git, and could not be restored: "new.md"'),
        (merging, "There is a merge under way in the git repository"),
        (rebasing, "There is a rebase under way in the git repository"),
        (locked, "git update-ref failed: "),
        (nameless, "git commit-tree failed: "),
    ],
)
def test_unrestorable_notes_stay(real_repository: Project, spoil: Callable[[Project], None], words: str) -> None:
    """The call is refused with the reason, and neither the notes nor the branch nor the index change."""
    project = real_repository
    notes(project, old=200, fine=200)
    head = committed(project)
    spoil(project)
    before, status = there(project), git(project.root, "status", "--porcelain")
    with pytest.raises(NexusError) as raised:
        clean(project)
    assert raised.value.fault.startswith(words)
    assert raised.value.message.endswith("nothing was changed.")
    assert raised.value.next_step
    assert (there(project), git(project.root, "status", "--porcelain")) == (before, status)
    assert git(project.root, "rev-parse", "HEAD").strip() == head


@pytest.mark.requirement("memory.refused")
def test_deletion_needs_a_repository_with_a_commit(tmp_path: Path) -> None:
    """Outside a repository, and before its first commit, nothing is deleted."""
    project = Project(tmp_path / "plain")
    notes(project, old=200)
    with pytest.raises(NexusError, match="The notes are in no git repository"):
        clean(project)
    git(project.root, "init", "-q", "-b", "main")
    with pytest.raises(NexusError, match="The git repository has no commit"):
        clean(project)
    assert there(project) == ["old"]


@pytest.mark.requirement("memory.commit")
def test_nothing_else_goes_into_the_commit(real_repository: Project) -> None:
    """Staged, changed and untracked files elsewhere stay unchanged."""
    project = real_repository
    notes(project, old=200)
    (project.root / "code").write_text("1\n")
    committed(project)
    (project.root / "code").write_text("2\n")
    (project.root / "new").write_text("staged\n")
    (project.root / "loose").write_text("untracked\n")
    git(project.root, "add", "new")
    clean(project)
    assert git(project.root, "show", "--format=", "--name-status", "HEAD") == "D\t.nexus/memory/old.md\n"
    assert git(project.root, "status", "--porcelain") == " M code\nA  new\n?? loose\n"


@pytest.mark.requirement("memory.commit")
def test_restore_command_starts_at_the_top_of_the_repository(real_repository: Project) -> None:
    """The commit goes to the checked-out branch, and the restore command runs from the top of the repository."""
    project = Project(real_repository.root / "a b" / "c")
    notes(project, old=200)
    parent = committed(project)
    git(project.root, "checkout", "-q", "-b", "other")
    (gone,) = clean(project)["deleted"]
    assert gone["restore"] == f"git checkout {parent} -- 'a b/c/.nexus/memory/old.md'"
    subprocess.run(["sh", "-c", gone["restore"]], cwd=real_repository.root, check=True)
    assert there(project) == ["old"]
    assert git(project.root, "rev-parse", "main").strip() == parent
    assert git(project.root, "rev-parse", "other^").strip() == parent


@pytest.mark.requirement("memory.no-programs")
def test_nothing_of_the_repository_is_run(real_repository: Project, tmp_path: Path) -> None:
    """No hook, filter, monitor, editor or signing program that the repository names."""
    project = real_repository
    notes(project, old=200)
    committed(project)
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0" >> {tmp_path}/sprung\n')
    trap.chmod(0o755)
    hooks = project.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
        (hooks / name).unlink(missing_ok=True)
        (hooks / name).symlink_to(trap)
    with (project.root / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = {trap}\n\teditor = {trap}\n\tpager = {trap}\n[gpg]\n\tprogram = {trap}\n")
        config.write(f'[commit]\n\tgpgSign = true\n[filter "trap"]\n\tclean = {trap}\n')
    (project.root / ".git" / "info").mkdir(exist_ok=True)
    (project.root / ".git" / "info" / "attributes").write_text("*.md filter=trap\n")
    for member in ("smudge", "process"):
        git(project.root, "config", f"filter.trap.{member}", str(trap))
        with pytest.raises(NexusError, match="rewritten by git"):
            clean(project)
        git(project.root, "config", "--unset", f"filter.trap.{member}")
    assert clean(project)["result"] == "deleted"
    assert not (tmp_path / "sprung").exists()
    subprocess.run(["git", "status"], cwd=project.root, capture_output=True, check=False)
    assert (tmp_path / "sprung").exists()  # so it was armed


@pytest.mark.requirement("memory.refused")
def test_note_changed_before_the_deletion_stays(real_repository: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change during the commit is detected in time, and nothing is deleted."""
    project = real_repository
    notes(project, old=200, other=200)
    head = committed(project)
    commit = notes_git.Git.commit

    def meanwhile(self: notes_git.Git, parent: str, names: list[str], message: str) -> str:
        project.put("memory/old.md", "newer\n")
        return commit(self, parent, names, message)

    monkeypatch.setattr(notes_git.Git, "commit", meanwhile)
    with pytest.raises(NexusError, match=r"^A note was changed meanwhile; nothing was changed\."):
        clean(project)
    assert (there(project), git(project.root, "rev-parse", "HEAD").strip()) == (["old", "other"], head)


@pytest.mark.requirement("memory.refused")
def test_note_changed_at_the_last_moment_is_kept(real_repository: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note that an editor wrote after the commit was made is kept, as a new file for git."""
    project = real_repository
    notes(project, old=200, other=200)
    committed(project)
    advance = notes_git.Git.advance

    def then_changed(self: notes_git.Git, commit: str, parent: str) -> None:
        advance(self, commit, parent)
        project.put("memory/old.md", "newer\n")

    monkeypatch.setattr(notes_git.Git, "advance", then_changed)
    done = clean(project)
    assert [one["path"] for one in done["deleted"]] == ["memory/other.md"]
    assert done["next_step"].startswith('Not deleted, because they were changed, or cannot be removed now: "old.md".')
    assert project.get("memory/old.md") == b"newer\n"
    assert git(project.root, "status", "--porcelain") == "?? .nexus/memory/\n"


@pytest.mark.requirement("memory.refused")
def test_foreign_commit_stops_the_deletion(real_repository: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program's commit on the branch stays the last one, and nothing is deleted."""
    project = real_repository
    notes(project, old=200)
    committed(project)
    advance = notes_git.Git.advance

    def behind(self: notes_git.Git, commit: str, parent: str) -> None:
        git(project.root, "commit", "-q", "--allow-empty", "-m", "Theirs")
        advance(self, commit, parent)

    monkeypatch.setattr(notes_git.Git, "advance", behind)
    with pytest.raises(NexusError, match=r"^git update-ref failed"):
        clean(project)
    assert git(project.root, "log", "-1", "--format=%s") == "Theirs\n"
    assert there(project) == ["old"]


def test_line_ends_that_git_changed_are_no_change(real_repository: Project) -> None:
    """A note whose line ends git converted to those of Windows equals the committed note."""
    project = real_repository
    git(project.root, "config", "core.autocrlf", "true")
    aged(project.put("memory/old.md", "a\r\nb\r\n"), 200)
    committed(project)
    assert clean(project)["result"] == "deleted"


def test_names_like_patterns_are_taken_literally(real_repository: Project) -> None:
    """A name is taken literally: it is no pattern, no option and no pathspec magic."""
    project = real_repository
    for name in ("-f.md", "*.md", ":(top)x.md", "it's.md", "a.md"):
        aged(project.put(f"memory/{name}", name), 1 if name == "a.md" else 200)
    committed(project)
    done = clean(project)
    assert sorted(one["path"] for one in done["deleted"]) == [
        "memory/*.md",
        "memory/-f.md",
        "memory/:(top)x.md",
        "memory/it's.md",
    ]
    assert there(project) == ["a"]
