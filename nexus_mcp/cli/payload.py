"""Read the payload of an event from stdin, within bounds of size and of time."""

from __future__ import annotations

import os
import sys

from nexus_mcp.errors import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 16 << 20
"""Bytes. More than any event needs, because payloads bring along what a tool answered, or an agent said."""
DRAINED = 64 << 20
"""Bytes. What is more than LIMIT is read all the same: a writer whose pipe breaks may take it for a failure."""
_CHUNK = 1 << 16
_MARKS = 500_000
"""Marks of JSON's structure in a payload, at most: reading a value costs time whatever its size is."""
_STILL_S = 0.3
"""Seconds without anything more after which a payload that is whole is taken for all there is."""


class Unusable(Exception):
    """No payload can be used: what came on stdin is none, or there is no project. The text quotes nothing of stdin."""


def read(data: bytearray, most: int) -> None:
    """Put `most` bytes of what comes on stdin into `data`. Raises Unusable when it cannot be read, or is too much."""
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
    """Whether nothing more is to be expected: what came is a whole payload, and its writer keeps the pipe open."""
    import select

    try:
        if select.select([0], [], [], _STILL_S)[0]:
            return False
    except (OSError, ValueError):  # Windows knows that for sockets alone
        return False
    if not data.rstrip().endswith(b"}"):
        return False
    try:
        params(bytes(data))
    except Unusable:
        return False
    return True


def params(data: bytes) -> Any:
    """The JSON value in `data`; nothing at all stands for no params. Raises Unusable."""
    from nexus_mcp.lifecycle.safely import MEND
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
