"""Notes deleted as one git commit, which says how to get each of them back.

The commit is made of git's own objects, not by `git commit`: that would run hooks, filters and a signing program which
the repository names, look at every file, and take along what is staged. What is staged stays so, and stays out of it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress

from nexus_mcp.errors import UNCHANGED, NexusError
from nexus_mcp.knowledge.notes import LIMIT
from nexus_mcp.knowledge.shown import quoted
from nexus_mcp.merging.repository import SECONDS, ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.knowledge.cleanup import Signals
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import Held
    from nexus_mcp.store.patience import Patience

MOST = 500
_CHANGING = 0.5
"""Seconds that git has to change a reference or the index, whatever is left: one that is killed leaves a lock there."""
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "BISECT_LOG": "a bisection",
}
_BY_HAND = "Delete by hand what is not needed, if it may be gone for good."


class Deletion:
    """Notes, by their names in a folder, and the commit that will delete them, which nothing points to yet.

    `restore` has for each the command that gets it back, from `parent`, the commit before.
    """

    __slots__ = ("commit", "contents", "git", "parent", "restore")

    def __init__(self, folder: Folder, chosen: list[Signals], patience: Patience) -> None:
        """Prepare it, MOST notes at most; git may take its time, so not under the lock, and no more than `patience`.

        Raises NexusError with nothing changed when they could not be had back from git as they are.
        """
        chosen = chosen[:MOST]
        self.git = _Git(folder.path, patience)
        self.parent = self.git.head()
        self.contents = {one.path: folder.read(one.path, LIMIT) for one in chosen}
        self.git.check(self.contents)
        self.restore = {one.path: self.git.way_back(self.parent, one.path) for one in chosen}
        self.commit = self.git.commit(self.parent, list(self.contents), _message(chosen, self.restore))

    def carry_out(self, folder: Folder, held: Held) -> tuple[list[str], list[str]]:
        """(the names that are gone, those that were left because they changed). Only under the lock.

        Raises NexusError with nothing changed when a note, or the branch, is not any more as it was.
        """
        if any(folder.read(name, LIMIT) != data for name, data in self.contents.items()):
            problem = "A note was changed meanwhile"
            raise NexusError(problem, effect=UNCHANGED, next_step="Call again: it may be in use.")
        held.check()
        self.git.advance(self.commit, self.parent)
        gone: list[str] = []
        left: list[str] = []
        for name, data in self.contents.items():
            # An editor knows no lock: what it wrote in this moment is kept, and git calls it a new file.
            (gone if folder.read(name, LIMIT) == data and _removed(folder, name) else left).append(name)
        with suppress(OSError):  # they are gone for every reader; a power cut may bring one back, which git shows
            folder.sync()
        self.git.unstage(list(self.contents))
        return gone, left


def _removed(folder: Folder, name: str) -> bool:
    try:
        folder.unlink(name)
    except OSError:
        return False
    return True


def _message(chosen: list[Signals], restore: dict[str, str]) -> str:
    number = len(chosen)
    what = f"Delete {number} note{'s' * (number > 1)} that nobody reads"
    lines = [what, "", "To get one back, at the top of the repository:", ""]
    for one in chosen:
        lines += [f"- {one.path}: {', '.join(one.reasons())}", f"    {restore[one.path]}"]
    return "\n".join([*lines, ""])


class _Git:
    """The repository that the folder of the notes lies in, asked from there: paths are names."""

    __slots__ = ("_folder", "_patience")

    def __init__(self, folder: str, patience: Patience) -> None:
        self._folder = folder
        self._patience = patience

    def head(self) -> str:
        """The commit that is checked out. Raises NexusError when none is, or when something is under way."""
        code, answer, complaint = self._ask("rev-parse", "--absolute-git-dir", "--is-inside-work-tree")
        found, _, inside = os.fsdecode(answer).rstrip("\n").rpartition("\n")
        if code or inside != "true":
            problem = "The notes are in no git repository, and what is deleted could not be had back"
            raise NexusError(f"{problem} ({complaint or 'no working tree'})", effect=UNCHANGED, next_step=_BY_HAND)
        for name, what in _UNDER_WAY.items():
            if os.path.lexists(os.path.join(found, name)):
                raise NexusError(
                    f"There is {what} under way in the git repository",
                    effect=UNCHANGED,
                    next_step="Finish it or give it up, then call again.",
                )
        code, answer, _ = self._ask("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if code:
            raise NexusError(
                "The git repository has no commit, and what is deleted could not be had back",
                effect=UNCHANGED,
                next_step="Commit the notes first, then call again.",
            )
        return answer.decode().strip()

    def check(self, contents: dict[str, bytes | None]) -> None:
        """Raises NexusError unless each note is, as it is, in the index and in the commit that is checked out."""
        names = list(contents)
        index = _entries(self._asked("ls-files", "--stage", "-z", "--", *names), 1)
        tree = _entries(self._asked("ls-tree", "-z", "HEAD", "--", *names), 2)
        new = [name for name in names if name not in index and name not in tree]
        dirty = [
            name
            for name in names
            if name not in new and not (index.get(name) == tree.get(name) and _is_blob(contents[name], tree[name]))
        ]
        for found, problem in ((new, "not in git"), (dirty, "not as they are in the last commit")):
            if found:
                listed = ", ".join(quoted(name, 100) for name in found[:5]) + (
                    f" and {len(found) - 5} more" if len(found) > 5 else ""
                )
                raise NexusError(
                    f"Some of the notes are {problem}, and could not be had back: {listed}",
                    effect=UNCHANGED,
                    next_step="Commit them as they are, then call again.",
                )

    def way_back(self, commit: str, name: str) -> str:
        """The command that gets a note back, to be typed at the top of the repository."""
        from shlex import quote

        prefix = os.fsdecode(self._asked("rev-parse", "--show-prefix")).removesuffix("\n")
        return f"git checkout {commit} -- {quote(prefix + name)}"

    def commit(self, parent: str, names: list[str], message: str) -> str:
        """A commit on top of `parent` without these files, which nothing points to yet."""
        with tempfile.TemporaryDirectory(prefix="nexus-mcp-") as scratch:
            index = os.path.join(scratch, "index")
            self._asked("read-tree", parent, index=index)
            self._asked("update-index", "-z", "--force-remove", "--stdin", data=_listed(names), index=index)
            tree = self._asked("write-tree", index=index).decode().strip()
        made = self._asked("commit-tree", tree, "-p", parent, "-F", "-", data=message.encode("utf-8", "replace"))
        return made.decode().strip()

    def advance(self, commit: str, parent: str) -> None:
        """Make it the commit that is checked out, and of its branch, unless somebody committed meanwhile."""
        self._asked("update-ref", "-m", "nexus-mcp memory gc", "HEAD", commit, parent, least=_CHANGING)

    def unstage(self, names: list[str]) -> None:
        """Take the files out of the repository's own index as well."""
        words = ("update-index", "-z", "--force-remove", "--stdin")
        code, _, complaint = self._ask(*words, data=_listed(names), least=_CHANGING)
        if code:
            raise NexusError(
                f"The notes are deleted and the commit is made, but git's index still has them: {complaint}",
                next_step="git reset -q -- .nexus/memory puts that right.",
            )

    def _ask(self, *words: str, data: bytes = b"", index: str = "", least: float = 0.0) -> tuple[int, bytes, str]:
        seconds = max(least, self._patience.left(SECONDS))
        return ask(self._folder, *words, data=data, index=index, seconds=seconds)

    def _asked(self, *words: str, data: bytes = b"", index: str = "", least: float = 0.0) -> bytes:
        code, answer, complaint = self._ask(*words, data=data, index=index, least=least)
        if code:
            raise NexusError(
                f"git {words[0]} failed: {complaint}",
                effect=UNCHANGED,
                next_step="See that git can commit here, and that no other git is at work, then call again.",
            )
        return answer


def _listed(names: list[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _entries(listed: bytes, place: int) -> dict[str, str]:
    """Name -> object of each line of git; "" for one that is in a conflict."""
    found: dict[str, str] = {}
    for entry in listed.split(b"\0")[:-1]:
        words, _, name = entry.partition(b"\t")
        key = os.fsdecode(name)
        found[key] = "" if key in found else words.split()[place].decode()
    return found


def _is_blob(data: bytes | None, name: str) -> bool:
    """Whether git's object of this name is these bytes, or these with the line ends that git may have changed."""
    if data is None:
        return False
    make = hashlib.sha256 if len(name) == 64 else hashlib.sha1
    return any(
        make(b"blob %d\0%b" % (len(text), text), usedforsecurity=False).hexdigest() == name
        for text in (data, data.replace(b"\r\n", b"\n"))
    )
