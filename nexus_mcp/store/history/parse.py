"""Build the index of history.json: parse the file window by window, and explain the fault of a malformed file.

A window is a part of the file, as bytes and as text, so that a long file with many cycles is not in memory as a whole.
"""

from __future__ import annotations

import codecs
from json import JSONDecodeError

from nexus_mcp import progress
from nexus_mcp.errors import StateError
from nexus_mcp.state.history import plan_id
from nexus_mcp.store import atomic
from nexus_mcp.store.codec import ARCHIVE_DEPTH, Invalid, is_too_deep, json_fault
from nexus_mcp.store.history import SHOWN
from nexus_mcp.store.history.frame import Frame, HistoryFile, advice, skip
from nexus_mcp.store.history.index import NO_DIGEST, Index, digest

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Cycle = tuple[int, int, object, int]
    """A cycle: begin, end, `completed_at`, and the id of its plan or 0."""


class Window:
    """Reads the file `fd`, of `size` bytes. Raise OSError.

    `data` are its bytes from the offset `begin` on. `at` is the offset of the current position.
    """

    __slots__ = ("_fd", "_text", "_text_at", "at", "begin", "data", "size")

    def __init__(self, fd: int, size: int) -> None:
        self._fd = fd
        self.size = size
        self.at = self.begin = 0
        self.data = b""
        self._text: str | None = None
        self._text_at = 0  # the character at `at`
        self.more()

    @property
    def is_last(self) -> bool:
        """Return whether the window reaches to the end of the file."""
        return self.begin + len(self.data) >= self.size

    def more(self) -> None:
        """Drop the bytes before the current position. Read as many new bytes as remain of the old, at least a
        chunk, but not beyond the end of the file.
        """
        progress.note(progress.READING)
        rest = self.data[self.at - self.begin :]
        end = self.at + len(rest)
        self.data = rest + atomic.read_range(self._fd, end, min(self.size, end + max(atomic.CHUNK, len(rest))))
        self.begin = self.at
        self._text = None

    def begin_at(self, offset: int) -> None:
        """Continue at any `offset` in the file."""
        self.at = self.begin = offset
        self.data = b""
        self.more()

    def bytes(self, begin: int, end: int) -> bytes:
        """Return the bytes of the file from `begin` to `end`, which must be in the window."""
        return self.data[begin - self.begin : end - self.begin]

    def text(self) -> tuple[str, int]:
        """Return (text, the index in it of the character at `at`). A truncated character at the end is left out.

        Raise UnicodeDecodeError.
        """
        if self._text is None:
            self._text, _ = codecs.utf_8_decode(self.data[self.at - self.begin :], "strict", self.is_last)
            self._text_at = 0
        return self._text, self._text_at

    def offset(self, character: int) -> int:
        """Return the offset in the file of the `character` of `text()`, which must not be before `at`."""
        text, start = self.text()
        return self.at + len(text[start:character].encode())

    def pass_text(self, character: int) -> None:
        """Move to this `character` of `text()`."""
        self.at, self._text_at = self.offset(character), character

    def pass_to(self, offset: int) -> None:
        """Move to this `offset` in the file, where a character begins."""
        if self._text is not None:
            # Keep the text, because a file in another layout than ours is parsed only from the text.
            self._text_at += len(self.bytes(self.at, offset).decode())
        self.at = offset


_NO_HISTORY = (ValueError, RecursionError)
_NEAR_THE_END = 16  # in characters; longer than any literal that may be truncated
FAST_FROM_BYTES = 2 << 20
"""The minimum size in bytes of a history for which msgspec is loaded. For a shorter one, loading takes longer than it
saves.
"""
_VERSION = "schema_version"
_BETWEEN = b",\n    "
_NEXT = _BETWEEN + b"{\n"
_END = b"\n    }"


class Unreadable(Exception):
    """The file is no history: `cause` says why, and the unreadable part begins at or after the offset `at`."""

    def __init__(self, at: int, cause: Exception) -> None:
        super().__init__(str(cause))
        self.at = at
        self.cause = cause


def build(fd: int, size: int, *, digests: bool, known: Index | None = None) -> Index:
    """Return the index of the file `fd` of `size` bytes; with digests only if `digests` is true.

    `known` is the index of the cycles with which the file is known to begin; it is extended in place. Raise Unreadable
    when the file is no history or does not fit `known`, and OSError (atomic.Shrunk when it is shorter than `size`).
    """
    window = Window(fd, size)
    try:
        frame = _enter(window)
        index = known or Index()
        if len(index):
            if window.at != index.opening:
                raise ValueError("the known cycles are not of this file")
            window.begin_at(index.span(len(index) - 1)[1])
        else:
            index.opening = window.at
        _read(window, frame, index, digests=digests)
    except _NO_HISTORY as error:
        beyond = error.start if isinstance(error, UnicodeDecodeError) else 0
        raise Unreadable(window.at + beyond, error) from error
    return index


def _read(window: Window, frame: Frame, index: Index, *, digests: bool) -> None:
    fast = load_fast() if window.size >= FAST_FROM_BYTES else None
    quick = None if fast is None else _FastParser(window, fast.check_cycle)
    while True:
        if window.begin + len(window.data) - window.at < atomic.CHUNK and not window.is_last:
            window.more()
        found = (quick.next() if quick and len(index) else None) or _next(window, frame, first=not len(index))
        if found is None:
            break
        begin, end, completed_at, id_ = found
        mark = digest(window.bytes(window.at, end)) if digests else NO_DIGEST
        index.add(begin, end, completed_at, id_, mark)
        window.pass_to(end)
    index.closing = _leave(window, frame)
    index.version = {name: frame.members[name] for name in (_VERSION,) if name in frame.members}


def load_fast() -> ModuleType | None:
    """Return the module `msgspec_cycles`; None without msgspec, as on the Python that starts an MCP bundle. Then each
    cycle is parsed strictly.
    """
    try:
        from nexus_mcp.store.history import msgspec_cycles
    except ModuleNotFoundError as error:
        if error.name != "msgspec":
            raise
        return None
    return msgspec_cycles


def _enter(window: Window) -> Frame:
    """Move to the first cycle; return the frame, which has walked the text before it."""
    while True:
        frame = Frame()
        text = window.text()[0]
        try:
            at = frame.enter(text)
        except JSONDecodeError as error:
            if window.is_last or not _may_be_cut(error, text):
                raise
        else:
            if at >= 0:
                window.pass_text(at)
                return frame
            if window.is_last:
                raise ValueError("it has no cycles")
        window.more()


def _next(window: Window, frame: Frame, *, first: bool) -> Cycle | None:
    """Return the next cycle by a strict parse, None after the last. The current position stays."""
    while True:
        text, at = window.text()
        try:
            found = frame.element(text, at, first=first)
        except JSONDecodeError as error:
            if window.is_last or not _may_be_cut(error, text):
                raise
            window.more()
            continue
        if found is None:
            return None
        cycle, start, end = found
        if not isinstance(cycle, dict) or is_too_deep(cycle, ARCHIVE_DEPTH - 2):
            raise Invalid("has a cycle that is no object or is nested too deeply")
        return window.offset(start), window.offset(end), cycle.get("completed_at"), plan_id(cycle)


def _may_be_cut(error: JSONDecodeError, text: str) -> bool:
    """Return whether the text may merely end too early. Otherwise it is malformed, and no more has to be read."""
    return error.pos >= len(text) - _NEAR_THE_END or error.msg.startswith("Unterminated string")


def _leave(window: Window, frame: Frame) -> int:
    """Read to the end of the file; return the offset of the bracket that closes the cycles."""
    while not window.is_last:
        window.more()
    text, at = window.text()
    at = skip(text, at)
    frame.leave(text, at + 1)
    if is_too_deep(frame.members, ARCHIVE_DEPTH):
        raise Invalid("is nested too deeply")
    return window.offset(at)


class _FastParser:
    """Finds cycles in our own layout without a strict parse, if another cycle follows.

    In any layout, each byte is searched at most once for a possible end of a cycle, and checked at most once as a part
    of a cycle. So a file of which only the beginning has our layout costs no more than any other file.
    """

    def __init__(self, window: Window, check_cycle: Callable[[bytes], tuple[str | None, int] | None]) -> None:
        self._judged = check_cycle
        self._window = window
        self._searched = 0  # offset in the file; no possible end begins between the current position and it
        self._refused = 0  # the last possible end for which msgspec accepted no cycle

    def next(self) -> Cycle | None:
        """Return the next cycle; None if a strict parse has to look for it."""
        window = self._window
        data, at = window.data, window.at - window.begin
        if window.at < self._refused or not data.startswith(_NEXT, at):
            return None
        found = data.find(_END + _NEXT, max(at, self._searched - window.begin))
        if found < 0:
            self._searched = window.begin + max(at, len(data) - len(_END + _NEXT) + 1)
            return None
        begin, end = window.at + len(_BETWEEN), window.begin + found + len(_END)
        judged = self._judged(window.bytes(begin, end))
        if judged is None:
            self._refused = end
            return None
        return begin, end, *judged


WHOLE = 16 << 20
"""The maximum size in bytes of a malformed file that is read again as a whole to find the exact place of the fault.
This takes five times the file's size in memory. For a larger file the error names the line of the first conflict
marker, else the line after which the fault is.
"""
_MARKERS = (b"\n<<<<<<< ", b"\n>>>>>>> ")
_LONGEST = 8


def explain(fd: int, size: int, found: Unreadable) -> None:
    """Raise StateError for the fault in the file `fd`. If a file of at most WHOLE bytes has no fault any more, return.

    Raise OSError.
    """
    if size <= WHOLE:
        HistoryFile(atomic.read_range(fd, 0, size))
        return
    marker, line = _lines(fd, size, found.at)
    if marker:
        raise StateError(SHOWN, "has git conflict markers", where=f"line {marker}", next_step=advice())
    raise StateError(SHOWN, _problem(found.cause), where=f"after line {line}", next_step=advice())


def _lines(fd: int, size: int, offset: int) -> tuple[int, int]:
    """Return (the line of the first conflict marker, 0 for none; the line with the offset, 0 if there is a marker)."""
    lines, line = 1, 1
    for at in range(0, size, atomic.CHUNK):
        start = max(0, at - _LONGEST)
        data = atomic.read_range(fd, start, min(size, at + atomic.CHUNK))
        found = [place for place in map(data.find, _MARKERS) if place >= 0]
        if found:
            place = min(found) + 1
            return lines + data.count(b"\n", at - start, place) if place > at - start else lines, 0
        if at <= offset:
            line = lines + data.count(b"\n", at - start, max(at, offset) - start)
        lines += data.count(b"\n", at - start)
    return 0, line


def _problem(cause: Exception) -> str:
    if isinstance(cause, Invalid):
        return str(cause)
    if isinstance(cause, JSONDecodeError):
        return json_fault(cause)[1]
    if isinstance(cause, UnicodeDecodeError):
        return "is not UTF-8"
    if isinstance(cause, RecursionError):
        return "is nested too deeply"
    return f"is not a valid history file: {cause}"
