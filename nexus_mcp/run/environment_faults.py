"""Distinguish faults of the environment from those of the work: a full disk, a missing command. Pure.

Faults of the environment say nothing about an agent or its model, so an attempt that meets one does not count.
"""

from __future__ import annotations

import errno
import os
import signal

from nexus_mcp.errors import StorageError
from nexus_mcp.run.git import GitFailed

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""Exit codes of a shell for a command that it cannot start."""
GO_ON = "Free some space, then continue with nexus-mcp run."
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REASONS = frozenset(os.strerror(number) for number in _FULL)
# Texts that programs print about a full disk; the third one is of git. The text of EFBIG is missing, because a tool may
# print "File too large" about the project.
_PHRASES = (os.strerror(errno.ENOSPC).lower(), os.strerror(errno.EDQUOT).lower(), "out of diskspace")
_TOO_LARGE = os.strerror(errno.EFBIG).lower()
_SHOWN = 300


def names_full_disk(text: str) -> bool:
    """Return whether the output of a program says that the disk is full or a quota is used up."""
    lower = text.lower()
    return any(phrase in lower for phrase in _PHRASES)


def is_full(error: BaseException | None) -> bool:
    """Return whether the cause of an error is a full disk, a used up quota, or a limit on the size of files."""
    if isinstance(error, GitFailed):
        is_cut = error.code == -signal.SIGXFSZ or _TOO_LARGE in error.output.lower()
        return is_cut or names_full_disk(error.output)
    if isinstance(error, StorageError):
        return error.reason in _REASONS
    return isinstance(error, OSError) and error.errno in _FULL


def full_disk(error: BaseException) -> str:
    """Return the sentence about a full disk, with the next step."""
    text = error.fault if isinstance(error, StorageError) else str(error)
    return f"The disk is full: {' '.join(text.split())[:_SHOWN].rstrip('.')}. {GO_ON}"


def check_fault(name: str, code: int | None, output: str) -> str:
    """Return why the result of a failing check does not count, "" if it counts."""
    tail = " ".join(output.split())[-_SHOWN:]
    if names_full_disk(output):
        return f"The disk is full: {name} ends with: {tail} {GO_ON}"
    if code in (NOT_FOUND, NOT_EXECUTABLE):
        return f"{name} cannot be started ({code}): {tail} Install what it needs, or add the installation to run.setup."
    return ""
