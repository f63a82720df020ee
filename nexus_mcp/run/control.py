"""Requests of other processes to a run, each a file in its folder control/.

Only the process that holds the lock of runs writes the log of a run.
"""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from nexus_mcp.errors import PathRefused, StateError
from nexus_mcp.run.config import TIERS
from nexus_mcp.run.run_folder import write_json
from nexus_mcp.store.folder import Folder

CONTROL = "control"
_LIMIT = 1 << 20
_MOST_TASK = 1 << 53


def drop(run: Folder, value: Mapping[str, Any]) -> None:
    """Leave a request for the run whose folder this is. Raise StorageError, PathRefused."""
    with run.make(CONTROL)[0] as folder:
        write_json(folder, f"{time.time_ns():020}.json", dict(value))


def has_requests(run: Folder) -> bool:
    """Return whether requests wait for the run. Raise PathRefused, StorageError."""
    folder = run.child(CONTROL)
    if folder is None:
        return False
    with folder:
        return bool(_names(folder))


def take(run: Folder) -> Iterator[dict[str, Any]]:
    """Yield each request, oldest first, and remove it before the next one. Raise StorageError; raise OSError if a
    request cannot be removed.

    Remove a file that is no request, too: another program wrote it, and it would stop each later executor. A folder in
    place of a file stays, and does not count.
    """
    folder = run.child(CONTROL)
    if folder is None:
        return
    with folder:
        for name in _names(folder):
            try:
                value = json.loads(folder.read(name, _LIMIT) or b"")
            except (ValueError, RecursionError, StateError, PathRefused):
                value = None
            if isinstance(value, dict) and _is_request(value):
                yield value
                folder.unlink(name)
            else:
                with suppress(OSError):
                    folder.unlink(name)


def _names(folder: Folder) -> list[str]:
    """Return the names of the requests in the folder, oldest first, and of what stands in their place but folders."""
    found = sorted(name for name in folder.names() if name.endswith(".json"))
    return [name for name in found if (info := folder.look(name)) is not None and not stat.S_ISDIR(info.st_mode)]


def _is_request(value: Mapping[str, Any]) -> bool:
    """Return whether a JSON object is a request that the engine can obey."""
    match value.get("command"):
        case "pause" | "resume" | "stop":
            return True
        case "skip":
            return _is_task(value.get("task"))
        case "retry":
            return _is_task(value.get("task")) and value.get("tier") in (None, *TIERS)
        case "answer":
            return all(isinstance(value.get(name), str) for name in ("id", "text"))
    return False


def _is_task(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MOST_TASK
