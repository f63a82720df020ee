"""Delete notes in one git commit, after a check that git can restore each of them byte for byte, except for line ends
that git converts.

The commit is made with git's plumbing commands. `git commit` would run hooks, filters and a signing program that the
repository names, scan every file, and include staged changes. With plumbing, staged changes stay staged and are not in
this commit.

The check reads the object of each note, because index and trees may name an object that the object store has lost. It
refuses notes that git rewrites on checkout because of attributes. It fetches nothing and runs no filter.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress

from nexus_mcp.errors import UNCHANGED, NexusError
from nexus_mcp.knowledge.notes import LIMIT
from nexus_mcp.merging.repository import SECONDS, run_git
from nexus_mcp.quoting import quote
from nexus_mcp.store.atomic import SyncFailed
from nexus_mcp.store.replacement import Replacement, read
from nexus_mcp.wording import join_first

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Protocol

    class Ask(Protocol):
        """Run git with these arguments; return (exit code, stdout, error message)."""

        def __call__(self, *words: str, data: bytes = b"") -> tuple[int, bytes, str]: ...

    from nexus_mcp.knowledge.cleanup import Signals
    from nexus_mcp.store.access import Deadline
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import HeldLock

MOST = 500
_BATCH_BYTES = 1 << 25  # a batch of notes to read from git ends when it has this many bytes
_REWRITING = ("filter", "working-tree-encoding", "ident")
_OFF = ("unspecified", "unset")
_DRIVER = ("smudge", "process", "required")
"""The settings of a filter that have an effect on checkout; `clean` has none."""
_NAMED, _LONGEST = 5, 100
FETCH = "Run git fsck, and restore the missing objects from another clone or with git fetch. Then call again."
_BY_HAND = "If you will never need a note again, delete it by hand."
_CHANGING = 0.5
"""The minimum time in seconds that git gets to change a reference or the index, because a killed git leaves a lock
file.
"""
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "BISECT_LOG": "a bisection",
}
_ON = ("true", "yes", "on", "1", "input")  # values of core.autocrlf with which git converts line ends
_MAGIC = frozenset("*?[\\")


class Deletion:
    """Notes of a folder, and a prepared commit that deletes them. No branch points to the commit before `carry_out`.

    `restore` maps each name to the command that restores it from `parent`, the commit before.
    """

    __slots__ = ("commit", "contents", "git", "parent", "restore")

    def __init__(self, folder: Folder, chosen: list[Signals], patience: Deadline) -> None:
        """Prepare the deletion of the first MOST notes. Call it without the lock, because git may be slow.

        Raise NexusError with nothing changed if a note cannot be read, if git fails, or if git could not restore the
        present bytes of the notes.
        """
        chosen = chosen[:MOST]
        self.git = Git(folder.path, patience)
        self.parent = self.git.head()
        self.contents = {one.path: folder.read(one.path, LIMIT) for one in chosen}
        try:
            self.git.check(self.contents)
        except NexusError:
            self._check_there(folder)  # another clean-up may have deleted the notes
            raise
        self.restore = {one.path: self.git.restore_command(self.parent, one.path) for one in chosen}
        self.commit = self.git.commit(self.parent, list(self.contents), _message(chosen, self.restore))

    def _check_there(self, folder: Folder) -> None:
        """Raise NexusError if one of the notes is gone."""
        if any(folder.look(name) is None for name in self.contents):
            problem = "Some of the notes were deleted meanwhile, perhaps by another clean-up"
            raise NexusError(problem, effect=UNCHANGED, next_step="Call again to see the remaining notes.")

    def carry_out(self, folder: Folder, held: HeldLock) -> tuple[list[str], list[str], str]:
        """Delete the notes under the lock; return (deleted names, names of notes that changed or could not be removed,
        a warning or "").

        Raise NexusError with nothing changed if a note or the branch has changed, or if git fails.
        """
        self._check_there(folder)
        if any(folder.read(name, LIMIT) != data for name, data in self.contents.items()):
            problem = "A note was changed meanwhile"
            raise NexusError(problem, effect=UNCHANGED, next_step="The note may be in use. Call again.")
        held.check()
        self.git.advance(self.commit, self.parent)
        gone: list[str] = []
        left: list[str] = []
        for name, data in self.contents.items():
            # Editors do not take the lock. A file that is saved at this moment stays; for git it is a new file.
            (gone if _remove(folder, name, data) else left).append(name)
        # No reader sees the notes any more. A power cut may restore one, which git then shows.
        with suppress(OSError):
            folder.sync()
        return gone, left, self.git.unstage(list(self.contents))


def _remove(folder: Folder, name: str, data: bytes | None) -> bool:
    """Remove the note if it still holds `data`; return whether it was removed."""
    try:
        original = read(folder, name, LIMIT)
        if not original.is_there or original.content() != data:
            return False
        Replacement(folder, name, original).install("", None)
    except (OSError, NexusError, SyncFailed):
        return False
    return True


def _message(chosen: list[Signals], restore: dict[str, str]) -> str:
    number = len(chosen)
    what = f"Delete {number} note{'s' * (number > 1)} not read for a long time"
    lines = [what, "", "To restore a note, run its command at the top of the repository:", ""]
    for one in chosen:
        lines += [f"- {one.path}: {', '.join(one.reasons())}", f"    {restore[one.path]}"]
    return "\n".join([*lines, ""])


class Git:
    """The git repository of the notes. Commands run in their folder; `prefix` is its path in the repository."""

    __slots__ = ("_folder", "_lock", "_patience", "prefix")

    def __init__(self, folder: str, patience: Deadline) -> None:
        self._folder = folder
        self._patience = patience
        self._lock = ""
        self.prefix = ""

    def head(self) -> str:
        """Return the checked-out commit. Raise NexusError without a repository, a readable commit or a branch, and
        during a merge, rebase and the like.
        """
        code, answer, complaint = self._ask("rev-parse", "--absolute-git-dir", "--is-inside-work-tree")
        found, _, inside = os.fsdecode(answer).rstrip("\n").rpartition("\n")
        if code or inside != "true":
            problem = "The notes are in no git repository, so deleted notes could not be restored"
            why = quote(complaint, 3 * _LONGEST) if complaint else "no working tree"
            raise NexusError(f"{problem} ({why})", effect=UNCHANGED, next_step=_BY_HAND)
        self._lock = os.path.join(found, "index.lock")
        self.prefix = os.fsdecode(self._require("rev-parse", "--show-prefix")).removesuffix("\n")
        for name, what in _UNDER_WAY.items():
            if os.path.lexists(os.path.join(found, name)):
                raise NexusError(
                    f"There is {what} under way in the git repository",
                    effect=UNCHANGED,
                    next_step="Finish or abort it, then call again.",
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
                "The git repository has no commit, so deleted notes could not be restored",
                effect=UNCHANGED,
                next_step="Commit the notes first, then call again.",
            )
        if self._ask("symbolic-ref", "--quiet", "HEAD")[0]:
            raise NexusError(
                "No branch is checked out in the git repository, and a commit on no branch may be lost",
                effect=UNCHANGED,
                next_step="Check out the branch for the commit, then call again.",
            )
        return answer.decode().strip()

    def check(self, contents: dict[str, bytes | None]) -> None:
        """Raise NexusError unless index and commit have the present bytes of each note, except for line ends that git
        converts, and a checkout of the note is possible and writes these bytes.
        """
        names = list(contents)
        index = _entries(self._require("ls-files", "--stage", "-z", "--", *names), 1)
        tree = _entries(self._require("ls-tree", "-z", "HEAD", "--", *names), 2)
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
                raise NexusError(
                    f"Some of the notes are {problem}, and could not be restored: {join_first(found, _NAMED, _name)}",
                    effect=UNCHANGED,
                    next_step="Commit them as they are, then call again.",
                )
        check_unchanged(self._ask, contents)
        check_readable(self._ask, tree, contents)

    def _line_ends(self, names: list[str]) -> set[str]:
        """Return the files whose line ends git converts, so that for git other line ends are no change."""
        code, answer, _ = self._ask("config", "--get", "core.autocrlf")
        is_on = not code and answer.decode("utf-8", "replace").strip().lower() in _ON
        found = set()
        for entry in self._require("ls-files", "--eol", "-z", "--", *names).split(b"\0")[:-1]:
            info, _, name = entry.partition(b"\t")
            attribute = info.partition(b"attr/")[2].strip()
            if b"w/-text" not in info and (attribute.startswith(b"text") or (not attribute and is_on)):
                found.add(os.fsdecode(name))
        return found

    def restore_command(self, commit: str, name: str) -> str:
        """Return the command that restores a note, for the top folder of the repository."""
        return _shell_command(f"checkout {commit} -- ", self.prefix + name)

    def commit(self, parent: str, names: list[str], message: str) -> str:
        """Create a commit on top of `parent` without these files; return its name. No branch points to it yet. Raise
        NexusError.
        """
        with tempfile.TemporaryDirectory(prefix="nexus-mcp-") as scratch:
            index = os.path.join(scratch, "index")
            self._require("read-tree", parent, index=index)
            self._require("update-index", "-z", "--force-remove", "--stdin", data=_nul_joined(names), index=index)
            tree = self._require("write-tree", index=index).decode().strip()
        commit = self._require("commit-tree", tree, "-p", parent, "-F", "-", data=message.encode("utf-8", "replace"))
        return commit.decode().strip()

    def advance(self, commit: str, parent: str) -> None:
        """Move the checked-out branch from `parent` to `commit`.

        Raise NexusError with nothing changed if the branch has moved, another git holds the index lock, or git fails.
        """
        if os.path.lexists(self._lock):
            raise NexusError(
                "Another git is working in the repository, or one was killed: its index.lock is there",
                effect=UNCHANGED,
                next_step="Wait until it ends, or remove that file if no git is running, then call again.",
            )
        self._require("update-ref", "-m", "nexus-mcp memory gc", "HEAD", commit, parent, least=_CHANGING)

    def unstage(self, names: list[str]) -> str:
        """Remove the files from the index; return a warning if that failed, else "".

        It raises nothing: the commit exists, and the caller still has to report how to restore the notes.
        """
        words = ("update-index", "-z", "--force-remove", "--stdin")
        try:
            code, _, complaint = self._ask(*words, data=_nul_joined(names), least=_CHANGING)
        except NexusError as error:
            code, complaint = 1, error.fault
        if not code:
            return ""
        advice = f"at the top of the repository {_shell_command('reset -q -- ', self.prefix)} removes them from it"
        return f"Git's index still has the deleted notes ({quote(complaint, 3 * _LONGEST)}): {advice}."

    def _ask(self, *words: str, data: bytes = b"", index: str = "", least: float = 0.0) -> tuple[int, bytes, str]:
        seconds = max(least, self._patience.seconds_left(SECONDS))
        return run_git(self._folder, *words, data=data, index=index, seconds=seconds)

    def _require(self, *words: str, data: bytes = b"", index: str = "", least: float = 0.0) -> bytes:
        code, answer, complaint = self._ask(*words, data=data, index=index, least=least)
        if code:
            raise NexusError(
                f"git {words[0]} failed: {quote(complaint, 3 * _LONGEST)}",
                effect=UNCHANGED,
                next_step="Check that git can commit here, and that no other git is running, then call again.",
            )
        return answer


def _shell_command(words: str, path: str) -> str:
    """Return a git command for this path only, quoted for a shell."""
    from shlex import quote as shell_quote

    # Add the option only if git would read the path as a pattern, because users know the command without it.
    is_pattern = path.startswith(":") or not _MAGIC.isdisjoint(path)
    return f"git {'--literal-pathspecs ' if is_pattern else ''}{words}{shell_quote(path)}"


def _nul_joined(names: list[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _entries(listed: bytes, place: int) -> dict[str, str]:
    """Map each name in git's output to its object; "" for a conflict."""
    found: dict[str, str] = {}
    for entry in listed.split(b"\0")[:-1]:
        words, _, name = entry.partition(b"\t")
        key = os.fsdecode(name)
        found[key] = "" if key in found else words.split()[place].decode()
    return found


def _unix(data: bytes | None) -> bytes | None:
    return None if data is None else data.replace(b"\r\n", b"\n")


def is_blob(data: bytes | None, name: str | None) -> bool:
    """Return whether `data` is the content of the git object `name`."""
    if data is None or not name:
        return False
    make = hashlib.sha256 if len(name) == 64 else hashlib.sha1
    return make(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest() == name


def check_readable(ask: Ask, objects: Mapping[str, str], contents: Mapping[str, bytes | None]) -> None:
    """Raise NexusError unless git can read the object of each note and the content has the hash in the object's name.

    `objects` maps each note to the name of its object in the commit. `contents` maps each note to its bytes: their
    sizes determine how many objects one call of git reads.
    """
    unreadable: list[str] = []
    why = ""
    for names in _batches(contents):
        request = b"".join(objects[name].encode() + b"\n" for name in names)
        _, answer, complaint = ask("cat-file", "--batch", data=request)
        at = 0
        for name in names:
            found, at = _next_blob(answer, at)
            if not is_blob(found, objects[name]):
                unreadable.append(name)
                why = why or complaint
            if at < 0:  # git's output ends at a corrupt object, so the notes after it are unknown
                break
    if unreadable:
        reason = f" ({quote(why, 3 * _LONGEST)})" if why else ""
        raise _refuse("cannot be read from git's object store", unreadable, FETCH, reason)


def check_unchanged(ask: Ask, contents: Mapping[str, bytes | None]) -> None:
    """Raise NexusError if a filter, an encoding or a keyword would make a checkout of a note write other bytes than
    those of its object, or if git fails.
    """
    code, answer, complaint = ask("config", "--null", "--get-regexp", r"^filter\.")
    if code > 1:  # exit code 1: no such setting
        raise NexusError(f"git config failed: {quote(complaint, 3 * _LONGEST)}", effect=UNCHANGED, next_step=_BY_HAND)
    keys = [entry.partition(b"\n")[0].decode("utf-8", "surrogateescape") for entry in answer.split(b"\0")]
    drivers = {key[len("filter.") :].rpartition(".")[0] for key in keys if key.rpartition(".")[2] in _DRIVER}
    rewritten: dict[str, str] = {}
    # git checkout reads .gitattributes from the index if it is there, else from the working tree.
    for source in ((), ("--cached",)):
        for name, attribute, value in _attributes(ask, source, list(contents)):
            is_filter = attribute == "filter" and value in drivers
            is_encoding = attribute == "working-tree-encoding" and value not in (*_OFF, "set")
            is_keyword = attribute == "ident" and value == "set" and b"$Id" in (contents[name] or b"")
            if is_filter or is_encoding or is_keyword:
                rewritten.setdefault(name, attribute)
    if rewritten:
        listed = ", ".join(dict.fromkeys(rewritten.values()))
        reason = f" (attribute {listed} in .gitattributes)"
        raise _refuse("are rewritten by git when it checks them out", list(rewritten), _BY_HAND, reason)


def _attributes(ask: Ask, source: tuple[str, ...], names: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (note, attribute, value) for each rewriting attribute. Raise NexusError."""
    code, answer, complaint = ask("check-attr", *source, "-z", *_REWRITING, "--", *names)
    fields = answer.split(b"\0")[:-1]
    if code or len(fields) != 3 * len(names) * len(_REWRITING):
        raise NexusError(
            f"git check-attr failed: {quote(complaint, 3 * _LONGEST)}", effect=UNCHANGED, next_step=_BY_HAND
        )
    # Assign the values by position, because git returns the names in its own spelling.
    for number, name in enumerate(names):
        for place, attribute in enumerate(_REWRITING):
            value = fields[3 * (number * len(_REWRITING) + place) + 2]
            yield name, attribute, value.decode("utf-8", "surrogateescape")


def _batches(contents: Mapping[str, bytes | None]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name, data in contents.items():
        batch.append(name)
        size += len(data or b"")
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _next_blob(answer: bytes, at: int) -> tuple[bytes | None, int]:
    """Return (the blob at `at` in the output of `git cat-file --batch`, None if it is missing or no blob; the start of
    the next object).

    The start is -1 if the output ends here, or is shorter than announced.
    """
    end = answer.find(b"\n", at)
    if end < 0:
        return None, -1
    words = answer[at:end].split(b" ")
    if words[-1] == b"missing":
        return None, end + 1
    if len(words) != 3 or not words[2].isdigit():
        return None, -1
    begin = end + 1
    behind = begin + int(words[2])
    if answer[behind : behind + 1] != b"\n":
        return None, -1
    return answer[begin:behind] if words[1] == b"blob" else None, behind + 1


def _name(name: str) -> str:
    return quote(name, _LONGEST)


def _refuse(problem: str, names: list[str], next_step: str, reason: str) -> NexusError:
    text = f"Some of the notes {problem}, and could not be restored: {join_first(names, _NAMED, _name)}{reason}"
    return NexusError(text, effect=UNCHANGED, next_step=next_step)
