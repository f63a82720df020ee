"""The copies of a history.json that were made before it was repaired. They stay until somebody removes them."""

from __future__ import annotations

import re

from nexus_mcp.errors import StorageError
from nexus_mcp.store import atomic
from nexus_mcp.store.journal import HISTORY, HISTORY_LIMIT
from nexus_mcp.store.opening import reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nexus_mcp.store.folder import Folder

_NAME = re.compile(r"history\.backup(?:\.[1-9][0-9]*)?\.json")


def is_backup(name: str) -> bool:
    """Whether a file in `.nexus` is, by its name, such a copy."""
    return _NAME.fullmatch(name) is not None


def keep(nexus: Folder, data: bytes, check: Callable[[], None]) -> str:
    """Keep `data` in a file of its own in `.nexus`, durably; its name. A copy that is there already is not made again.

    It is no more open to others than the history. No other file is ever replaced. `check` as for atomic.replace.
    Raises StorageError, PathRefused.
    """
    for name in _names():
        there = nexus.read(name, HISTORY_LIMIT)
        if there == data:
            return name
        if there is None:
            break
    try:
        atomic.replace(nexus, name, [data], check, mode=nexus.permissions(HISTORY))
    except atomic.Unsynced as error:
        shown = nexus.show(name)
        step = f"The history is as it was, and {shown}, the copy of it, is there; check the disk, then call again."
        raise StorageError(shown, "sync", reason(error.cause), next_step=step) from error
    except OSError as error:
        raise StorageError(nexus.show(name), "write", reason(error)) from error
    return name


def _names() -> Iterator[str]:
    yield "history.backup.json"
    number = 2
    while True:
        yield f"history.backup.{number}.json"
        number += 1
