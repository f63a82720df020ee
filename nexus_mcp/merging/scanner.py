"""Salvage the readable cycles of a truncated or partly overwritten history.json.

A cycle is taken whole or not at all; nothing is guessed.
"""

from __future__ import annotations

import re
from itertools import pairwise
from json import JSONDecodeError

from nexus_mcp.errors import StateError
from nexus_mcp.merging.versions import MergeUndecided, Side
from nexus_mcp.store.codec import MAX_DIGITS, Invalid, strict_decoder
from nexus_mcp.store.history.frame import HistoryFile
from nexus_mcp.wording import line_and_column, place_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CYCLES = re.compile(r'"cycles"[ \t\r\n]*:[ \t\r\n]*\[')
_HEADS = 20  # maximum number of candidates for the start of the cycles.
_NEAR = 200  # Characters that are examined before a candidate.
_START = re.compile(r'\{[ \t\r\n]*"')
_STARTS = 1000  # maximum number of candidates for the start of a next cycle, in all
_TIMES = 4  # the maximum total parsed length, as a multiple of the text's length
_WHITE = " \t\r\n"
_BLANK = _WHITE + "\0"
_SHOWN = 160  # characters of an unreadable part that are shown
_GAP = re.compile(r"[ \t\r\n,]*")
# A bracket followed by the end or by another field of the history.
_CLOSING = re.compile(r'\][ \t\r\n]*(?:\}[ \t\r\n\0]*\Z|,[ \t\r\n]*"(?:[^"\\]|\\.){0,100}"[ \t\r\n]*:)')
_OF_MEMBER = re.compile(r":[ \t\r\n]*\[[ \t\r\n]*\Z")
_OF_CYCLES = re.compile(rf"{_CYCLES.pattern}[ \t\r\n]*\Z")
_DECODER = strict_decoder(float, lambda text: int(text) if len(text) <= MAX_DIGITS else 0)


class Pieces:
    """The readable cycles (`spans`) and unreadable parts (`gaps`) of a text, as (start, end) offsets.

    `head`: offset after the bracket that opens the cycles. `closing`: offset of the closing bracket, None without one.
    """

    def __init__(self, text: str) -> None:
        """Scan `text`. Raise MergeUndecided when it does not begin as a history, or when a human has to decide."""
        self.text = text
        self.spans: list[tuple[int, int]] = []
        self.gaps: list[tuple[int, int]] = []
        self.closing: int | None = None
        self._starts = _STARTS
        self._left = _TIMES * len(text)
        self.head = _head(text)
        self._walk(self.head)

    def _walk(self, at: int) -> None:
        while (at := _skip(self.text, at)) < len(self.text):
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
        """Return the end of the cycle at `at`, None without one. Raise MergeUndecided for one that only our reader
        refuses.

        With `like_ours` a cycle needs `completed_at` and `tasks`.
        """
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
            where = place_in(self.text, at)
            raise MergeUndecided(f"the cycle at {where} is readable, but {problem}") from error
        if not isinstance(value, dict):
            return None
        # A broken cycle contains tasks and issues, which are complete objects, too.
        ours = isinstance(value.get("completed_at"), str) and isinstance(value.get("tasks"), list)
        return end if ours or not like_ours else None

    def _next(self, at: int) -> tuple[int, int]:
        """Return (end of the unreadable part, start of the next cycle); both are the end of the text without one."""
        end = len(self.text)
        begin = at
        while self._starts and self._left > 0 and (found := _START.search(self.text, at)) is not None:
            self._starts -= 1
            start, at = found.start(), found.start() + 1
            before = self.text[max(begin, start - _NEAR) : start]
            # An object after a colon is the value of a field, not a cycle.
            if before.rstrip(_WHITE)[-1:] == ":" or self._end(start, like_ours=True) is None:
                continue
            if _OF_CYCLES.search(before):
                where = place_in(self.text, start)
                raise MergeUndecided(f"another list of cycles begins at {where}")
            if _OF_MEMBER.search(before):
                at = self._after(start)
                continue
            return start - len(before) + len(before.rstrip(_WHITE + ",")), start
        return end, end

    def _after(self, at: int) -> int:
        """Return the end of the sequence of objects that starts at `at`."""
        while self._left > 0 and (end := self._end(at)) is not None:
            at = _skip(self.text, end)
        return at


def _head(text: str) -> int:
    budget = _TIMES * len(text)
    for number, found in enumerate(_CYCLES.finditer(text)):
        if number == _HEADS or budget <= 0:
            break
        budget -= found.end()
        try:
            whole = HistoryFile(f"{text[: found.end()]}]}}".encode())
        except (StateError, UnicodeEncodeError):
            continue
        if whole.opening == found.end():
            return whole.opening
    raise MergeUndecided("it does not begin like a history")


def _skip(text: str, at: int) -> int:
    """Return the offset after white space and commas. Extra or missing commas between cycles lose nothing."""
    found = _GAP.match(text, at)
    return at if found is None else found.end()


class Rest:
    """An unreadable part: `line` and `column` of its first character, from 1, and its `size` in bytes.

    `shown`: its beginning (escape it before printing), "" for NUL bytes only, as a power cut leaves them. White space
    at its ends is not counted.
    """

    def __init__(self, text: str, start: int, end: int) -> None:
        part = text[start:end]
        start += len(part) - len(part.lstrip(_WHITE))
        part = part.strip(_WHITE)
        self.line, self.column = line_and_column(text, start)
        self.size = len(_bytes(part))
        begin = _bytes(part[:_SHOWN]).decode("utf-8", "backslashreplace")
        self.shown = begin + "…" * (len(part) > _SHOWN) if part.strip(_BLANK) else ""


class SalvageResult:
    """The result: `data` is a history of the `cycles` readable cycles, `rests` are the unreadable parts.

    `slips`: missing or extra commas between cycles, as texts with line and column. `is_cut`: the end is missing.
    """

    def __init__(self, data: bytes, cycles: int, rests: list[Rest], slips: list[str], *, is_cut: bool) -> None:
        self.data = data
        self.cycles = cycles
        self.rests = rests
        self.slips = slips
        self.is_cut = is_cut


def salvage(data: bytes) -> SalvageResult:
    """Return the readable part of `data`. Raise MergeUndecided if nothing is readable, or if a human has to decide."""
    # Invalid UTF-8 becomes lone surrogates: `_end` refuses a cycle that has one, and the other cycles can be read.
    text = data.decode("utf-8", "surrogateescape")
    pieces = Pieces(text)
    if not pieces.spans:
        raise MergeUndecided("no cycle in it is readable")
    spans = pieces.spans
    lead = _white(text[pieces.head : spans[0][0]], "\n    ")
    between = (text[one[1] : other[0]] for one, other in pairwise(spans))
    comma = next((gap for gap in between if gap.strip(_WHITE) == ","), f",{lead}")
    trail, tail, is_cut = _closing(pieces, lead)
    body = comma.join(text[start:end] for start, end in spans)
    result = Side.read(f"{text[: pieces.head]}{lead}{body}{trail}{tail}".encode(), "the readable part")
    if len(result) != len(spans):
        raise MergeUndecided("the readable part would lose or change a cycle")
    rests = [Rest(text, start, end) for start, end in pieces.gaps if text[start:end].strip(_WHITE)]
    return SalvageResult(result.history.text.encode(), len(result), rests, list(_slips(pieces)), is_cut=is_cut)


def _slips(pieces: Pieces) -> Iterator[str]:
    text, spans = pieces.text, pieces.spans
    gaps = [(pieces.head, spans[0][0], 0), *((one[1], other[0], 1) for one, other in pairwise(spans))]
    if pieces.closing is not None:
        gaps.append((spans[-1][1], pieces.closing, 0))
    for start, stop, wanted in gaps:
        between = text[start:stop]
        if between.strip(f"{_WHITE},"):
            continue  # reported as an unreadable part
        count = between.count(",")
        if count > wanted:
            at = start + between.rfind(",") if wanted else start + between.find(",")
            many = "a comma" if count == wanted + 1 else "commas"
            where = " before the closing bracket" if stop == pieces.closing else ""
            yield f"{place_in(text, at)}: {many} too many{where}"
        elif count < wanted:
            yield f"{place_in(text, start)}: a comma is missing after a cycle"


def _closing(pieces: Pieces, lead: str) -> tuple[str, str, bool]:
    """Return (white space before the closing bracket, text from the bracket on, whether some of it was missing).

    Add a gap to `pieces` for text after the bracket that is left out.
    """
    text = pieces.text
    inner = lead.rpartition("\n")[2]
    line_end = lead[: len(lead) - len(inner)][-2:] if "\n" in lead else ""
    trail = line_end + inner[: len(inner) // 2] if line_end else ""
    if pieces.closing is None:
        return trail, f"]{line_end}}}{line_end}", True
    trail = _white(text[pieces.spans[-1][1] : pieces.closing], trail)
    there = text[pieces.closing :]
    solid = there.rstrip(_BLANK)
    for tail in (there, f"{solid}{line_end}", f"{solid}{line_end}}}{line_end}"):
        if _ends_well(text[: pieces.head], tail):
            if tail is not there:
                pieces.gaps.append((pieces.closing + len(solid), len(text)))
            return trail, tail, tail.rstrip() != solid.rstrip()
    pieces.gaps.append((pieces.closing + 1, len(text)))
    return trail, f"]{line_end}}}{line_end}", False


def _ends_well(head: str, tail: str) -> bool:
    try:
        HistoryFile((head + tail).encode())
    except (StateError, UnicodeEncodeError):
        return False
    return True


def _white(text: str, otherwise: str) -> str:
    return text if not text.strip(_WHITE) else otherwise


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
