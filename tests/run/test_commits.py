"""Commits, refs and differences of long-lived processes of git are those of git itself."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import pytest

from nexus_mcp.errors import StorageError
from nexus_mcp.run import git as run_git
from nexus_mcp.run import git_files, worktrees
from nexus_mcp.run.commits import merge_trees
from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.git_differ import Differ
from nexus_mcp.run.git_files import folders
from nexus_mcp.run.git_process import GitProcess
from nexus_mcp.run.git_writer import Writer
from nexus_mcp.run.worktrees import Repository
from tests.run.runs import Ground, git

REF = "refs/heads/nexus/x/1-1"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path, [], {})


def committed(ground: Ground, *, stays: bool) -> str:
    """Return the text of a commit made with processes that stay, or without."""

    async def work() -> str:
        here, writer = Git(str(ground.root)), Writer()
        if stays:
            await writer.open(here)
        head = await here.out("rev-parse", "HEAD")
        tree = await here.out("rev-parse", "HEAD^{tree}")
        try:
            other = await here.out("rev-parse", "HEAD^")
            commit = await writer.commit(here, tree, [head, other], "Täst of \udc80 \n\nbody  \n\n")
        finally:
            await writer.close()
        return await here.out("cat-file", "commit", commit)

    return re.sub(r"> \d+ ", "> 0 ", asyncio.run(work()))


def test_a_commit_is_the_one_of_git(ground: Ground) -> None:
    """Tree, parents, author, committer and message; only the time differs."""
    git(ground.root, "commit", "-q", "--allow-empty", "-m", "second")
    git(ground.root, "config", "user.name", "Ä <B>")
    assert committed(ground, stays=True) == committed(ground, stays=False)
    assert "Täst" in committed(ground, stays=True)


def test_dates_of_the_environment_count(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """With GIT_AUTHOR_DATE set, git makes each commit by itself."""
    git(ground.root, "commit", "-q", "--allow-empty", "-m", "second")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    assert committed(ground, stays=True) == committed(ground, stays=False)


def test_a_killed_executor_leaves_no_file_of_a_commit(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The temporary folder has no file while commits are made, so there is none to remove after a kill."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    async def work() -> list[str]:
        here, writer = Git(str(ground.root)), Writer()
        await writer.open(here)
        try:
            head, tree = await here.out("rev-parse", "HEAD"), await here.out("rev-parse", "HEAD^{tree}")
            found = [await writer.commit(here, tree, [head], message) for message in ("a longer message", "b")]
            assert not list(temporary.iterdir())
        finally:
            await writer.close()
        return [await here.out("log", "-1", "--format=%B", commit) for commit in found]

    assert [message.strip() for message in asyncio.run(work())] == ["a longer message", "b"]


def test_a_ref_that_is_elsewhere_stays_there(ground: Ground) -> None:
    """A move from another commit is refused, and the next one, from the right commit, is made."""

    async def work() -> list[str]:
        here, writer = Git(str(ground.root)), Writer()
        await writer.open(here)
        head = await here.out("rev-parse", "HEAD")
        other = await here.out("commit-tree", "HEAD^{tree}", "-m", "x")
        seen = []
        try:
            await writer.move(here, REF, head, "0" * 40)
            with pytest.raises(GitFailed, match="update-ref"):
                await writer.move(here, REF, other, other)
            with pytest.raises(GitFailed, match="update-ref"):
                await writer.move(here, REF, other, "0" * 40)
            seen.append((await folders(str(ground.root))).ref(REF))
            await writer.move(here, REF, other, head)
            seen.append((await folders(str(ground.root))).ref(REF))
        finally:
            await writer.close()
        return [{head: "head", other: "other"}[one or ""] for one in seen]

    assert asyncio.run(work()) == ["head", "other"]


def test_packed_refs_are_read(ground: Ground) -> None:
    """A ref is found loose or packed; the loose one has precedence; an absent ref is None."""

    async def work() -> list[str | None]:
        found = await folders(str(ground.root))
        return [found.ref(REF), found.ref("refs/heads/nexus/x/2-1"), found.refs().get("refs/tags/t")]

    git(ground.root, "update-ref", REF, "HEAD")
    git(ground.root, "tag", "t")
    head = git(ground.root, "rev-parse", "HEAD")
    loose = asyncio.run(work())
    git(ground.root, "pack-refs", "--all")
    assert loose == asyncio.run(work()) == [head, "", head]
    git(ground.root, "commit", "-q", "--allow-empty", "-m", "second")
    git(ground.root, "update-ref", REF, "HEAD")
    assert asyncio.run(work())[0] == git(ground.root, "rev-parse", "HEAD") != head


def test_refs_that_git_packs_meanwhile_are_read(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """`git gc` of an agent's commit moves refs into one file at any moment: none may seem to be changed or gone."""
    git(ground.root, "tag", "t")
    found = asyncio.run(folders(str(ground.root)))
    before = found.refs()

    def listed(folder: str) -> list[str]:
        names = known(folder)
        git(ground.root, "pack-refs", "--all")
        return names

    known = git_files._files
    monkeypatch.setattr(git_files, "_files", listed)
    assert found.refs() == before


def test_a_file_that_is_removed_while_a_folder_of_git_is_listed(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts as absent: a git that writes a temporary file there is no fault of the run."""
    path = ground.root / ".git/info/temporary"
    repository = Repository(str(ground.root), "run-x", str(ground.worktrees))
    before = asyncio.run(repository.fingerprint())

    def listed(folder: str) -> list[os.DirEntry[str]]:
        path.touch()
        entries = git_files.entries_if_there(folder)
        path.unlink()
        return entries

    monkeypatch.setattr(worktrees, "entries_if_there", listed)
    assert asyncio.run(repository.fingerprint()) == before


def test_a_ref_that_cannot_be_read_is_an_error(ground: Ground) -> None:
    """It would look like a ref that is absent, so a change of it would go unseen."""
    os.mkfifo(ground.root / ".git/refs/tags/pipe")
    found = asyncio.run(folders(str(ground.root)))
    with pytest.raises(StorageError, match="refs/tags/pipe"):
        found.refs()
    with pytest.raises(StorageError, match="refs/tags/pipe"):
        found.ref("refs/tags/pipe")
    assert found.ref("refs/tags") == ""


def test_a_merge_without_a_checkout(ground: Ground) -> None:
    """A merge has both parents, one of a known commit is the head itself, and a conflict names its files."""
    base = git(ground.root, "rev-parse", "HEAD")

    def change(name: str, text: str) -> str:
        git(ground.root, "checkout", "-q", "--detach", base)
        (ground.root / name).write_text(text)
        git(ground.root, "add", "-A")
        git(ground.root, "commit", "-q", "-m", name)
        return git(ground.root, "rev-parse", "HEAD")

    one, two, clash = change("one", "1\n"), change("README.md", "two\n"), change("README.md", "clash\n")

    async def merge(head: str, commit: str) -> tuple[str, list[str]]:
        return await merge_trees(Git(str(ground.root)), Writer(), head, commit, "merge")

    new, files = asyncio.run(merge(one, two))
    assert (git(ground.root, "rev-list", "--parents", "-n", "1", new).split()[1:], files) == ([one, two], [])
    assert git(ground.root, "ls-tree", "--name-only", new) == "README.md\none"
    assert asyncio.run(merge(new, two)) == (new, [])
    assert asyncio.run(merge(two, clash)) == ("", ["README.md"])
    with pytest.raises(GitFailed):
        asyncio.run(merge(one, "0" * 40))


def test_differences_are_those_of_git(ground: Ground) -> None:
    """For one pair of commits after the other: paths in any folder, texts, bytes, no difference, other branches."""
    base = git(ground.root, "rev-parse", "HEAD")
    contents = {"a/ä b.txt": b"end\n", "a/bin": b"\0\1", "a/b/no-newline": b"x", "new": b"\n\nend end\n"}
    for name, data in contents.items():
        (ground.root / name).parent.mkdir(parents=True, exist_ok=True)
        (ground.root / name).write_bytes(data)
    git(ground.root, "add", "-A")
    git(ground.root, "commit", "-q", "-m", "more")
    more = git(ground.root, "rev-parse", "HEAD")
    git(ground.root, "commit", "-q", "--allow-empty", "-m", "same")
    same = git(ground.root, "rev-parse", "HEAD")
    pairs = [(base, more), (more, same), (base, same), (more, base), (base, base), (same, base)]

    async def work() -> None:
        here, differ = Git(str(ground.root)), Differ()
        differ.open()
        try:
            for one, other in pairs:
                files, patch = await differ.diff(here, one, other)
                _, names = await here.run("diff", "--name-only", "-z", one, other)
                _, whole = await here.run("diff", "--patch", "--binary", "--no-renames", one, other)
                assert (files, patch) == (names.split("\0")[:-1], whole)
                assert (files, patch) == await Differ().diff(here, one, other)
        finally:
            await differ.close()

    asyncio.run(work())


def test_a_pipe_in_the_checkout_does_not_stop_comparisons(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """git reads .gitattributes there: it is ended, the pipe is named, and the next request gets its answer."""
    monkeypatch.setattr(run_git, "SLOW_S", 0.2)
    base = git(ground.root, "rev-parse", "HEAD")
    (ground.root / "new").write_text("x\n")
    git(ground.root, "add", "-A")
    git(ground.root, "commit", "-q", "-m", "more")
    head = git(ground.root, "rev-parse", "HEAD")
    os.mkfifo(ground.root / ".gitattributes")

    async def work() -> None:
        here, differ = Git(str(ground.root)), Differ()
        differ.open()
        try:
            with pytest.raises(GitFailed, match="gitattributes is no plain file"):
                await differ.diff(here, base, head)
            (ground.root / ".gitattributes").unlink()
            assert (await differ.diff(here, base, head))[0] == ["new"]
        finally:
            await differ.close()

    asyncio.run(work())


def test_many_warnings_of_a_long_lived_git_are_read(ground: Ground) -> None:
    """git would wait for a reader once the pipe of its warnings is full."""
    program = "import sys\nfor line in sys.stdin: sys.stderr.write('w' * (8 << 20)); print(line, end='', flush=True)"
    config = (f"alias.noisy=!{sys.executable} -c {shlex.quote(program)}",)

    async def work() -> list[str]:
        process = GitProcess("-c", *config, "noisy")
        try:
            return await process.ask(Git(str(ground.root)), "request\n", 1)
        finally:
            await process.end()

    assert asyncio.run(work()) == ["request"]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_commit_that_is_missing_is_an_error(is_open: bool, ground: Ground) -> None:
    """It never looks like a commit without differences, and the next request gets its answer."""
    head, missing = git(ground.root, "rev-parse", "HEAD"), "1" * 40

    async def work() -> None:
        here, differ = Git(str(ground.root)), Differ()
        if is_open:
            differ.open()
        try:
            for pair in ((head, missing), (missing, head)):
                with pytest.raises(GitFailed):
                    await differ.diff(here, *pair)
                assert await differ.diff(here, head, head) == ([], "")
        finally:
            await differ.close()

    asyncio.run(work())


def flushes(path: Path) -> int:
    """Return how often the git processes of a trace had the disk write its cache."""
    counts = [json.loads(line) for line in path.read_text().splitlines()]
    return sum(int(one["value"]) for one in counts if one.get("key") == "fsync/hardware-flush")


def test_a_commit_is_on_the_disk(ground: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A power cut does not take a commit that the log names: its object is flushed. Processes that stay have the same
    options, but are killed at their end, and so leave no trace.
    """
    git(ground.root, "commit", "-q", "--allow-empty", "-m", "second")
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(tmp_path / "trace"))
    committed(ground, stays=False)
    assert flushes(tmp_path / "trace") >= 1
    assert "core.fsync=committed,reference" in run_git.options(hooks=False)
