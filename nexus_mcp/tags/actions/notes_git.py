"""The git repository that notes lie in: whether it can give them back, and the commit that deletes them."""

from __future__ import annotations

import os
import tempfile

from nexus_mcp.errors import UNCHANGED, NexusError
from nexus_mcp.merging.repository import SECONDS, ask
from nexus_mcp.quoting import quoted
from nexus_mcp.tags.actions.note_objects import FETCH, check_readable, check_unchanged, is_blob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.patience import Patience

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
_ON = ("true", "yes", "on", "1", "input")  # of core.autocrlf
_LONGEST = 300
_MAGIC = frozenset("*?[\\")


class Git:
    """Asked from the folder of the notes: paths are names. `prefix`: that folder from the top of the repository."""

    __slots__ = ("_folder", "_lock", "_patience", "prefix")

    def __init__(self, folder: str, patience: Patience) -> None:
        self._folder = folder
        self._patience = patience
        self._lock = ""
        self.prefix = ""

    def head(self) -> str:
        """The commit that is checked out. Raises NexusError when no branch is, or when something is under way."""
        code, answer, complaint = self._ask("rev-parse", "--absolute-git-dir", "--is-inside-work-tree")
        found, _, inside = os.fsdecode(answer).rstrip("\n").rpartition("\n")
        if code or inside != "true":
            problem = "The notes are in no git repository, and what is deleted could not be had back"
            why = quoted(complaint, _LONGEST) if complaint else "no working tree"
            raise NexusError(f"{problem} ({why})", effect=UNCHANGED, next_step=_BY_HAND)
        self._lock = os.path.join(found, "index.lock")
        self.prefix = os.fsdecode(self._asked("rev-parse", "--show-prefix")).removesuffix("\n")
        for name, what in _UNDER_WAY.items():
            if os.path.lexists(os.path.join(found, name)):
                raise NexusError(
                    f"There is {what} under way in the git repository",
                    effect=UNCHANGED,
                    next_step="Finish it or give it up, then call again.",
                )
        code, answer, _ = self._ask("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if code and not self._ask("rev-parse", "--quiet", "--verify", "HEAD")[0]:
            raise NexusError(
                "The commit that is checked out cannot be read from git's object store",
                effect=UNCHANGED,
                next_step=FETCH,
            )
        if code:
            raise NexusError(
                "The git repository has no commit, and what is deleted could not be had back",
                effect=UNCHANGED,
                next_step="Commit the notes first, then call again.",
            )
        if self._ask("symbolic-ref", "--quiet", "HEAD")[0]:
            raise NexusError(
                "No branch is checked out in the git repository, and a commit on none may be lost",
                effect=UNCHANGED,
                next_step="Check out the branch that is to have it, then call again.",
            )
        return answer.decode().strip()

    def check(self, contents: dict[str, bytes | None]) -> None:
        """Raise NexusError unless each note is, as it is, in the index and in the commit, and git can check it out."""
        names = list(contents)
        index = _entries(self._asked("ls-files", "--stage", "-z", "--", *names), 1)
        tree = _entries(self._asked("ls-tree", "-z", "HEAD", "--", *names), 2)
        new = [name for name in names if name not in index and name not in tree]
        others = [name for name in names if name not in new]
        ends = [name for name in others if contents[name] is not None and not is_blob(contents[name], tree.get(name))]
        changeable = self._line_ends(ends) if ends else ()
        dirty = [
            name
            for name in others
            if index.get(name) != tree.get(name)
            or (name in ends and not (name in changeable and is_blob(_unix(contents[name]), tree[name])))
            or contents[name] is None
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
        check_unchanged(self._ask, contents)
        check_readable(self._ask, tree, contents)

    def _line_ends(self, names: list[str]) -> set[str]:
        """Those of the files whose line ends git changes by itself, so that other ones are no change to it."""
        code, answer, _ = self._ask("config", "--get", "core.autocrlf")
        is_on = not code and answer.decode("utf-8", "replace").strip().lower() in _ON
        found = set()
        for entry in self._asked("ls-files", "--eol", "-z", "--", *names).split(b"\0")[:-1]:
            told, _, name = entry.partition(b"\t")
            attribute = told.partition(b"attr/")[2].strip()
            if b"w/-text" not in told and (attribute.startswith(b"text") or (not attribute and is_on)):
                found.add(os.fsdecode(name))
        return found

    def way_back(self, commit: str, name: str) -> str:
        """The command that gets a note back, to be typed at the top of the repository."""
        return _typed(f"checkout {commit} -- ", self.prefix + name)

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
        """Make it the commit that is checked out, and of its branch, unless somebody committed meanwhile.

        Raises NexusError with nothing changed, also while another git has the index.
        """
        if os.path.lexists(self._lock):
            raise NexusError(
                "Another git is at work in the repository, or one was cut off: its index.lock is there",
                effect=UNCHANGED,
                next_step="Let it end, or remove that file if none is at work, then call again.",
            )
        self._asked("update-ref", "-m", "nexus-mcp memory gc", "HEAD", commit, parent, least=_CHANGING)

    def unstage(self, names: list[str]) -> str:
        """Take the files out of the repository's own index as well. What is to be told when that failed, else "".

        No error: the commit is made, and whoever called has to tell how to get the notes back.
        """
        words = ("update-index", "-z", "--force-remove", "--stdin")
        try:
            code, _, complaint = self._ask(*words, data=_listed(names), least=_CHANGING)
        except NexusError as error:
            code, complaint = 1, error.fault
        if not code:
            return ""
        advice = f"at the top of the repository {_typed('reset -q -- ', self.prefix)} puts that right"
        return f"Git's index still has the deleted notes ({quoted(complaint, _LONGEST)}): {advice}."

    def _ask(self, *words: str, data: bytes = b"", index: str = "", least: float = 0.0) -> tuple[int, bytes, str]:
        seconds = max(least, self._patience.left(SECONDS))
        return ask(self._folder, *words, data=data, index=index, seconds=seconds)

    def _asked(self, *words: str, data: bytes = b"", index: str = "", least: float = 0.0) -> bytes:
        code, answer, complaint = self._ask(*words, data=data, index=index, least=least)
        if code:
            raise NexusError(
                f"git {words[0]} failed: {quoted(complaint, _LONGEST)}",
                effect=UNCHANGED,
                next_step="See that git can commit here, and that no other git is at work, then call again.",
            )
        return answer


def _typed(words: str, path: str) -> str:
    """A command of git about this path alone, for a shell."""
    from shlex import quote

    # Only where git would take it for a pattern: without the option it is the command that everybody knows.
    is_pattern = path.startswith(":") or not _MAGIC.isdisjoint(path)
    return f"git {'--literal-pathspecs ' if is_pattern else ''}{words}{quote(path)}"


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


def _unix(data: bytes | None) -> bytes | None:
    return None if data is None else data.replace(b"\r\n", b"\n")
