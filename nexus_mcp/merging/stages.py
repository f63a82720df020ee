"""The two sides of a conflict as git keeps them, whole, until somebody adds the file."""

from __future__ import annotations

import os

from nexus_mcp.errors import UsageError
from nexus_mcp.merging.repository import ask
from nexus_mcp.merging.undecided import Undecided
from nexus_mcp.store.journal import HISTORY
from nexus_mcp.workspace import find_root

_OURS, _THEIRS = b"2", b"3"
_NEXUS = ".nexus"
_LET_ANSWER = (
    "Have git answer there (git status shows what is wrong with it), then run it again; or settle it by hand, "
    "with both branches before you."
)
REVERT, PICK = "REVERT_HEAD", "CHERRY_PICK_HEAD"


def unmerged(root: str) -> tuple[bytes, bytes] | None:
    """(our side, their side) of the history of the project at `root`, as they are in git's index.

    None when there is no repository, or git knows of no conflict between two sides. Raises Undecided when git does not
    say whether it does, or does not give the sides: what they have may be nowhere else then.
    """
    # `.nexus` may be a repository of its own, and then it is that one that has the file.
    folder = os.path.join(root, _NEXUS)
    if not os.path.lexists(os.path.join(find_root(None, {}, folder), ".git")):
        return None
    listed = _answer("whether there is a conflict of it", folder, "ls-files", "--unmerged", "-z", "--", HISTORY)
    # Each entry is "mode object stage<TAB>path", and ends with NUL.
    entries = [entry.partition(b"\t")[0].split(b" ") for entry in listed.split(b"\0")[:-1]]
    objects = {stage: name.decode() for _, name, stage in entries}
    if not {_OURS, _THEIRS} <= objects.keys():
        return None
    # As it is kept, without the filters and conversions that the attributes name.
    ours, theirs = (
        _answer("what a side of it holds", folder, "cat-file", "blob", objects[stage]) for stage in (_OURS, _THEIRS)
    )
    return ours, theirs


def under_way(root: str) -> str:
    """Which of REVERT and PICK the conflict comes from; "" when from neither. Raises UsageError."""
    folder = os.path.join(root, _NEXUS)
    heads = (REVERT, PICK)
    return next((head for head in heads if ask(folder, "rev-parse", "--quiet", "--verify", head)[0] == 0), "")


def _answer(question: str, folder: str, *words: str) -> bytes:
    try:
        code, data, complaint = ask(folder, *words)
    except UsageError as error:
        code, data, complaint = 1, b"", error.fault.rstrip(".")
    if code:
        raise Undecided(f"git does not tell {question} ({complaint})", _LET_ANSWER)
    return data
