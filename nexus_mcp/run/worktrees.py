"""Worktrees and branches of a run: make, collect, merge, remove. The user's checkout is never touched.

Each attempt has the branch `nexus/<run>/<task>-<n>` in a worktree of its own; accepted attempts are merged into
`nexus/<run>/integration`. No work is thrown away: a worktree is removed only after its tree was committed.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nexus_mcp.errors import NexusError, StorageError
from nexus_mcp.run import collecting
from nexus_mcp.run.commits import commit_index, conflicts_of, merge_trees, plain_head
from nexus_mcp.run.environment_faults import is_full, names_full_disk
from nexus_mcp.run.git import Git, GitFailed
from nexus_mcp.run.git_differ import Differ
from nexus_mcp.run.git_files import (
    RUN_REFS,
    entries_if_there,
    folders,
    global_config_files,
    has_commit_hooks,
    index_digest,
    text_if_there,
    text_of,
)
from nexus_mcp.run.git_writer import Writer
from nexus_mcp.store.folder import reason

LEASE = "nexus-lease"
VERDICT_FILES = (".nexus-verdict.json", ".nax-verifier-verdict.json")
GLOBAL_CONFIG = "global config"
_ESCAPE = "\\"
_VERSION: list[tuple[int, ...]] = []


@dataclass(frozen=True, slots=True)
class Repository:
    """The user's repository at `root`, with the worktrees of the run `run` below the folder `worktrees`.

    `one_by_one` is held while a worktree is added, removed or pruned: git then reads the files of all worktrees, and
    fails if one is incomplete. `in_place` is held while worktrees are pruned, and while one is renamed: in the middle
    of a rename, pruning would remove the worktree from git's list.
    """

    root: str
    run: str
    worktrees: str
    one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)
    in_place: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)
    writer: Writer = field(default_factory=Writer, compare=False)
    differ: Differ = field(default_factory=Differ, compare=False)

    @property
    def git(self) -> Git:
        """Return git in the user's checkout. This class reads with it, and writes refs below nexus/ and worktrees."""
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
        if ref.startswith(RUN_REFS):
            with suppress(GitFailed, StorageError):  # then git is started below
                found = (await folders(self.root)).ref(ref)
                if found is not None:
                    return found
        code, out = await self.git.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", check=False)
        return out.strip() if code == 0 else ""

    async def add(self, task: int, attempt: int, base: str, links: Sequence[str] = ()) -> str:
        """Make the worktree of an attempt at the commit `base`, and return its folder. Raise GitFailed, OSError.

        If an interrupted call left the worktree or the branch, it is used as it is. `links` are paths of the user's
        checkout that the worktree gets as symbolic links, if they exist.
        """
        path, branch = self.path(f"{task}-{attempt}"), self.branch(task, attempt)
        if not os.path.exists(os.path.join(path, ".git")):
            if await self.head(f"refs/heads/{branch}"):
                await self.add_worktree("--force", path, branch)
            else:
                await self.add_worktree("-b", branch, path, base)
        self.link_all(path, links)
        return path

    async def add_worktree(self, *words: str) -> None:
        """Prune the worktrees, then call `git worktree add WORDS`. Raise GitFailed, OSError."""
        os.makedirs(self.path(""), mode=0o700, exist_ok=True)
        async with self.one_by_one:
            await self._prune()
            await self.git.run("worktree", "add", "--quiet", *words)

    def link_all(self, path: str, links: Sequence[str]) -> None:
        """Give a worktree symbolic links to paths of the user's checkout, if they exist there. Raise OSError."""
        for link in links:
            self._link(path, link)

    def _link(self, path: str, link: str) -> None:
        target, place = os.path.join(self.root, link), os.path.join(path, link)
        if os.path.lexists(place) or not os.path.exists(target):
            return
        folder = os.path.join(os.path.realpath(os.path.dirname(place)), "")
        if not folder.startswith(os.path.join(os.path.realpath(path), "")):
            return  # the tree has a link that leads out of it
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(target, place)

    async def collect(
        self,
        path: str,
        message: str,
        links: Sequence[str] = (),
        *,
        hooks: bool = True,
        wrap: Callable[[Sequence[str]], Sequence[str]] = tuple,
    ) -> tuple[str, str]:
        """Commit everything in the worktree, and return (its commit, a text about work that is not committed, or "").

        Verdict files and `links` are left out without a text. The text is the output of a commit hook that refused, and
        so left all work uncommitted; else it names what is left out: folders with a repository of their own, files that
        git cannot store, and work in submodules. Without `hooks` no hook runs; hooks run in the sandbox of `wrap`.
        Raise GitFailed, StorageError, WorktreeGone.
        """
        git, admin = Git(path, hooks, wrap), await self.admin_of(path)
        await collecting.remove_locks(admin, path)
        await collecting.show_hidden(Git(path), admin)
        await collecting.hold_branch(Git(path), admin, self._own_branch(path))
        if collecting.may_have_repositories(admin):
            await collecting.forget_embedded(Git(path), f"refs/heads/{self.integration}")
        refused = await self._add_all(Git(path), admin, [*VERDICT_FILES, *links])
        if not refused and collecting.may_have_repositories(admin):
            refused = await collecting.kept_inside(path, is_staged=True)
        if not hooks or not await has_commit_hooks(self.root):
            ref, head = plain_head(admin, await folders(self.root))
            if ref:
                return await commit_index(Git(path), self.writer, ref, head, message), refused
        commit, output = await self._commit(git, message)
        return commit, output or refused

    async def _add_all(self, git: Git, admin: str, left_out: Sequence[str]) -> str:
        """Add everything to the index except the paths `left_out`. Return why something else is left out, too: a folder
        that is a repository of its own, or a file that git cannot store; "" if nothing is. Raise GitFailed.
        """
        inner: list[str] = []
        odd: list[str] = []
        sparse = ("--sparse",) if collecting.is_sparse(admin) else ()
        while True:
            below = [f"{left_out_pathspec(name)}/**" for name in inner]
            out = map(left_out_pathspec, (*left_out, *odd))
            words = ("add", "--all", *sparse, "--", ":/", *out, *below)
            code, _, output = await git.outputs(*words)
            special = [name for name in collecting.special(output) if name not in odd]
            found = [name for name in collecting.embedded_folders(output) if name not in inner]
            if not found and not special:
                break
            odd += special
            if not found:
                continue
            inner += found
            # The index entry of a repository does not contain the content of its files, so remove it.
            await git.run("rm", "--cached", "--quiet", "--force", "--ignore-unmatch", "--", *found)
        if code:
            raise GitFailed(words, code, output)
        return " ".join(filter(None, (collecting.refusal(inner), collecting.refusal_of_special(odd))))

    def _own_branch(self, path: str) -> str:
        """Return the ref of the branch of the attempt whose worktree is at `path`."""
        return f"{RUN_REFS}{self.run}/{os.path.basename(path)}"

    async def _commit(self, git: Git, message: str) -> tuple[str, str]:
        """Commit the index, if it differs from HEAD or a merge is under way, by `git commit`: it runs hooks, if
        `git.hooks`, and completes the merge. Return (the commit of HEAD, the output of a refused commit, or "").
        """
        differs, _ = await git.run("diff", "--cached", "--quiet", check=False)
        if differs or os.path.lexists(os.path.join(await self.admin_of(git.folder), "MERGE_HEAD")):
            no_hooks = () if git.hooks else ("--no-verify",)
            words = ("commit", "--quiet", "--no-gpg-sign", *no_hooks, "-F", "-")
            try:
                await git.run(*words, stdin=message.encode())
            except GitFailed as error:
                if is_full(error):
                    raise
                return await git.out("rev-parse", "HEAD"), error.output or "the commit was refused"
        return await git.out("rev-parse", "HEAD"), ""

    async def admin_of(self, path: str) -> str:
        """Return git's folder of the worktree at `path`. Raise GitFailed, or WorktreeGone if `path` is no worktree of
        this repository any more: there git would use a repository whose folder contains `path`.
        """
        if admin := await self._own_admin(path):
            return admin
        if not os.path.isdir(path):
            raise WorktreeGone(path)
        worktrees = os.path.realpath(os.path.join((await folders(self.root)).common, "worktrees"))
        code, out = await Git(path).run("rev-parse", "--absolute-git-dir", check=False)
        admin = out.removesuffix("\n")
        if code or os.path.dirname(os.path.realpath(admin)) != worktrees:
            raise WorktreeGone(path)
        return admin

    async def head_of(self, path: str) -> str:
        """Return the commit that is checked out in a worktree. Raise GitFailed."""
        return await Git(path).out("rev-parse", "HEAD")

    async def diff(self, base: str, commit: str) -> tuple[list[str], str]:
        """Return (the paths that differ between two commits, the patch). Raise GitFailed."""
        if base == commit:
            return [], ""
        return await self.differ.diff(self.git, base, commit)

    async def merge(self, commit: str, message: str) -> tuple[str, list[str]]:
        """Merge the commit into the integration branch; return (the new commit, []), or ("", the files in conflict).

        If the branch contains the commit already, the new commit is the head of the branch. With git 2.38 or later
        the merge needs no checkout. The branch is not moved yet: after the checks `publish` does that. Raise GitFailed.
        """
        head = await self.head(f"refs/heads/{self.integration}")
        if await _can_merge_trees():
            return await merge_trees(Git(await self.integration_worktree()), self.writer, head, commit, message)
        return await self._merge_checked_out(head, commit, message)

    async def _merge_checked_out(self, head: str, commit: str, message: str) -> tuple[str, list[str]]:
        """Merge in the integration worktree, for versions of git before 2.38; the result is that of `merge`."""
        git = Git(await self.check_out(head))
        if await self.is_ancestor(commit, head):
            return head, []
        if files := await conflicts_of(git, "--no-ff", "--no-verify", "--quiet", "-m", message, commit):
            await git.run("merge", "--abort", check=False)
            await git.run("reset", "--quiet", "--hard", head)
            return "", files
        return await git.out("rev-parse", "HEAD"), []

    async def check_out(self, commit: str) -> str:
        """Check out a commit in the integration worktree, and return its folder. Changes of tracked files that checks
        made there are reverted.

        Raise GitFailed.
        """
        path = await self.integration_worktree()
        # `git reset --hard` does the same, but reads each folder of the commit.
        await Git(path).run("checkout", "--quiet", "--force", "--no-guess", "--detach", commit)
        return path

    async def publish(self, old: str, new: str) -> None:
        """Move the integration branch from `old` ("": create it) to `new`. Raise GitFailed if it is not at `old`."""
        await self.writer.move(self.git, f"refs/heads/{self.integration}", new, old or "0" * len(new))

    async def integration_worktree(self, links: Sequence[str] = ()) -> str:
        """Make the integration worktree, detached at the integration branch, unless it exists; return its folder.

        `links` are as in `add`. Raise GitFailed, OSError.
        """
        path = self.path("integration")
        if not os.path.exists(os.path.join(path, ".git")):
            await self.add_worktree("--force", "--detach", path, self.integration)
        self.link_all(path, links)
        return path

    async def is_merge_of(self, commit: str, first: str, second: str) -> bool:
        """Return whether a commit merges `second` into `first`, with the tree that git computes. Raise GitFailed."""
        code, parents = await self.git.run("rev-list", "--parents", "-n", "1", commit, check=False)
        if code or parents.split()[1:] != [first, second]:
            return False
        words = ("merge-tree", "--write-tree", first, second)
        code, tree, output = await self.git.outputs(*words)
        if code and names_full_disk(output):
            raise GitFailed(words, code, output)
        return code == 0 and tree.strip() == await self.git.out("rev-parse", f"{commit}^{{tree}}")

    async def remove(self, path: str) -> None:
        """Remove a worktree whose work is committed; its branch stays. Raise GitFailed."""
        is_ours = path.startswith(os.path.join(self.worktrees, self.run, ""))
        admin = await self._own_admin(path) if is_ours else ""
        if admin:
            # `git worktree remove` would check each file first.
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
            async with self.one_by_one:
                await asyncio.to_thread(shutil.rmtree, admin, ignore_errors=True)
        if not admin or os.path.lexists(path):
            async with self.one_by_one:
                await self.git.run("worktree", "remove", "--force", path, check=False)
                if os.path.isdir(path) and is_ours:
                    shutil.rmtree(path, ignore_errors=True)
                await self._prune()

    async def _prune(self) -> None:
        """Let git forget the worktrees whose folders are gone. Raise GitFailed."""
        async with self.in_place:
            await self.git.run("worktree", "prune")

    async def _own_admin(self, path: str) -> str:
        """Return git's folder of a worktree of this repository, from its file .git; "" if the file names none, or if
        the folder is locked or does not name the worktree in turn. Raise GitFailed.
        """
        common = os.path.join((await folders(self.root)).common, "worktrees", "")
        admin = _gitdir(path)
        is_below = os.path.dirname(admin) == os.path.dirname(common)
        is_plain = is_below and not os.path.islink(admin) and not os.path.exists(os.path.join(admin, "locked"))
        return admin if is_plain and _leads_to(admin, path) else ""

    async def is_ancestor(self, commit: str, of: str) -> bool:
        """Return whether a commit is in the history of the commit `of`."""
        return (
            bool(commit and of) and (await self.git.run("merge-base", "--is-ancestor", commit, of, check=False))[0] == 0
        )

    async def fingerprint(self) -> dict[str, str]:
        """Return a text for each part that an attempt must not change, for comparisons: HEAD, index, refs, config,
        hooks and info of the user's checkout, and the user's own configuration of git, which can name programs that git
        starts.

        Refs below refs/heads/nexus/ are left out. Raise GitFailed, and StorageError for a part that cannot be read.
        """
        found = await folders(self.root)
        if found.has_ref_files:
            refs = "\n".join(f"{name} {value}" for name, value in sorted(found.refs().items()))
        else:
            lines = (await self.git.out("for-each-ref", "--format=%(refname) %(objectname)")).split("\n")
            refs = "\n".join(line for line in lines if not line.startswith(RUN_REFS))
        return {
            "refs": refs,
            "HEAD": text_if_there(os.path.join(found.own, "HEAD")),
            "index": await index_digest(self.root),
            "config": text_if_there(os.path.join(found.common, "config"), limit=-1),
            GLOBAL_CONFIG: "\0".join(text_if_there(path, limit=-1) for path in global_config_files()),
            "hooks": _listing(os.path.join(found.common, "hooks")),
            "info": _listing(os.path.join(found.common, "info"), _is_written_by_gc),
        }


def left_out_pathspec(path: str) -> str:
    """Return the pathspec that leaves out the path.

    It is a pattern, because git refuses to leave out a literal path that .gitignore names, such as a linked `.env`.
    """
    escaped = "".join(f"\\{one}" if one in "*?[]\\" else one for one in path)
    return f":(exclude,top,glob){escaped if escaped.startswith(_ESCAPE) else _ESCAPE + escaped}"


class WorktreeGone(NexusError):
    """A worktree was removed, or its file .git was removed or replaced."""

    def __init__(self, path: str) -> None:
        is_there = os.path.isdir(path)
        what = "is no worktree of your repository any more: its file .git was removed or replaced."
        left = "The files of the attempt are still there." if is_there else "Its branch has the commits made before."
        super().__init__(
            f"{path} {what if is_there else 'was removed while the attempt was at work.'}",
            next_step=f"{left} nexus-mcp run retry begins another attempt.",
        )


class LeaseLost(NexusError):
    """Another attempt has taken over the worktree."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The worktree {path} now belongs to another attempt, so the result of this attempt does not count.",
            next_step="nexus-mcp run log shows both attempts.",
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
    """Return the lease of a worktree, {} if there is none that can be read."""
    try:
        value = json.loads(text_of(os.path.join(admin, LEASE)))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


async def _can_merge_trees() -> bool:
    """Return whether git can merge without a worktree, as versions since 2.38 can. Raise GitFailed."""
    if not _VERSION:
        words = (await Git("/").out("--version")).split()
        _VERSION.append(tuple(int(part) for part in re.findall(r"\d+", words[2])[:2]))
    return _VERSION[0] >= (2, 38)


def _gitdir(path: str) -> str:
    """Return the folder that the file `.git` of a worktree names, "" if it names none or is a link."""
    word, _, folder = _text(os.path.join(path, ".git")).partition(": ")
    return folder.removesuffix("\n") if word == "gitdir" and not os.path.islink(os.path.join(path, ".git")) else ""


def _leads_to(admin: str, path: str) -> bool:
    return _text(os.path.join(admin, "gitdir")) == os.path.join(path, ".git") + "\n"


def _text(path: str) -> str:
    """Return the text of a file for a comparison; for an unreadable file, a text that no comparison accepts."""
    try:
        return text_of(path)
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _listing(folder: str, is_left_out: Callable[[str], bool] = lambda _: False) -> str:
    """Return the names, sizes, modes and times of the files in a folder. Raise StorageError."""
    rows = []
    for entry in sorted(entries_if_there(folder), key=lambda entry: entry.name):
        if is_left_out(entry.name):
            continue
        try:
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # the file was removed after it was listed
            continue
        except OSError as error:
            raise StorageError(folder, "read", reason(error)) from error
        rows.append(f"{entry.name} {info.st_size} {info.st_mode} {info.st_mtime_ns}")
    return "\n".join(rows)


def _is_written_by_gc(name: str) -> bool:
    """Return whether a file in git's folder `info` is the list of refs for dumb HTTP clients, or its temporary file.

    `git gc`, which a commit of an agent may start, writes the list. Only such clients read it.
    """
    return name == "refs" or name.startswith("refs_")
