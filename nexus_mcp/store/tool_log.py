"""`.nexus/state/tool-log.jsonl`: which agent used which tool on which file, common to all harnesses."""

from __future__ import annotations

from nexus_mcp.errors import NotConfirmed, StorageError
from nexus_mcp.store import atomic, jsonl
from nexus_mcp.store.codec import compact, in_utf8
from nexus_mcp.store.harness_files import TOOL_LOG
from nexus_mcp.store.opening import reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.store.store import Store

LIMIT = 1 << 20
"""Bytes. A log that would grow beyond loses its older half: some 4 000 lines are left, the uses of an hour and more."""
MOST = 1 << 16
"""Bytes that one use of a tool may add."""


def add(store: Store, lines: list[dict[str, str]]) -> bool:
    """Add a line for each; False, and nothing is added, when they are too long to be any use of a tool.

    Under the lock, so that no line is lost to another writer. No fsync: the log is advice, and a power cut may take its
    last lines. Raises StateError, PathRefused and StorageError with nothing added, NotConfirmed.
    """
    data = b"\n".join(in_utf8(compact(line)) for line in lines)
    if len(data) > MOST:
        return False
    with store.locked_state() as (state, _):
        try:
            jsonl.append(state, TOOL_LOG, data, LIMIT)
        except atomic.Unsynced as error:
            raise NotConfirmed(state.show(TOOL_LOG), reason(error.cause)) from error
        except OSError as error:
            raise StorageError(state.show(TOOL_LOG), "write", reason(error)) from error
    return True
