"""Read the two sides of a git conflict, from the markers in the file or from git's index.

The marker styles are merge, diff3 and zdiff3. No line of JSON begins with <, =, > or |, so every such line is a marker.
Markers may have any length (git attribute conflict-marker-size). A marker in a wrong place means more than one merge,
or a conflict that is partly resolved.
"""

from __future__ import annotations

import os
import re

from nexus_mcp.merging.repository import FIX_GIT, query, run_git
from nexus_mcp.merging.versions import MergeUndecided
from nexus_mcp.store.journal import HISTORY
from nexus_mcp.wording import line_and_column_of_byte
from nexus_mcp.workspace import find_root

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NoReturn

_FIRST = re.compile(rb"^<+(?=[ \r\n]|\Z)", re.MULTILINE)
_ANY = re.compile(rb"^([<=>|])\1*+(?=[ \r\n]|\Z)", re.MULTILINE)
_SUSPECT = re.compile(rb"^([<=>|])\1*[^\n]*\n?", re.MULTILINE)
# (current part, marker) -> part that the following lines belong to.
_BOTH, _OURS, _BASE, _THEIRS = "both", "ours", "base", "theirs"
_NEXT = {
    (_BOTH, b"<"): _OURS,
    (_OURS, b"|"): _BASE,
    (_OURS, b"="): _THEIRS,
    (_BASE, b"="): _THEIRS,
    (_THEIRS, b">"): _BOTH,
}

_STAGE_OURS, _STAGE_THEIRS = b"2", b"3"
_NEXUS = ".nexus"
_ADVICE = f"{FIX_GIT} Or resolve the conflict by hand."
REVERT, PICK = "REVERT_HEAD", "CHERRY_PICK_HEAD"


def has_markers(data: bytes) -> bool:
    """Return whether `data`, which is not JSON, has at least one conflict marker."""
    return _ANY.search(data) is not None


def are_whole(data: bytes) -> bool:
    """Return whether the file has the markers of complete conflicts, with both sides."""
    try:
        return has_markers(data) and bool(split(data))
    except MergeUndecided:
        return False


def split(data: bytes) -> tuple[bytes, bytes]:
    """Return (our side, their side). Raise MergeUndecided if markers are absent, nested, incomplete or out of order."""
    first = _FIRST.search(data)
    if first is None:
        _refuse(data, 0)
    size = len(first[0])
    sides: dict[str, list[bytes]] = {_BOTH: [], _OURS: [], _BASE: [], _THEIRS: []}
    ours, theirs = sides[_OURS], sides[_THEIRS]
    state, at = _BOTH, 0
    for line in _SUSPECT.finditer(data):
        after = _NEXT.get((state, line[1])) if _is_marker(line[0], size) else None
        if after is None:
            # Markers in the base come from a merge of several common ancestors; git makes those longer.
            if state == _BASE and not _is_marker(line[0], size):
                continue
            _refuse(data, line.start())
        part = data[at : line.start()]
        for side in (ours, theirs) if state == _BOTH else (sides[state],):
            side.append(part)
        state, at = after, line.end()
    if state != _BOTH:
        _refuse(data, len(data.rstrip()))
    return b"".join((*ours, data[at:])), b"".join((*theirs, data[at:]))


def _is_marker(line: bytes, size: int) -> bool:
    return line[:size] == line[:1] * size and line[size : size + 1] in (b"", b" ", b"\r", b"\n")


def _refuse(data: bytes, position: int) -> NoReturn:
    line, _ = line_and_column_of_byte(data, position)
    raise MergeUndecided(f"the conflict markers are not those of one merge (line {line})")


def unmerged_sides(root: str) -> tuple[bytes, bytes] | None:
    """Return (our side, their side) of history.json from git's index, for the project at `root`.

    Return None without a repository, or without a conflict between two sides. Raise MergeUndecided if git fails,
    because the sides may be in the index and nowhere else.
    """
    # If `.nexus` is a repository of its own, git tracks the file there.
    folder = os.path.join(root, _NEXUS)
    if not os.path.lexists(os.path.join(find_root(None, {}, folder), ".git")):
        return None
    question, words = "whether the file has a conflict", ("ls-files", "--unmerged", "-z", "--", HISTORY)
    _, listed = query(question, folder, *words, advice=_ADVICE)
    # Each entry is "mode object stage<TAB>path", and ends with NUL.
    entries = [entry.partition(b"\t")[0].split(b" ") for entry in listed.split(b"\0")[:-1]]
    objects = {stage: name.decode() for _, name, stage in entries}
    if not {_STAGE_OURS, _STAGE_THEIRS} <= objects.keys():
        return None
    # This reads the stored bytes, without the filters and conversions of attributes.
    ours, theirs = (
        query("what one side holds", folder, "cat-file", "blob", objects[stage], advice=_ADVICE)[1]
        for stage in (_STAGE_OURS, _STAGE_THEIRS)
    )
    return ours, theirs


def pending_operation(root: str) -> str:
    """Return the operation in progress, REVERT or PICK; "" for neither. Raise UsageError."""
    folder = os.path.join(root, _NEXUS)
    heads = (REVERT, PICK)
    return next((head for head in heads if run_git(folder, "rev-parse", "--quiet", "--verify", head)[0] == 0), "")
