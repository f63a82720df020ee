"""Log lines on stderr. Not the logging package: it costs more time to import than the server takes to answer.

Nothing here may raise: a log line that cannot be written is lost, the call it told of is not.
"""

from __future__ import annotations

import sys

LEVELS = ("debug", "info", "warning", "error")
_DEFAULT = "warning"
_threshold = LEVELS.index(_DEFAULT)


def set_level(name: str) -> None:
    """Write messages of this level and above. Raises ValueError, listing the levels, for any other name."""
    global _threshold  # noqa: PLW0603 - one process has one stderr
    if name not in LEVELS:
        raise ValueError(f"unknown log level; use one of {', '.join(LEVELS)}")
    _threshold = LEVELS.index(name)


def debug(message: str) -> None:
    _write(0, message)


def info(message: str) -> None:
    _write(1, message)


def warning(message: str) -> None:
    _write(2, message)


def error(message: str) -> None:
    _write(3, message)


def printable(text: str) -> str:
    """The text on one line, with every control, format and bidirectional character and lone surrogate escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _write(level: int, message: str) -> None:
    if level < _threshold or sys.stderr is None:
        return
    try:
        # One write a line, so that lines of two threads do not mix.
        sys.stderr.write(f"nexus-mcp: {LEVELS[level]}: {printable(message)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return
