"""The state of notes in git before their deletion."""

from __future__ import annotations

import pytest

from nexus_mcp.errors import NexusError
from nexus_mcp.store.folder import Folder
from nexus_mcp.tags.actions import notes_git
from tests.conftest import git
from tests.support import Project
from tests.tags.support import aged
from tests.tags.test_memory_gc import clean, committed, notes, there


@pytest.mark.requirement("memory.refused")
@pytest.mark.parametrize(
    ("attributes", "autocrlf", "is_change"),
    [
        ("", "", True),
        ("", "false", True),
        ("", "true", False),
        ("", "input", False),
        ("*.md text=auto", "", False),
        ("*.md text", "", False),
        ("*.md text eol=crlf", "", False),
        ("*.md -text", "true", True),
    ],
)
@pytest.mark.parametrize("data", [b"a\r\nb\r\n", b"a\r\nb\n"])
def test_line_ends_count_only_if_git_would_commit_them(
    real_repository: Project, attributes: str, autocrlf: str, data: bytes, is_change: bool
) -> None:
    """Others than those of the commit are a change where git would commit them, and none where it would not."""
    project = real_repository
    project.put("memory/old.md", b"a\nb\n")
    (project.root / ".gitattributes").write_text(f"{attributes}\n")
    committed(project)
    if autocrlf:
        git(project.root, "config", "core.autocrlf", autocrlf)
    aged(project.put("memory/old.md", data), 200)
    if is_change:
        with pytest.raises(NexusError, match="not as they are in the last commit"):
            clean(project)
        assert project.get("memory/old.md") == data
    else:
        assert clean(project)["result"] == "deleted"


@pytest.mark.requirement("memory.refused")
def test_content_change_beside_line_ends_is_detected(real_repository: Project) -> None:
    """It is one, whatever git does about line ends."""
    project = real_repository
    project.put("memory/old.md", b"a\nb\n")
    committed(project)
    git(project.root, "config", "core.autocrlf", "true")
    aged(project.put("memory/old.md", b"a\r\nc\r\n"), 200)
    with pytest.raises(NexusError, match="not as they are in the last commit"):
        clean(project)


@pytest.mark.requirement("memory.refused")
def test_detached_head_refuses_deletion(real_repository: Project) -> None:
    """On a detached HEAD nothing is deleted: the new commit would be on no branch."""
    project = real_repository
    notes(project, old=200)
    head = committed(project)
    git(project.root, "checkout", "-q", "--detach")
    with pytest.raises(NexusError, match=r"^No branch is checked out"):
        clean(project)
    assert (there(project), git(project.root, "rev-parse", "HEAD").strip()) == (["old"], head)


@pytest.mark.requirement("memory.refused")
def test_locked_index_is_detected_first(real_repository: Project) -> None:
    """It is seen before anything is changed."""
    project = real_repository
    notes(project, old=200)
    head = committed(project)
    (project.root / ".git" / "index.lock").touch()
    with pytest.raises(NexusError, match=r"index\.lock is there; nothing was changed\."):
        clean(project)
    assert (there(project), git(project.root, "rev-parse", "HEAD").strip()) == (["old"], head)


@pytest.mark.requirement("memory.refused")
@pytest.mark.parametrize("when", ["prepared", "carried out"])
def test_second_deletion_finds_the_note_gone(
    real_repository: Project, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The second of two processes reports that the note is already deleted, and changes nothing."""
    project = real_repository
    notes(project, old=200, other=200)
    committed(project)
    check, carry_out = notes_git.Git.check, notes_git.Deletion.carry_out

    def late(self: notes_git.Deletion, folder: Folder, held: object) -> object:
        (project.nexus / "memory" / "old.md").unlink()
        return carry_out(self, folder, held)  # type: ignore[arg-type]

    def later(self: notes_git.Git, contents: dict[str, bytes | None]) -> None:
        (project.nexus / "memory" / "old.md").unlink(missing_ok=True)
        check(self, dict.fromkeys(contents))

    if when == "carried out":
        monkeypatch.setattr(notes_git.Deletion, "carry_out", late)
    else:
        monkeypatch.setattr(notes_git.Git, "check", later)
    with pytest.raises(
        NexusError, match=r"^Some of the notes were deleted meanwhile, perhaps by another clean-up; nothing"
    ):
        clean(project)
    assert there(project) == ["other"]
