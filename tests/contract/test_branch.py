"""The branch that is checked out, read from .git alone."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.conftest import git
from tests.support import Client, Project

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def head(project: Project, content: bytes) -> None:
    (project.root / ".git" / "HEAD").write_bytes(content)


@pytest.mark.requirement("branch.name")
@pytest.mark.parametrize(
    "name",
    [
        "main", "feature/deep/er", "fix-#12", "é", "HEAD", "refs/heads/odd", "a" * 200, "with.dot",
    ],
)  # fmt: skip
def test_branch_is_the_whole_name_after_refs_heads(call: Client, project: Project, name: str) -> None:
    """The branch is the whole text after refs/heads/."""
    head(project, f"ref: refs/heads/{name}\n".encode())
    assert call("context")["branch"] == name


@pytest.mark.requirement("branch.name")
@pytest.mark.parametrize("content", [b"ref: refs/heads/main", b"ref:refs/heads/main\n", b"ref:  refs/heads/main \r\n"])
def test_blanks_around_head_are_ignored(call: Client, project: Project, content: bytes) -> None:
    """Blanks around the reference do not matter."""
    head(project, content)
    assert call("context")["branch"] == "main"


@pytest.mark.requirement("branch.detached")
@pytest.mark.parametrize("commit", [COMMIT, COMMIT.upper(), "ab" * 32])
def test_detached_checkout_is_recognized(call: Client, project: Project, commit: str) -> None:
    """A commit in place of a reference is a detached checkout, with either hash."""
    head(project, f"{commit}\n".encode())
    assert call("context")["branch"] == "HEAD"


@pytest.mark.requirement("branch.other-refs")
@pytest.mark.parametrize(
    ("ref", "told"),
    [
        ("refs/remotes/origin/main", "remotes/origin/main"), ("refs/tags/v1", "tags/v1"),
        ("refs/bisect/bad", "bisect/bad"),
    ],
)  # fmt: skip
def test_reference_that_is_no_branch_is_shortened(call: Client, project: Project, ref: str, told: str) -> None:
    """A reference that is no branch is returned without refs/."""
    head(project, f"ref: {ref}\n".encode())
    assert call("context")["branch"] == told


@pytest.mark.requirement("branch.broken")
@pytest.mark.parametrize(
    "content",
    [
        b"", b"\n", b"garbage\n", b"ref: \n", b"ref: refs/heads/\n", b"\x00\xff\xfe", b"0123456789abcdef\n",
        b"ref: main\n", b"g" * 40,
    ],
)  # fmt: skip
def test_malformed_head_counts_as_missing(call: Client, project: Project, content: bytes) -> None:
    """A HEAD that makes no sense is as good as none."""
    head(project, content)
    assert call("context")["branch"] == "_default"


@pytest.mark.requirement("branch.broken")
@pytest.mark.parametrize(
    "kind",
    [
        "empty folder", "empty file", "file", "dangling link", "head is a folder", "head is a pipe", "git is a pipe",
        "gitdir nowhere", "gitdir empty",
    ],
)  # fmt: skip
def test_malformed_git_gives_default_branch(call: Client, project: Project, kind: str) -> None:
    """A malformed .git gives _default, and no call hangs."""
    place = project.root / ".git"
    place.rename(project.root / "old")
    if kind in {"empty folder", "head is a folder", "head is a pipe"}:
        place.mkdir()
        if kind == "head is a folder":
            (place / "HEAD").mkdir()
        elif kind == "head is a pipe":
            os.mkfifo(place / "HEAD")
    elif kind == "dangling link":
        place.symlink_to("nowhere")
    elif kind == "git is a pipe":
        os.mkfifo(place)
    else:
        place.write_text(
            {"empty file": "", "file": "text\n", "gitdir nowhere": "gitdir: ../nowhere\n", "gitdir empty": "gitdir:\n"}[
                kind
            ]
        )
    assert call("context")["branch"] == "_default"


@pytest.mark.requirement("branch.none")
def test_project_outside_git_has_default_branch(client_for: Callable[[Project], Client], tmp_path: Path) -> None:
    """Without a repository at or above the root the branch is _default."""
    root = tmp_path / "bare"
    root.mkdir()
    client = client_for(Project(root))
    assert client("context")["branch"] == "_default"
    assert client("task_close")["branch"] == "_default"


@pytest.mark.requirement("branch.nearest")
def test_nearest_git_decides_the_branch(client_for: Callable[[Project], Client], project: Project) -> None:
    """Below the repository's top its branch holds, until a nearer .git takes over, a broken one too."""
    nested = project.root / "packages" / "one"
    nested.mkdir(parents=True)
    head(project, b"ref: refs/heads/outer\n")
    client = client_for(Project(nested))
    assert client("context")["branch"] == "outer"
    (project.root / "packages" / ".git").mkdir()
    assert client("context")["branch"] == "_default"
    (project.root / "packages" / ".git" / "HEAD").write_text("ref: refs/heads/inner\n")
    assert client("context")["branch"] == "inner"


@pytest.mark.requirement("branch.worktree", "branch.name", "branch.detached")
def test_branch_equals_the_answer_of_git(
    client_for: Callable[[Project], Client], real_repository: Project, tmp_path: Path
) -> None:
    """With repositories and worktrees made by git, the branch is git's own answer."""
    tree = tmp_path / "tree"
    git(real_repository.root, "worktree", "add", "-q", "-b", "side/one", str(tree))
    main, side = client_for(real_repository), client_for(Project(tree.resolve()))
    assert (main("context")["branch"], side("context")["branch"]) == ("main", "side/one")
    git(tree, "checkout", "-q", "--detach")
    assert side("context")["branch"] == git(tree, "rev-parse", "--abbrev-ref", "HEAD").strip() == "HEAD"
    git(real_repository.root, "checkout", "-q", "-b", "other")
    assert main("context")["branch"] == "other"
    git(real_repository.root, "pack-refs", "--all")
    assert main("context")["branch"] == "other"


@pytest.mark.requirement("branch.worktree")
@pytest.mark.parametrize("relative", [True, False])
def test_git_file_is_followed(call: Client, project: Project, tmp_path: Path, relative: bool) -> None:
    """A .git file leads to the folder it names, relative to itself or absolute."""
    place = project.root / ".git"
    moved = tmp_path / "elsewhere" / "repository"
    moved.parent.mkdir()
    place.rename(moved)
    (moved / "HEAD").write_text("ref: refs/heads/linked\n")
    place.write_text(f"gitdir: {os.path.relpath(moved, project.root) if relative else moved}\n")
    assert call("context")["branch"] == "linked"


@pytest.mark.requirement("branch.name")
def test_linked_head_is_read(call: Client, project: Project) -> None:
    """Git can make HEAD a symbolic link; its target is the reference."""
    place = project.root / ".git" / "HEAD"
    place.unlink()
    place.symlink_to("refs/heads/linked")
    assert call("context")["branch"] == "linked"


@pytest.mark.requirement("branch.name")
def test_a_switch_is_noticed(call: Client, project: Project) -> None:
    """The branch is that of the moment, in cycles too."""
    assert call("task_close")["branch"] == "main"
    head(project, b"ref: refs/heads/next\n")
    assert call("task_close")["branch"] == "next"
    assert [c["branch"] for c in project.json("history.json")["cycles"]] == ["main", "next"]


@pytest.mark.requirement("branch.name")
@pytest.mark.parametrize("place", [".git", ".git/HEAD"])
def test_system_error_is_not_taken_for_no_git(call: Client, project: Project, place: str) -> None:
    """An error of the system is not a project without git: a cycle would keep the wrong branch for good."""
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if path == str(project.root / place):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(path)

    with patch.object(os, "lstat", lstat):
        assert "Input/output error" in call.error("task_close")
    assert call("task_close")["branch"] == "main"
