"""Write log lines to stderr, without the logging package, whose import takes longer than a response.

Writing a line must neither raise nor wait: a line that cannot be written at once is dropped. Clients that never read
stderr are common, and a full pipe must not stop the server. Lines are text, or one JSON object each; only JSON lines
have the fields that a caller adds to the message.
"""

from __future__ import annotations

import os
import select
import sys
import time
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Fields = dict[str, str | int | float]

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
_DEFAULT = "warning"
_threshold = LEVELS.index(_DEFAULT)
# A pipe that polls as writable accepts this much at once, in one piece that no other writer can split.
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
"""Invisible characters that Python calls printable, such as joiners, fillers and variation selectors."""
_TOKEN_BEGINS = ("nexus_", "eyJ")
_TOKENS = r"(?:nexus_|eyJ)[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]+){0,2}"
_SHOWN_OF_TOKEN = 6
_lock = allocate_lock()
_fd = 2
_lost = 0
_torn = False  # stderr accepted only the beginning of the last line
_dumps: Callable[[object], str] | None = None  # json.dumps if lines are JSON, else None
_LONGEST_FIELD = 200
"""The maximum number of characters of a field, so that the message has enough room."""


def set_level(name: str) -> None:
    """Write messages of this level and above. Raise ValueError, listing the levels, for any other name."""
    global _threshold  # noqa: PLW0603 - one process has one stderr
    if name not in LEVELS:
        raise ValueError(f"unknown log level; use one of {', '.join(LEVELS)}")
    _threshold = LEVELS.index(name)


def set_format(name: str) -> None:
    """Write lines of this format. Raise ValueError, listing the formats, for any other name."""
    global _dumps  # noqa: PLW0603
    if name not in FORMATS:
        raise ValueError(f"unknown log format; use one of {', '.join(FORMATS)}")
    _dumps = None
    if name == "json":
        import json  # text lines do not need it

        _dumps = json.dumps


def is_json() -> bool:
    """Return whether each line is a JSON object."""
    return _dumps is not None


def divert(fd: int) -> int:
    """Write to `fd`, a duplicate of stderr's descriptor, from now on. Return the previous descriptor."""
    global _fd
    with _lock:
        before, _fd = _fd, fd
    return before


def debug(message: str, **fields: str | int | float) -> None:
    _write(0, message, fields)


def info(message: str, **fields: str | int | float) -> None:
    _write(1, message, fields)


def warning(message: str, **fields: str | int | float) -> None:
    _write(2, message, fields)


def error(message: str, **fields: str | int | float) -> None:
    _write(3, message, fields)


def printable(text: str) -> str:
    """Return the text on one line. The characters that Python does not call printable, such as control characters and
    surrogates, and those in UNSEEN are escaped.
    """
    if text.isprintable() and (text.isascii() or UNSEEN.isdisjoint(text)):
        return text
    return "".join(char if char.isprintable() and char not in UNSEEN else _escape(char) for char in text)


def without_tokens(text: str) -> str:
    """Return the text with each string that looks like one of our tokens or a JWT cut after 6 characters.

    A client may have put a token anywhere, such as into the name of a parameter, which an error repeats.
    """
    if not any(begin in text for begin in _TOKEN_BEGINS):
        return text
    import re  # imported late: hardly any line has a token

    return re.sub(_TOKENS, lambda match: f"{match[0][:_SHOWN_OF_TOKEN]}[...]", text)


def _escape(char: str) -> str:
    # The codec unicode_escape would do this, but its import fails without free descriptors.
    number = ord(char)
    if char in _ESCAPES:
        return _ESCAPES[char]
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _write(level: int, message: str, fields: Fields) -> None:
    global _lost, _torn  # noqa: PLW0603
    if level < _threshold or sys.stderr is None:  # without stderr, descriptor 2 may be any file
        return
    with _lock:
        try:
            prefix = b"\n" if _torn else b""
            if _lost:
                prefix += _line(2, f"{_lost} log lines were lost: stderr was full", {}, _LONGEST)
            data = prefix + _line(level, message, fields, _LONGEST - len(prefix))
            if _has_room():
                _torn = os.write(_fd, data) < len(data)
                _lost = 0 if not _torn else _lost + 1
                return
        except Exception:  # noqa: BLE001, S110 - there is no place left to report it
            pass
        _lost += 1


def _line(level: int, message: str, fields: Fields, most: int) -> bytes:
    """Return the line of a message, of at most `most` bytes unless the fields of a JSON line alone are longer."""
    message = without_tokens(message)
    if _dumps is None:
        return _shorten(f"nexus-mcp: {LEVELS[level]}: {printable(message)}\n".encode(), most)
    now = time.time()
    at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"
    begin: Fields = {"time": at, "level": LEVELS[level]}
    end: Fields = {"pid": os.getpid(), **{name: _field(value) for name, value in fields.items()}}
    length = len(message)
    while len(line := _json({**begin, "message": _without_middle(message, length), **end})) > most:
        if not length:
            return line  # complete, but other writers may write into the middle of it
        length = min(length - 1, length * most // (len(line) + most))
    return line


def _json(fields: Fields) -> bytes:
    """Return the object as one line of ASCII, in which no text has line ends, control or bidirectional characters."""
    assert _dumps is not None
    return _dumps(fields).replace("\x7f", "\\u007f").encode("ascii") + b"\n"


def _field(value: str | int | float) -> str | int | float:
    return _without_middle(without_tokens(value), _LONGEST_FIELD) if isinstance(value, str) else value


def _without_middle(text: str, most: int) -> str:
    """Return the text without its middle if it has more than `most` characters, and with surrogates escaped, because
    strict parsers refuse them.

    The middle is removed first, because a later cut could split an escape.
    """
    if len(text) > most:
        first = most // 3
        text = f"{text[:first]}{_CUT.decode()}{text[len(text) - (most - first) :]}"
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _has_room() -> bool:
    if not _HAS_POLL:
        return True
    poll = select.poll()
    poll.register(_fd, select.POLLOUT)
    return any(events & select.POLLOUT for _, events in poll.poll(0))


def _shorten(line: bytes, most: int) -> bytes:
    """Return the line, without its middle if it has more than `most` bytes: the ends of a traceback are most useful."""
    if len(line) <= most:
        return line
    rest = most - len(_CUT)
    ends = (line[: rest // 3], line[-(rest - rest // 3) :])
    return _CUT.join(end.decode("utf-8", "ignore").encode() for end in ends)
