"""Carries a step through that must not be left half told when somebody presses Ctrl-C."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def uninterrupted(stop: Callable[[], None] = lambda: None) -> Iterator[None]:
    """While the block lasts Ctrl-C calls `stop` and interrupts nothing: what is slow in the block has to heed that.

    A store that is stopped ends its wait for the lock with WaitStopped, which `main` tells.
    """
    is_main = threading.current_thread() is threading.main_thread()
    # Ignored it stays: that is what nohup and a shell's background ask for.
    if not is_main or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
