"""Worktrees and branches of a run: make, collect, merge, remove. The user's checkout is never touched.

Each attempt has the branch `nexus/<run>/<task>-<n>` in a worktree of its own; accepted attempts are merged into
`nexus/<run>/integration`. No work is thrown away: a worktree is removed only after its tree was committed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nexus_mcp.errors import NexusError, StorageError
from nexus_mcp.run.environment_faults import is_full
from nexus_mcp.run.git import Git, GitFailed

LEASE = "nexus-lease"
VERDICT_FILES = (".nexus-verdict.json", ".nax-verifier-verdict.json")
_ZERO = "0" * 40
_ESCAPE = "\\"
_FOLDERS: dict[str, tuple[str, str]] = {}
"""Checkout -> (git's common folder, git's folder of this checkout). They never change, and asking git each time would
start a process.
"""


@dataclass(frozen=True, slots=True)
class Repository:
    """The user's repository at `root`, and the folder `worktrees` for those of the run `run`."""

    root: str
    run: str
    worktrees: str

    @property
    def git(self) -> Git:
        """Return git in the user's checkout; it only reads there, and writes refs below nexus/."""
        return Git(self.root)

    @property
    def integration(self) -> str:
        """Return the integration branch."""
        return f"nexus/{self.run}/integration"

    def branch(self, task: int, attempt: int) -> str:
        """Return the branch of an attempt."""
        return f"nexus/{self.run}/{task}-{attempt}"

    def path(self, name: str) -> str:
        """Return the folder of a worktree of this run."""
        return os.path.join(self.worktrees, self.run, name)

    async def head(self, ref: str) -> str:
        """Return the commit of a ref, "" if there is none."""
        code, out = await self.git.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", check=False)
        return out.strip() if code == 0 else ""

    async def add(self, task: int, attempt: int, base: str, links: Sequence[str] = ()) -> str:
        """Make the worktree of an attempt at the commit `base`, and return its folder. Raise GitFailed.

        If an interrupted call left the worktree or the branch, it is used as it is. `links` are paths of the user's
        checkout that the worktree gets as symbolic links, if they exist.
        """
        path, branch = self.path(f"{task}-{attempt}"), self.branch(task, attempt)
        if not os.path.exists(os.path.join(path, ".git")):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            await self.git.run("worktree", "prune")
            if await self.head(f"refs/heads/{branch}"):
                await self.git.run("worktree", "add", "--quiet", "--force", path, branch)
            else:
                await self.git.run("worktree", "add", "--quiet", "-b", branch, path, base)
        for link in links:
            self._link(path, link)
        return path

    def _link(self, path: str, link: str) -> None:
        target, place = os.path.join(self.root, link), os.path.join(path, link)
        if os.path.lexists(place) or not os.path.exists(target):
            return
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(target, place)

    async def collect(
        self, path: str, message: str, links: Sequence[str] = (), *, hooks: bool = True
    ) -> tuple[str, str]:
        """Commit everything in the worktree, and return (its commit, the output of a commit hook that refused, or "").

        Verdict files and `links` are left out. A hook that refuses leaves the work uncommitted; without `hooks` none
        runs. Raise GitFailed.
        """
        git = Git(path, hooks=hooks)
        left_out = [left_out_pathspec(name) for name in (*VERDICT_FILES, *links)]
        await git.run("add", "--all", "--", ":/", *left_out)
        code, _ = await git.run("diff", "--cached", "--quiet", check=False)
        if code:
            try:
                await git.run(
                    "commit",
                    "--quiet",
                    "--no-gpg-sign",
                    *([] if hooks else ["--no-verify"]),
                    "-F",
                    "-",
                    stdin=message.encode(),
                )
            except GitFailed as error:
                if is_full(error):
                    raise
                return await git.out("rev-parse", "HEAD"), error.output or "the commit was refused"
        return await git.out("rev-parse", "HEAD"), ""

    async def admin_of(self, path: str) -> str:
        """Return the folder of git for a worktree. Raise GitFailed."""
        return await Git(path).out("rev-parse", "--absolute-git-dir")

    async def head_of(self, path: str) -> str:
        """Return the commit that is checked out in a worktree. Raise GitFailed."""
        return await Git(path).out("rev-parse", "HEAD")

    async def changed(self, base: str, commit: str) -> list[str]:
        """Return the paths that differ between two commits. Raise GitFailed."""
        return await self.git.names("diff", "--name-only", "--no-renames", base, commit)

    async def merge(self, commit: str, message: str) -> tuple[str, list[str]]:
        """Merge the commit into the integration branch's worktree, detached; return (the new commit, []).

        If there are conflicts, change nothing and return ("", the files in conflict). The branch itself is not moved
        yet: `publish` does that, after the checks. Raise GitFailed.
        """
        path = await self.integration_worktree()
        git = Git(path)
        head = await self.head(f"refs/heads/{self.integration}")
        await git.run("reset", "--quiet", "--hard", head)
        code, _ = await git.run("merge-base", "--is-ancestor", commit, head, check=False)
        if code == 0:
            return head, []
        code, _ = await git.run("merge", "--no-ff", "--no-verify", "--quiet", "-m", message, commit, check=False)
        if code:
            files = await git.names("diff", "--name-only", "--diff-filter=U")
            await git.run("merge", "--abort", check=False)
            await git.run("reset", "--quiet", "--hard", head)
            return "", files or ["(the merge failed without a conflict)"]
        return await git.out("rev-parse", "HEAD"), []

    async def publish(self, old: str, new: str) -> None:
        """Move the integration branch from `old` to `new`. Raise GitFailed if it is elsewhere."""
        await self.git.run("update-ref", f"refs/heads/{self.integration}", new, old or _ZERO)

    async def integration_worktree(self, links: Sequence[str] = ()) -> str:
        """Make the integration worktree at the integration branch, detached, and return its folder. Raise GitFailed.

        `links` are as in `add`.
        """
        path = self.path("integration")
        if not os.path.exists(os.path.join(path, ".git")):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            await self.git.run("worktree", "prune")
            await self.git.run("worktree", "add", "--quiet", "--force", "--detach", path, self.integration)
        for link in links:
            self._link(path, link)
        return path

    async def is_merge_of(self, commit: str, first: str, second: str) -> bool:
        """Return whether a commit is the merge of `second` into `first`, with the tree that git computes for it."""
        code, parents = await self.git.run("rev-list", "--parents", "-n", "1", commit, check=False)
        if code or parents.split()[1:] != [first, second]:
            return False
        code, tree = await self.git.run("merge-tree", "--write-tree", first, second, check=False)
        return code == 0 and tree.strip() == await self.git.out("rev-parse", f"{commit}^{{tree}}")

    async def remove(self, path: str) -> None:
        """Remove a worktree whose work is committed; its branch stays. Raise GitFailed."""
        await self.git.run("worktree", "remove", "--force", path, check=False)
        if os.path.isdir(path) and path.startswith(os.path.join(self.worktrees, self.run, "")):
            shutil.rmtree(path, ignore_errors=True)
        await self.git.run("worktree", "prune")

    async def is_ancestor(self, commit: str, of: str) -> bool:
        """Return whether a commit is part of another one's history."""
        return (
            bool(commit and of) and (await self.git.run("merge-base", "--is-ancestor", commit, of, check=False))[0] == 0
        )

    async def fingerprint(self) -> dict[str, str]:
        """Return the state of the user's checkout that an attempt must not change: HEAD, index, refs, config, hooks,
        info.

        Refs below refs/heads/nexus/ are left out.
        """
        refs = await self.git.out("for-each-ref", "--format=%(refname) %(objectname)")
        if self.root not in _FOLDERS:
            words = (await self.git.out("rev-parse", "--git-common-dir", "--git-dir")).split("\n")
            _FOLDERS[self.root] = (os.path.join(self.root, words[0]), os.path.join(self.root, words[1]))
        common, own = _FOLDERS[self.root]
        return {
            "refs": "\n".join(line for line in refs.split("\n") if not line.startswith("refs/heads/nexus/")),
            "HEAD": _text(os.path.join(own, "HEAD")),
            "index": await self.git.out("ls-files", "--stage"),
            "config": _text(os.path.join(common, "config")),
            "hooks": _listing(os.path.join(common, "hooks")),
            "info": _listing(os.path.join(common, "info")),
        }


def left_out_pathspec(path: str) -> str:
    """Return the pathspec that leaves out the path.

    As a pattern: git refuses to leave out a literal path that .gitignore has, such as a linked `.env`.
    """
    escaped = "".join(f"\\{one}" if one in "*?[]\\" else one for one in path)
    return f":(exclude,top,glob){escaped if escaped.startswith(_ESCAPE) else _ESCAPE + escaped}"


class LeaseLost(NexusError):
    """Another attempt has taken over the worktree."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The worktree {path} belongs to another attempt by now, so this one's result does not count.",
            next_step="nexus-mcp run log has both attempts.",
        )


def write_lease(admin: str, lease: Mapping[str, Any]) -> None:
    """Write the lease of a worktree, whole or not at all, into its folder of git. Raise StorageError."""
    path = os.path.join(admin, LEASE)
    try:
        with open(f"{path}.tmp", "w", encoding="utf-8") as file:
            json.dump(dict(lease), file)
        os.replace(f"{path}.tmp", path)
    except OSError as error:
        raise StorageError(path, "write", error.strerror or "") from error


def read_lease(admin: str) -> dict[str, Any]:
    """Return the lease of a worktree, {} if there is none."""
    try:
        with open(os.path.join(admin, LEASE), encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _listing(folder: str) -> str:
    """Return the names, sizes, modes and times of the files in a folder."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return ""
    infos = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
    return "\n".join(f"{name} {info.st_size} {info.st_mode} {info.st_mtime_ns}" for name, info in infos)
