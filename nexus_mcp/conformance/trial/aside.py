"""Work that may take long on what a target left, done beside the event loop: the clocks of other fixtures go on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


async def aside(work: Callable[[], Result]) -> Result:
    """What `work` returns, in a thread. When this is cancelled it waits all the same: what `work` uses must stay."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise
