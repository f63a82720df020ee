"""Write log lines to stderr, without the logging package, whose import takes longer than a response.

Nothing here may raise or wait: a line that cannot be written at once is dropped. Clients that never read stderr are
common, and a full pipe must not stop the server.
"""

from __future__ import annotations

import os
import select
import sys
from _thread import allocate_lock

LEVELS = ("debug", "info", "warning", "error")
_DEFAULT = "warning"
_threshold = LEVELS.index(_DEFAULT)
# A descriptor that polls as writable accepts this much at once, in one piece that no other writer can split.
_LONGEST = getattr(select, "PIPE_BUF", 4096)
_HAS_POLL = hasattr(select, "poll")
_CUT = b" ... "
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
UNSEEN = frozenset(
    chr(code)
    for codes in (
        (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0),
        range(0xFE00, 0xFE0F),  # not U+FE0F, which follows many emoji and has no meaning of its own
        range(0xE0100, 0xE01F0),
    )
    for code in codes
)
"""Invisible characters that Python calls printable: joiners, fillers, variation selectors."""
_lock = allocate_lock()
_fd = 2
_lost = 0
_torn = False  # the terminal accepted only the beginning of the last line


def set_level(name: str) -> None:
    """Write messages of this level and above. Raise ValueError, listing the levels, for any other name."""
    global _threshold  # noqa: PLW0603 - one process has one stderr
    if name not in LEVELS:
        raise ValueError(f"unknown log level; use one of {', '.join(LEVELS)}")
    _threshold = LEVELS.index(name)


def divert(fd: int) -> int:
    """Write to `fd`, a duplicate of stderr's descriptor, from now on. Return the previous descriptor."""
    global _fd
    with _lock:
        before, _fd = _fd, fd
    return before


def debug(message: str) -> None:
    _write(0, message)


def info(message: str) -> None:
    _write(1, message)


def warning(message: str) -> None:
    _write(2, message)


def error(message: str) -> None:
    _write(3, message)


def printable(text: str) -> str:
    """Return the text on one line, with every control, format, bidirectional and invisible character and surrogate
    escaped.
    """
    if text.isprintable() and (text.isascii() or UNSEEN.isdisjoint(text)):
        return text
    return "".join(char if char.isprintable() and char not in UNSEEN else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    # The codec unicode_escape would do this, but its import fails without free descriptors.
    number = ord(char)
    if char in _ESCAPES:
        return _ESCAPES[char]
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _write(level: int, message: str) -> None:
    global _lost, _torn  # noqa: PLW0603
    if level < _threshold or sys.stderr is None:  # without stderr, descriptor 2 may be any file
        return
    with _lock:
        try:
            prefix = f"nexus-mcp: warning: {_lost} log lines were lost: stderr was full\n".encode() if _lost else b""
            prefix = b"\n" + prefix if _torn else prefix
            line = f"nexus-mcp: {LEVELS[level]}: {printable(message)}\n".encode()
            data = prefix + _shorten(line, _LONGEST - len(prefix))
            if _has_room():
                _torn = os.write(_fd, data) < len(data)
                _lost = 0 if not _torn else _lost + 1
                return
        except Exception:  # noqa: BLE001, S110 - there is no place left to report it
            pass
        _lost += 1


def _has_room() -> bool:
    if not _HAS_POLL:
        return True
    poll = select.poll()
    poll.register(_fd, select.POLLOUT)
    return any(events & select.POLLOUT for _, events in poll.poll(0))


def _shorten(line: bytes, most: int) -> bytes:
    """Return a line that is too long without its middle: the start and end of a traceback are the most useful parts."""
    if len(line) <= most:
        return line
    rest = most - len(_CUT)
    ends = (line[: rest // 3], line[-(rest - rest // 3) :])
    return _CUT.join(end.decode("utf-8", "ignore").encode() for end in ends)
