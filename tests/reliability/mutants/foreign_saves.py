"""Faults in the handling of a file that another program saves while it is replaced."""

from __future__ import annotations

import os
from typing import Any

from nexus_mcp.store import atomic, conflicts
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.replacement import Original
from tests.reliability.mutants.definition import Mutant


def _out_unseen() -> tuple[Any, str, Any]:
    return Original, "is_at", lambda *_: True


def _renamed_over() -> tuple[Any, str, Any]:
    return atomic, "exchange", lambda *_: False


def _told_by_times() -> tuple[Any, str, Any]:
    return Original, "is_unwritten", lambda _: True


def _placed_over() -> tuple[Any, str, Any]:
    return atomic, "place", lambda folder, temporary, name: folder.rename(temporary, name)


def _save_swept() -> tuple[Any, str, Any]:
    return conflicts, "is_removable", lambda *_: True


def _save_dropped() -> tuple[Any, str, Any]:
    def keep(folder: Folder, held: str, name: str, id_: str = "") -> str:
        folder.unlink(held)
        return f"{conflicts.PREFIX}{id_ or os.urandom(8).hex()}-{name}"

    return conflicts, "keep", keep


MUTANTS = (
    Mutant("out-unseen", "The file that an exchange of names replaced is not checked.", _out_unseen),
    Mutant("renamed-over", "A new file is renamed over a file that appeared meanwhile.", _renamed_over),
    Mutant("told-by-times", "A file of the same size and inode number counts as unchanged.", _told_by_times),
    Mutant("placed-over", "A new file takes a name that another program has taken meanwhile.", _placed_over),
    Mutant("save-swept", "The sweep deletes a foreign save that a dead process had moved aside.", _save_swept),
    Mutant("save-dropped", "A foreign save is deleted instead of kept as a copy.", _save_dropped),
)
