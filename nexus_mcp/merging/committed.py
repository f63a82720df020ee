"""Read history.json as a commit of git has it. Nothing is changed, and nothing is fetched."""

from __future__ import annotations

import os

from nexus_mcp.errors import UsageError
from nexus_mcp.merging.repository import ask
from nexus_mcp.merging.undecided import Undecided
from nexus_mcp.store.journal import HISTORY, HISTORY_LIMIT
from nexus_mcp.workspace import find_root

HEAD = "HEAD"
_NEXUS = ".nexus"
_FILE = b"100"  # how the mode of a plain file begins
_ANSWER = "Have git answer there (git status shows what is wrong with it), then run it again."


class Unknown(Undecided):
    """git has no such commit here, or there is no repository."""


def committed(root: str, revision: str = HEAD) -> bytes | None:
    """Return the bytes that `revision` has of the history of the project at `root`; None when it has no such file.

    Raises Unknown when there is no such commit, and Undecided when git does not say what it has.
    """
    # `.nexus` may be a repository of its own, and then it is that one that has the file.
    folder = os.path.join(root, _NEXUS)
    path = HISTORY
    if not os.path.isdir(folder):
        folder, path = root, f"{_NEXUS}/{HISTORY}"
    if not os.path.lexists(os.path.join(find_root(None, {}, folder), ".git")):
        raise Unknown("there is no git repository here")
    name = f"{revision}^{{commit}}"
    code, commit, _ = _asked(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", name, allowed=(0, 1))
    if code:
        raise Unknown(f"git knows no commit {revision!r} here")
    listed = _asked(folder, "ls-tree", "-z", commit.decode().strip(), "--", path)[1]
    if not listed:
        return None
    mode, _, object_ = listed.partition(b"\t")[0].split(b" ")
    if not mode.startswith(_FILE):
        raise Undecided(f"it is no plain file in {revision}")
    blob = object_.decode()
    size = int(_asked(folder, "cat-file", "-s", blob)[1])
    if size > HISTORY_LIMIT:
        raise Undecided(f"it is larger in {revision} than the {HISTORY_LIMIT >> 20} MiB that are read")
    # As it is kept, without the filters and conversions that the attributes name.
    return _asked(folder, "cat-file", "blob", blob)[1]


def _asked(folder: str, *words: str, allowed: tuple[int, ...] = (0,)) -> tuple[int, bytes, str]:
    try:
        code, data, complaint = ask(folder, *words)
    except UsageError as error:
        code, data, complaint = -1, b"", error.fault.rstrip(".")
    if code not in allowed:
        raise Undecided(f"git does not tell what a commit has of it ({complaint})", _ANSWER)
    return code, data, complaint
