"""[m:gc] deletes a note only if the command that it prints restores the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from nexus_mcp.errors import NexusError
from tests.conftest import git
from tests.support import Project
from tests.tags.support import acted
from tests.tags.test_memory_gc import UNASKED, clean, committed, notes, read, there

pytestmark = pytest.mark.requirement("memory.refused")
UNREADABLE = "cannot be read from git's object store"
REWRITTEN = "are rewritten by git when it checks them out"
NOTE = "HEAD:.nexus/memory/old.md"


def loose(project: Project, revision: str) -> Path:
    """The file of a loose object."""
    name = git(project.root, "rev-parse", revision).strip()
    return project.root / ".git" / "objects" / name[:2] / name[2:]


def without(revision: str) -> Callable[[Project], None]:
    return lambda project: loose(project, revision).unlink()


def holding(content: bytes) -> Callable[[Project], None]:
    def change(project: Project) -> None:
        path = loose(project, NOTE)
        path.chmod(0o644)
        path.write_bytes(content)

    return change


def replaced(project: Project) -> None:
    (project.root / "other").write_text("other\n")
    other = git(project.root, "hash-object", "-w", "other").strip()
    (project.root / "other").unlink()
    git(project.root, "replace", git(project.root, "rev-parse", NOTE).strip(), other)


def alternates_without_it(project: Project) -> None:
    objects, away = project.root / ".git" / "objects", project.root.parent / "elsewhere"
    shutil.copytree(objects, away)
    path = loose(project, NOTE)
    for folder in objects.iterdir():
        if len(folder.name) == 2:
            shutil.rmtree(folder)
    (objects / "info" / "alternates").write_text(f"{away}\n")
    (away / path.parent.name / path.name).unlink()


def attributes(text: str, *settings: str) -> Callable[[Project], None]:
    def change(project: Project) -> None:
        (project.root / ".gitattributes").write_text(f"{text}\n")
        for setting in settings:
            git(project.root, "config", *setting.split("=", 1))

    return change


def staged_attributes(project: Project) -> None:
    """Attributes that git checkout takes from the index."""
    attributes("*.md filter=up", "filter.up.smudge=tr a-z A-Z")(project)
    git(project.root, "add", ".gitattributes")
    (project.root / ".gitattributes").unlink()


def keyword(project: Project) -> None:
    project.put("memory/old.md", "$Id$\n")
    os.utime(project.nexus / "memory" / "old.md", (0, 0))
    committed(project)
    (project.root / ".gitattributes").write_text("*.md ident\n")


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (without(NOTE), UNREADABLE),
        (without("HEAD"), "The commit that is checked out cannot be read"),
        (without("HEAD^{tree}"), "git ls-tree failed"),
        (without("HEAD:.nexus"), "git ls-tree failed"),
        (without("HEAD:.nexus/memory"), "git ls-tree failed"),
        (holding(b""), UNREADABLE),
        (holding(b"\0" * 20), UNREADABLE),
        (holding(zlib.compress(b"blob 4\0old")), UNREADABLE),
        (holding(zlib.compress(b"blob 4\0new\n")), UNREADABLE),
        (holding(zlib.compress(b"tree 4\0old\n")), UNREADABLE),
        (replaced, UNREADABLE),
        (alternates_without_it, UNREADABLE),
        (attributes("*.md filter=up", "filter.up.smudge=tr a-z A-Z"), REWRITTEN),
        (attributes("*.md filter=lfs", "filter.lfs.process=no-such-program"), REWRITTEN),
        (attributes("*.md filter=a.b", "filter.a.b.clean=cat", "filter.a.b.required=true"), REWRITTEN),
        (staged_attributes, REWRITTEN),
        (attributes("*.md working-tree-encoding=UTF-16"), REWRITTEN),
        (keyword, REWRITTEN),
    ],
)
def test_note_that_git_cannot_restore_stays(
    real_repository: Project, damage: Callable[[Project], None], problem: str
) -> None:
    """Nothing is deleted, no commit is made, and the reason is reported."""
    project = real_repository
    notes(project, old=200, young=1)
    committed(project)
    head = (project.root / ".git" / "refs" / "heads" / "main").read_text()
    damage(project)
    if damage is keyword:
        head = (project.root / ".git" / "refs" / "heads" / "main").read_text()
    with pytest.raises(NexusError, match=problem):
        clean(project)
    assert there(project) == ["old", "young"]
    assert (project.root / ".git" / "refs" / "heads" / "main").read_text() == head


def test_the_tag_deletes_no_unreadable_note_either(real_repository: Project) -> None:
    """Thresholds for deleting unasked change nothing about that."""
    project = real_repository
    project.put("config.yml", UNASKED)
    notes(project, old=200, rare=200)
    read(project, "rare", 1, 150)
    committed(project)
    without(NOTE)(project)
    (step,) = acted(project, "[m:gc]")
    assert UNREADABLE in step["next_step"]
    assert there(project) == ["old", "rare"]


def test_a_missing_note_is_not_fetched(real_repository: Project, tmp_path: Path) -> None:
    """In a partial clone the check for a missing note does not fetch it from the remote."""
    project = real_repository
    notes(project, old=200)
    committed(project)
    remote = tmp_path / "remote"
    git(tmp_path, "clone", "-q", "--bare", str(project.root), str(remote))
    git(remote, "config", "uploadpack.allowAnySHA1InWant", "true")
    for setting in (
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", str(remote)),
    ):
        git(project.root, "config", *setting)
    path = loose(project, NOTE)
    path.unlink()
    with pytest.raises(NexusError, match=UNREADABLE):
        clean(project)
    assert (there(project), path.exists()) == (["old"], False)
    git(project.root, "cat-file", "-e", NOTE)  # the way to get it: git fetches what it is asked for
    assert [one["path"] for one in clean(project)["deleted"]] == ["memory/old.md"]


def shallow(project: Project, tmp_path: Path) -> Project:
    clone = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", project.root.as_uri(), str(clone))
    return Project(clone)


def packed(project: Project, _: Path) -> Project:
    git(project.root, "gc", "-q")
    return project


def shared(project: Project, tmp_path: Path) -> Project:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--shared", str(project.root), str(clone))
    return Project(clone)


def sparse(project: Project, _: Path) -> Project:
    git(project.root, "sparse-checkout", "set", "--no-cone", "/*", "!/.nexus/memory/young.md")
    return project


def cleaning(project: Project, _: Path) -> Project:
    attributes("*.md filter=c", "filter.c.clean=cat")(project)
    return project


def unused(project: Project, _: Path) -> Project:
    attributes("*.md filter=unknown ident -working-tree-encoding")(project)
    return project


@pytest.mark.parametrize("make", [shallow, packed, shared, sparse, cleaning, unused])
def test_a_deleted_note_comes_back_by_the_printed_command(
    real_repository: Project, tmp_path: Path, make: Callable[[Project, Path], Project]
) -> None:
    """Where git can read it, in whatever kind of repository, the command restores the bytes that were deleted."""
    notes(real_repository, old=200, young=200)
    committed(real_repository)
    project = make(real_repository, tmp_path)
    git(project.root, "config", "user.name", "Test")
    git(project.root, "config", "user.email", "test@example.invalid")
    for name in there(project):
        os.utime(project.nexus / "memory" / f"{name}.md", (0, 0))
    deleted = clean(project)["deleted"]
    assert "memory/old.md" in [one["path"] for one in deleted]
    for one in deleted:
        assert not (project.nexus / one["path"]).exists()
        subprocess.run(["sh", "-c", one["restore"]], cwd=project.root, check=True, capture_output=True)
        assert project.get(one["path"]) == f"{Path(one['path']).stem}\n".encode()


def test_many_large_notes_are_read_from_git_in_parts(real_repository: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is checked, whatever part it is read with."""
    project = real_repository
    notes(project, **{f"n{number}": 200 for number in range(5)})
    committed(project)
    monkeypatch.setattr("nexus_mcp.tags.actions.notes_git._BATCH_BYTES", 5)
    loose(project, "HEAD:.nexus/memory/n3.md").unlink()
    with pytest.raises(NexusError, match=f'{UNREADABLE}, and could not be restored: "n3.md"'):
        clean(project)
