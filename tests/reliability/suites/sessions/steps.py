"""Hooks that run in turns: each stops before each of its system calls, and continues or dies on command."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from nexus_mcp.errors import LockTimeout, NexusError
from nexus_mcp.store import lock
from nexus_mcp.store.folder import close_fd
from tests.store.crash_points import CALLS, Died

_CALLS = (*CALLS, "stat", "fstat")
_CHANGES = ("write", "replace", "unlink")
_hooks: dict[int, Hook] = {}


class Hook:
    """One hook, in a thread of its own that runs only within `step`. `patience` is its number of tries for the lock.

    `is_at_change`: its next call changes a file. When it `is_over`, `answer` is its answer, None if it died or failed;
    `error` says why it failed.
    """

    def __init__(self, run: Callable[[], dict[str, Any]], patience: int) -> None:
        self.patience = patience
        self.is_over = self.is_dead = self.is_at_change = False
        self.answer: dict[str, Any] | None = None
        self.error = ""
        self._run = run
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def step(self, *, dies: bool = False) -> None:
        """Let the hook run to its next system call, or die at the present one."""
        self.is_dead = self.is_dead or dies
        self._go.release()
        self._back.acquire()
        if self.is_over:
            self._thread.join()

    def pause(self, call: str = "") -> None:
        """Stop before a system call. Raise Died if the hook has to die, because a dead process makes no calls."""
        self.is_at_change = call in _CHANGES
        if not self.is_dead:
            self._back.release()
            self._go.acquire()
        if self.is_dead:
            raise Died

    def _live(self) -> None:
        self._go.acquire()
        _hooks[threading.get_ident()] = self
        try:
            if not self.is_dead:
                self.answer = self._run()
        except Died:
            self.answer = None
        except NexusError as error:
            self.error = str(error)
        finally:
            del _hooks[threading.get_ident()]
            self.is_over = True
            self._back.release()


@contextmanager
def stepping() -> Iterator[None]:
    """Stop hooks before their system calls during the block; other threads go on. No hook waits for the lock."""

    def stopping(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            hook = _hooks.get(threading.get_ident())
            if hook is not None:
                hook.pause(name)
            return real(*arguments, **named)

        return call

    with ExitStack() as stack:
        for name in filter(lambda name: hasattr(os, name), _CALLS):
            stack.enter_context(patch.object(os, name, stopping(name, getattr(os, name))))
        stack.enter_context(patch.object(lock, "_flock", _acquire))
        yield


def _acquire(fd: int, shown: str, wait: float, *_: Any, **__: Any) -> int:
    """Try to take the lock as often as the hook's patience allows; between two tries the other hooks have a turn."""
    hook = _hooks.get(threading.get_ident())
    try:
        for left in reversed(range(hook.patience if hook else 1)):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return fd
            except BlockingIOError:
                if hook is not None and left:
                    hook.pause()
        raise LockTimeout(shown, wait, None)
    except BaseException:
        close_fd(fd)
        raise
