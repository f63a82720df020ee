"""Faults in the opening of artifact paths: a link leads outside."""

from __future__ import annotations

import os
from typing import Any

from nexus_mcp.errors import PathRefused
from nexus_mcp.state import artifact_name
from nexus_mcp.store import artifacts, atomic, folder
from nexus_mcp.store.store import Store
from tests.reliability.mutants.definition import Mutant


def _checked_by_path() -> tuple[Any, str, Any]:
    def write(store: Store, filename: str, content: str, *_by: Any) -> str:
        artifact_name.segments(filename, atomic.PREFIX)
        with store.locked_state() as (state, _):
            base = os.path.join(state.path, artifacts.FOLDER)
            path = os.path.realpath(os.path.join(base, filename))
            if not path.startswith(base + os.sep):
                raise PathRefused(filename, "leads outside", next_step="")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(content)
            return path

    return artifacts, "write", write


def _follows_links() -> tuple[Any, str, Any]:
    return folder, "_FOLDER", folder._FOLDER & ~os.O_NOFOLLOW


def _by_path() -> tuple[Any, str, Any]:
    return folder, "AT", False


MUTANTS = (
    Mutant("checked-by-path", "An artifact path is resolved and checked, then opened by its name.", _checked_by_path),
    Mutant("follows-links", "A folder is checked, then opened without a second check.", _follows_links),
    Mutant("by-path", "Files are reached by their whole path, not from the open folder.", _by_path),
)
