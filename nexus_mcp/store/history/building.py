"""Makes the index of a history.json: reads it window by window, and refuses what a strict parse of it all refuses."""

from __future__ import annotations

from json import JSONDecodeError

from nexus_mcp.state.history import plan_id
from nexus_mcp.store import ranges
from nexus_mcp.store.codec import ARCHIVE_DEPTH, Invalid, too_deep
from nexus_mcp.store.history.frame import Frame, skip
from nexus_mcp.store.history.index import NO_DIGEST, Index, digest
from nexus_mcp.store.history.window import Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    Cycle = tuple[int, int, object, int]
    """Begin, end, `completed_at`, and the id of its plan or 0."""

_NO_HISTORY = (ValueError, RecursionError)
_NEAR_THE_END = 16  # characters: longer than any literal that may be cut off
QUICK_FROM = 2 << 20
"""Bytes. Below that, msgspec takes longer to load than to be of use."""
_VERSION = "schema_version"
_BETWEEN = b",\n    "
_NEXT = _BETWEEN + b"{\n"
_END = b"\n    }"


class Unreadable(Exception):
    """The file is no history: `cause` says why, and what cannot be read comes after the offset `at`."""

    def __init__(self, at: int, cause: Exception) -> None:
        super().__init__(str(cause))
        self.at = at
        self.cause = cause


def build(fd: int, size: int, *, digests: bool, known: Index | None = None) -> Index:
    """The index of the file `fd` with its `size` bytes. Without `digests` none are made.

    `known` is the index of cycles that the file is known to begin with; it is added to. Raises Unreadable when the file
    is no history, and OSError (ranges.Shrunk when it is shorter than that).
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
    quick = _Quick(window) if window.size >= QUICK_FROM else None
    while True:
        if window.begin + len(window.data) - window.at < ranges.CHUNK and not window.is_last:
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


def _enter(window: Window) -> Frame:
    """Come to the first cycle; the frame as far as it was walked."""
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
    """The next cycle by a strict parse, None after the last. The window stays where it is."""
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
        if not isinstance(cycle, dict) or too_deep(cycle, ARCHIVE_DEPTH - 2):
            raise Invalid("has a cycle that is none")
        return window.offset(start), window.offset(end), cycle.get("completed_at"), plan_id(cycle)


def _may_be_cut(error: JSONDecodeError, text: str) -> bool:
    """Whether there was only too little of the text. Else nothing more has to be read to know that it is wrong."""
    return error.pos >= len(text) - _NEAR_THE_END or error.msg.startswith("Unterminated string")


def _leave(window: Window, frame: Frame) -> int:
    """Read to the end of the file; the offset of the bracket that closes the cycles."""
    while not window.is_last:
        window.more()
    text, at = window.text()
    at = skip(text, at)
    frame.leave(text, at + 1)
    if too_deep(frame.members, ARCHIVE_DEPTH):
        raise Invalid("is nested too deeply")
    return window.offset(at)


class _Quick:
    """Cycles that are laid out as we write them, with one after them, taken without a strict parse.

    However a file is written, each byte is searched once for where a cycle may end, and judged once as a part of one:
    somebody else's layout that only begins as ours costs no more than any other.
    """

    def __init__(self, window: Window) -> None:
        from nexus_mcp.store.history.quick import judged

        self._judged = judged
        self._window = window
        self._searched = 0  # offset in the file, up to which there is no end beyond `_refused`
        self._refused = 0  # the end that was taken last for that of a cycle, and was not

    def next(self) -> Cycle | None:
        """The next cycle; None when it has to be parsed."""
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
