"""Where the cycles lie in a text that is no history any more, and which parts of it cannot be read."""

from __future__ import annotations

import re
from json import JSONDecodeError

from nexus_mcp.errors import StateError
from nexus_mcp.merging.undecided import Undecided
from nexus_mcp.store import oddity
from nexus_mcp.store.codec import MAX_DIGITS, Invalid, strict_decoder
from nexus_mcp.store.history_file import HistoryFile

_CYCLES = re.compile(r'"cycles"[ \t\r\n]*:[ \t\r\n]*\[')
_HEADS = 20  # places looked at for the beginning of the cycles
_NEAR = 200  # characters before such a place that are looked at
_START = re.compile(r'\{[ \t\r\n]*"')
_STARTS = 1000  # places looked at for the beginning of a next cycle, in all
_TIMES = 4  # how often a text may be read over, in all
_WHITE = " \t\r\n"
_GAP = re.compile(r"[ \t\r\n,]*")
# A bracket after which nothing is left, or another member of the history.
_CLOSING = re.compile(r'\][ \t\r\n]*(?:\}[ \t\r\n\0]*\Z|,[ \t\r\n]*"(?:[^"\\]|\\.){0,100}"[ \t\r\n]*:)')
_OF_MEMBER = re.compile(r":[ \t\r\n]*\[[ \t\r\n]*\Z")
_OF_CYCLES = re.compile(rf"{_CYCLES.pattern}[ \t\r\n]*\Z")
_DECODER = strict_decoder(float, lambda text: int(text) if len(text) <= MAX_DIGITS else 0)


class Pieces:
    """`spans` of the cycles that can be read, `gaps` that cannot, (start, end) each; `head` is where the first cycle
    could begin, `closing` the position of the bracket after the last one, None when there is none."""

    __slots__ = ("_left", "_starts", "closing", "gaps", "head", "spans", "text")

    def __init__(self, text: str) -> None:
        """Raises Undecided when the beginning of `text` is not that of a history, or it takes a human to read it."""
        self.text = text
        self.spans: list[tuple[int, int]] = []
        self.gaps: list[tuple[int, int]] = []
        self.closing: int | None = None
        self._starts = _STARTS
        self._left = _TIMES * len(text)
        self.head = _head(text)
        self._walk(self.head)

    def _walk(self, at: int) -> None:
        while (at := _skipped(self.text, at)) < len(self.text):
            if self.text[at] == "]":
                until, following = self._next(at + 1) if _CLOSING.match(self.text, at) is None else (at, len(self.text))
                if following == len(self.text):
                    self.closing = at
                    return
                self.gaps.append((at, max(at + 1, until)))
                at = following
                continue
            end = self._end(at)
            if end is not None:
                self.spans.append((at, end))
                at = end
                continue
            until, following = self._next(at + 1)
            self.gaps.append((at, until))
            at = following

    def _end(self, at: int, *, like_ours: bool = False) -> int | None:
        """Where the cycle that begins at `at` ends; None when none does, or not one `like_ours` where that is asked."""
        try:
            value, end = _DECODER.raw_decode(self.text, at)
            self._left -= end - at
            self.text[at:end].encode()
        except JSONDecodeError as error:
            self._left -= error.pos - at
            return None
        except UnicodeEncodeError:
            return None
        except (Invalid, RecursionError) as error:
            problem = str(error) if isinstance(error, Invalid) else "is nested too deeply"
            where = oddity.line_and_column(self.text, at)
            raise Undecided(f"the cycle at {where} can be read, but {problem}") from error
        if not isinstance(value, dict):
            return None
        # Inside a broken cycle lie tasks and issues, which are whole objects, too.
        ours = isinstance(value.get("completed_at"), str) and isinstance(value.get("tasks"), list)
        return end if ours or not like_ours else None

    def _next(self, at: int) -> tuple[int, int]:
        """(where the part that cannot be read ends, where the next cycle begins): the end of the text for none."""
        end = len(self.text)
        begin = at
        while self._starts and self._left > 0 and (found := _START.search(self.text, at)) is not None:
            self._starts -= 1
            start, at = found.start(), found.start() + 1
            before = self.text[max(begin, start - _NEAR) : start]
            # After a colon it is a member of something.
            if before.rstrip(_WHITE)[-1:] == ":" or self._end(start, like_ours=True) is None:
                continue
            if _OF_CYCLES.search(before):
                where = oddity.line_and_column(self.text, start)
                raise Undecided(f"another list of cycles begins at {where}")
            if _OF_MEMBER.search(before):
                at = self._after(start)
                continue
            return start - len(before) + len(before.rstrip(_WHITE + ",")), start
        return end, end

    def _after(self, at: int) -> int:
        """Where the objects end that follow each other from `at` on."""
        while self._left > 0 and (end := self._end(at)) is not None:
            at = _skipped(self.text, end)
        return at


def _head(text: str) -> int:
    left = _TIMES * len(text)
    for number, found in enumerate(_CYCLES.finditer(text)):
        if number == _HEADS or left <= 0:
            break
        left -= found.end()
        try:
            whole = HistoryFile(f"{text[: found.end()]}]}}".encode())
        except (StateError, UnicodeEncodeError):
            continue
        if whole.opening == found.end():
            return whole.opening
    raise Undecided("it does not begin as a history does")


def _skipped(text: str, at: int) -> int:
    """The position after white space and commas; a comma too many or too few between whole cycles loses nothing."""
    found = _GAP.match(text, at)
    return at if found is None else found.end()
