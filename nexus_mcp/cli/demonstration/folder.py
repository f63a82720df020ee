"""The temporary folder of the demo, which goes again however the demo ends."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from nexus_mcp.cli import exits
from nexus_mcp.log import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ENDINGS = {"SIGTERM": exits.TERMINATED, "SIGHUP": exits.HUNG_UP}
"""Signals that would end the process at once, and the exit codes they have here."""


@contextmanager
def temporary_folder(*, keep: bool) -> Iterator[str]:
    """The resolved path of a new folder, for the length of the block; afterwards it is told what became of it.

    A signal of ENDINGS leaves the block with SystemExit. To be entered in the main thread only.
    """
    codes = {getattr(signal, name): code for name, code in ENDINGS.items() if hasattr(signal, name)}

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(codes[number])

    # A signal that the caller switched off (nohup) stays so.
    before = {number: signal.getsignal(number) for number in codes}
    before = {number: handler for number, handler in before.items() if handler != signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, end)
        folder = os.path.realpath(tempfile.mkdtemp(prefix="nexus-demo-"))
        try:
            yield folder
        finally:
            _finish(folder, (*before, signal.SIGINT), keep=keep)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _finish(folder: str, held: tuple[int, ...], *, keep: bool) -> None:
    # A second signal must not stop the removal half-way; it is only a moment.
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in held}
    try:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    # Without an output there may be nobody to tell; what ended the demo is then the thing to report.
    with suppress(OSError):
        if keep:
            print(f"\nThe project is still there: {printable(folder)}", flush=True)
        else:
            print(f"\nThe project {printable(folder)} is removed again; --keep leaves it.", flush=True)
