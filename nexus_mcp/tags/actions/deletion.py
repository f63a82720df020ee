"""Notes deleted as one git commit, which says how to get each of them back.

The commit is made of git's own objects, not by `git commit`: that would run hooks, filters and a signing program which
the repository names, look at every file, and take along what is staged. What is staged stays so, and stays out of it.
"""

from __future__ import annotations

from contextlib import suppress

from nexus_mcp.errors import UNCHANGED, NexusError
from nexus_mcp.knowledge.notes import LIMIT
from nexus_mcp.store.atomic import Unsynced
from nexus_mcp.store.original import read
from nexus_mcp.store.replacing import Replacement
from nexus_mcp.tags.actions.notes_git import Git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.knowledge.cleanup import Signals
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.lock import Held
    from nexus_mcp.store.patience import Patience

MOST = 500


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
        self.git = Git(folder.path, patience)
        self.parent = self.git.head()
        self.contents = {one.path: folder.read(one.path, LIMIT) for one in chosen}
        try:
            self.git.check(self.contents)
        except NexusError:
            self._check_there(folder)  # another clean-up may be why
            raise
        self.restore = {one.path: self.git.way_back(self.parent, one.path) for one in chosen}
        self.commit = self.git.commit(self.parent, list(self.contents), _message(chosen, self.restore))

    def _check_there(self, folder: Folder) -> None:
        """Raises NexusError when one of the notes is gone."""
        if any(folder.look(name) is None for name in self.contents):
            problem = "Some of the notes are gone meanwhile, perhaps by another clean-up"
            raise NexusError(problem, effect=UNCHANGED, next_step="Call again, to see what is left.")

    def carry_out(self, folder: Folder, held: Held) -> tuple[list[str], list[str], str]:
        """(the names that are gone, those that were left because they changed, what else to tell). Only under the lock.

        Raises NexusError with nothing changed when a note, or the branch, is not any more as it was.
        """
        self._check_there(folder)
        if any(folder.read(name, LIMIT) != data for name, data in self.contents.items()):
            problem = "A note was changed meanwhile"
            raise NexusError(problem, effect=UNCHANGED, next_step="Call again: it may be in use.")
        held.check()
        self.git.advance(self.commit, self.parent)
        gone: list[str] = []
        left: list[str] = []
        for name, data in self.contents.items():
            # An editor knows no lock: what it wrote in this moment is kept, and git calls it a new file.
            (gone if _removed(folder, name, data) else left).append(name)
        with suppress(OSError):  # they are gone for every reader; a power cut may bring one back, which git shows
            folder.sync()
        return gone, left, self.git.unstage(list(self.contents))


def _removed(folder: Folder, name: str, data: bytes | None) -> bool:
    """Remove the note if it still holds `data`; whether it did."""
    try:
        original = read(folder, name, LIMIT)
        if not original.is_there or original.content() != data:
            return False
        Replacement(folder, name, original).install("", None)
    except (OSError, NexusError, Unsynced):
        return False
    return True


def _message(chosen: list[Signals], restore: dict[str, str]) -> str:
    number = len(chosen)
    what = f"Delete {number} note{'s' * (number > 1)} that nobody reads"
    lines = [what, "", "To get one back, at the top of the repository:", ""]
    for one in chosen:
        lines += [f"- {one.path}: {', '.join(one.reasons())}", f"    {restore[one.path]}"]
    return "\n".join([*lines, ""])
