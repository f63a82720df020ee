"""Carry out the changes of a plan: all of them or, after an error, Ctrl-C or SIGTERM, none."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nexus_mcp.errors import InstallRefused
from nexus_mcp.harness import files
from nexus_mcp.harness.files import FoundFile, Interference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nexus_mcp.harness.plan import Change


def carry_out(changes: Sequence[Change], finish: Callable[[list[str]], None]) -> None:
    """Write the files, then call `finish` with the folders that were made. Take everything back after an error.

    Raise Interference, InstallRefused, the errors of `finish`, and KeyboardInterrupt if Ctrl-C or SIGTERM came while
    files were written: this counts as an error, too. If a file cannot be restored, raise InstallRefused in place of the
    error. The signals themselves wait until the files are all written or all restored.
    """
    written: list[Change] = []
    folders: list[str] = []
    with signals_wait():
        try:
            for change in changes:
                if change.data is not None:
                    folders += files.make_folders(os.path.dirname(change.found.real))
                files.write(change.found, change.data)
                written.append(change)
                _check_signals()
            finish(folders)
        except BaseException as error:
            failed = _take_back(written)
            files.remove_folders(folders)
            if not failed:
                raise
            raise InstallRefused([*_faults(error), *failed], is_unchanged=False) from error


def _faults(error: BaseException) -> list[str]:
    """Return the lines about an error; none for Ctrl-C."""
    if isinstance(error, InstallRefused):
        return error.faults
    if isinstance(error, Interference):
        return [f"{error} was changed by another program meanwhile."]
    return [str(error)] if str(error) else []


def _take_back(written: Sequence[Change]) -> list[str]:
    """Restore the files in reverse order; return a line about each file that could not be restored."""
    failed = []
    for change in reversed(written):
        found = change.found
        try:
            now = FoundFile(found.path, found.real, change.data, files.look(found.path).info)
            files.write(now, found.data)
        except (Interference, InstallRefused):
            failed.append(f"{found.path} could not be restored after an error: look at it.")
    return failed


@contextmanager
def signals_wait() -> Iterator[None]:
    """Defer SIGINT and SIGTERM until the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check_signals() -> None:
    """Raise KeyboardInterrupt when Ctrl-C or SIGTERM came meanwhile."""
    if {signal.SIGINT, signal.SIGTERM} & signal.sigpending():
        raise KeyboardInterrupt
