"""Write commits and refs of a run by two long-lived git processes.

To start git for each of them would cost more than the write. Before `open`, after `close`, and if `open` cannot use
long-lived processes, git is started for each commit and ref.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from typing import BinaryIO

from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.git_process import GitProcess
from nexus_mcp.store import atomic

_DATES = ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")


class Writer:
    """Makes commits and moves refs in one repository."""

    def __init__(self) -> None:
        self._git: Git | None = None
        self._objects = GitProcess()
        self._refs = GitProcess("update-ref", "--stdin")
        self._idents: tuple[str, str] | None = None
        self._file: BinaryIO | None = None

    async def open(self, git: Git) -> None:
        """Use long-lived processes until `close`, unless git's settings have no author, the environment sets dates, or
        there is no /dev/fd or no place for a temporary file.
        """
        if self._git is not None or any(os.environ.get(name) for name in _DATES):
            return
        try:
            idents = await git.out("var", "GIT_AUTHOR_IDENT"), await git.out("var", "GIT_COMMITTER_IDENT")
        except GitFailed:
            return
        # git reads each commit from an inherited, unnamed file, so that a killed executor leaves no file.
        try:
            file = tempfile.TemporaryFile()  # noqa: SIM115
        except OSError:
            return
        if not os.path.exists(_path(file)):  # in a container without /dev/fd
            file.close()
            return
        words = ("hash-object", "-t", "commit", "-w", "--no-filters", "--stdin-paths")
        self._idents, self._file = idents, file
        self._objects = GitProcess(*words, files=(file.fileno(),))
        self._git = git

    async def close(self) -> None:
        """End the processes."""
        self._git = None
        await self._objects.end()
        await self._refs.end()
        if self._file is not None:
            self._file.close()
            self._file = None

    async def commit(self, git: Git, tree: str, parents: Sequence[str], message: str) -> str:
        """Make a commit, and return its id; no ref moves. Raise GitFailed, OSError."""
        lines = [line.rstrip() for line in message.strip().split("\n")]
        text = ("\n".join(lines) + "\n").encode("utf-8", "replace")
        if self._git is None or self._idents is None or self._file is None:
            words = [word for parent in parents for word in ("-p", parent)]
            _, out = await git.run("commit-tree", tree, *words, "-F", "-", stdin=text)
            return out.strip()
        author, committer = (_now(ident) for ident in self._idents)
        rows = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        rows += [f"author {author}", f"committer {committer}", "", ""]
        number = self._file.fileno()
        async with self._objects.lock:  # all commits use one file
            os.ftruncate(number, 0)
            os.lseek(number, 0, os.SEEK_SET)
            atomic.write_all(number, "\n".join(rows).encode("utf-8", "surrogateescape") + text)
            os.lseek(number, 0, os.SEEK_SET)  # macOS: git reads from the current offset of this descriptor
            return (await self._objects.ask(self._git, f"{_path(self._file)}\n", 1))[0]

    async def move(self, git: Git, ref: str, new: str, old: str) -> None:
        """Move a ref from `old` to `new`; zeros as `old` create the ref. Raise GitFailed if the ref is not at `old`."""
        if self._git is None:
            await git.run("update-ref", ref, new, old)
            return
        async with self._refs.lock:
            await self._refs.ask(self._git, f"start\nupdate {ref} {new} {old}\nprepare\ncommit\n", 3)


def _path(file: BinaryIO) -> str:
    """Return the path with which a process can open the file of an inherited descriptor."""
    return f"/dev/fd/{file.fileno()}"


def _now(ident: str) -> str:
    """Return an identity of `git var` with its time replaced by the present one, in the same time zone."""
    name, _, zone = ident.rpartition(" ")
    return f"{name.rpartition(' ')[0]} {int(time.time())} {zone}"
