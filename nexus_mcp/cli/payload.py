"""Read the payload of an event from stdin, within bounds of size and time."""

from __future__ import annotations

import os
import sys

from nexus_mcp.errors import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 16 << 20
"""Bytes of a payload, at most. Generous, because payloads may hold the output of a tool or an agent."""
DRAINED = 64 << 20
"""Bytes that are read, at most. Larger than LIMIT, because a writer may take a broken pipe for a failure."""
_CHUNK = 1 << 16
_MARKS = 500_000
"""Structural characters (`[{,:`) in a payload, at most: many small values take long to parse."""
_STILL_S = 0.3
"""Seconds of silence after which a complete JSON value counts as the whole payload."""


class Unusable(Exception):
    """The payload is malformed, or there is no project. The message quotes nothing of stdin."""


def read(data: bytearray, most: int) -> None:
    """Append up to `most` bytes of stdin to `data`. Raise Unusable when stdin cannot be read or is too large."""
    if sys.stdin is None:
        raise Unusable("There is no stdin to read the params from.")
    seen = 0
    try:
        while seen <= DRAINED and (chunk := os.read(0, _CHUNK)):
            seen += len(chunk)
            if seen <= most:
                data += chunk
            if len(chunk) < _CHUNK and _is_all(data):
                break
    except OSError as error:
        raise Unusable(f"The params could not be read from stdin: {error.strerror}.") from error
    if seen > LIMIT:
        problem = f"The params on stdin are larger than the {LIMIT >> 20} MiB that are read."
        raise Unusable(f"{problem} Have the hook leave out what the event does not take, such as the answer of a tool.")


def _is_all(data: bytearray) -> bool:
    """Return whether `data` is a complete payload and stdin stays silent: some writers keep the pipe open."""
    import select

    try:
        if select.select([0], [], [], _STILL_S)[0]:
            return False
    except (OSError, ValueError):  # on Windows select takes sockets only
        return False
    if not data.rstrip().endswith(b"}"):
        return False
    try:
        params(bytes(data))
    except Unusable:
        return False
    return True


def params(data: bytes) -> Any:
    """Return the JSON value in `data`, {} for no data. Raise Unusable."""
    from nexus_mcp.lifecycle.guard import MEND
    from nexus_mcp.store.codec import decode

    if not data.strip():
        return {}
    if sum(map(data.count, b"[{,:")) > _MARKS:
        raise Unusable(f"What came on stdin has more values than are read. {MEND}")
    try:
        return decode(data, "stdin")
    except StateError as error:
        where = f" ({error.where})" if error.where else ""
        raise Unusable(f"What came on stdin{where} {error.problem}. {MEND}") from error
