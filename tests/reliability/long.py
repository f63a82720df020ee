"""Treat short histories as long ones: an index on disk, texts, windows of a few bytes.

A piece of a suite asks for it by its member `long`, which names one of WAYS: what the times of files are to tell.
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
_NOW = 1 << 62  # of the clock that stands still: nothing is older


@contextmanager
def stopped() -> Iterator[None]:
    """Stop the clock from which files get their times, so that only a file whose time was set apart is settled."""
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
    """The histories of this piece of work count as long where it says so."""
    way = item.get("long", "") if isinstance(item, dict) else ""
    with ExitStack() as stack:
        if way:
            stack.enter_context(small())
            stack.enter_context(WAYS[way]())
        yield


def is_on() -> bool:
    """Whether short histories count as long ones now."""
    return history_index.CACHE_FROM_BYTES == 0
