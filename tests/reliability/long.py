"""Treat short histories as long ones: with an index on disk, texts, and windows of a few bytes.

A piece of a suite requests this with the field `long`, a key of WAYS. The key says which files count as settled: those
that are by their real times, all, or only those whose time was set explicitly.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

from nexus_mcp.store.history import identity
from nexus_mcp.store.history import index as history_index
from tests.reliability.suite import Json
from tests.store.history.generated import settled, small

AS_IT_IS, SETTLED, STOPPED = "as it is", "settled", "stopped"
_NOW = 1 << 62  # the time of the stopped clock, which every file has that was not dated


@contextmanager
def stopped() -> Iterator[None]:
    """Stop the clock that files get their times from, so that only a file whose time was set explicitly is settled."""
    real, dated = os.utime, set[int]()

    def utime(of: Any, *rest: Any, **named: Any) -> None:
        real(of, *rest, **named)
        dated.add(named["ns"][1])

    def told(info: os.stat_result) -> identity.Identity:
        written = info.st_mtime_ns if info.st_mtime_ns in dated else _NOW
        return info.st_dev, info.st_ino, info.st_size, written, _NOW

    with patch.object(os, "utime", utime), patch.object(identity, "of", told):
        yield


WAYS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    AS_IT_IS: nullcontext,
    SETTLED: settled,
    STOPPED: stopped,
}


@contextmanager
def counted(item: Json) -> Iterator[None]:
    """Treat histories as long during the block, if the item of the piece has the field `long`."""
    way = item.get("long", "") if isinstance(item, dict) else ""
    with ExitStack() as stack:
        if way:
            stack.enter_context(small())
            stack.enter_context(WAYS[way]())
        yield


def is_on() -> bool:
    """Return whether short histories count as long ones now."""
    return history_index.CACHE_FROM_BYTES == 0
