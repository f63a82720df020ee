"""The two sides of a conflict as git keeps them, whole, until somebody adds the file."""

from __future__ import annotations

from nexus_mcp.errors import UsageError
from nexus_mcp.merging.repository import ask
from nexus_mcp.merging.undecided import Undecided
from nexus_mcp.store.journal import SHOWN_HISTORY

_OURS, _THEIRS = b"2", b"3"


def unmerged(root: str) -> tuple[bytes, bytes] | None:
    """(our side, their side) of the history of the project at `root`, as they are in git's index.

    None when git knows of no conflict between two sides there, or there is no git to ask. Raises Undecided when git
    knows of one and does not give them.
    """
    try:
        code, listed, _ = ask(root, "ls-files", "--unmerged", "-z", "--", SHOWN_HISTORY)
    except UsageError:
        return None
    # Each entry is "mode object stage<TAB>path", and ends with NUL.
    entries = [entry.partition(b"\t")[0].split(b" ") for entry in listed.split(b"\0")[:-1]]
    objects = {stage: name.decode() for _, name, stage in entries}
    if code or not {_OURS, _THEIRS} <= objects.keys():
        return None
    return _read(root, objects[_OURS]), _read(root, objects[_THEIRS])


def _read(root: str, name: str) -> bytes:
    try:
        code, data, complaint = ask(root, "cat-file", "blob", name)
    except UsageError as error:
        raise Undecided(f"a side of it cannot be had from git ({error.fault.rstrip('.')})") from error
    if code:
        raise Undecided(f"a side of it cannot be had from git ({complaint})")
    return data
