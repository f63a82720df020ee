"""A whole history made of what can still be read of one that was cut off, or partly written over.

A cycle is taken whole or not at all, and nothing is guessed.
"""

from __future__ import annotations

from itertools import pairwise

from nexus_mcp.errors import StateError
from nexus_mcp.merging.pieces import Pieces
from nexus_mcp.merging.side import Side
from nexus_mcp.merging.undecided import Undecided
from nexus_mcp.store import oddity
from nexus_mcp.store.history_file import HistoryFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN = 160  # characters of an unreadable part
_WHITE = " \t\r\n"
_BLANK = _WHITE + "\0"


class Rest:
    """A part that cannot be read: `line` and `column` of its first character, from 1, and its `size` in bytes.

    `shown` is how it begins, not yet safe for a terminal; "" when there are but NUL bytes, as a power cut leaves them.
    White space at its ends does not count.
    """

    __slots__ = ("column", "line", "shown", "size")

    def __init__(self, text: str, start: int, end: int) -> None:
        part = text[start:end]
        start += len(part) - len(part.lstrip(_WHITE))
        part = part.strip(_WHITE)
        self.line = text.count("\n", 0, start) + 1
        self.column = start - text.rfind("\n", 0, start)
        self.size = len(_bytes(part))
        begin = _bytes(part[:_SHOWN]).decode("utf-8", "backslashreplace")
        self.shown = begin + "…" * (len(part) > _SHOWN) if part.strip(_BLANK) else ""


class Salvaged:
    """`data`: a whole history of the cycles that could be read, `cycles` of them. `rests`: what could not.

    `slips` are commas that are missing or too many between the cycles, each with its line and column. `is_cut` says
    that the end is missing.
    """

    __slots__ = ("cycles", "data", "is_cut", "rests", "slips")

    def __init__(self, data: bytes, cycles: int, rests: list[Rest], slips: list[str], *, is_cut: bool) -> None:
        self.data = data
        self.cycles = cycles
        self.rests = rests
        self.slips = slips
        self.is_cut = is_cut


def salvage(data: bytes) -> Salvaged:
    """Raises Undecided when nothing can be read, or it takes a human to say what is meant."""
    # What is no UTF-8 becomes lone surrogates, so that positions stay, and is caught where it matters.
    text = data.decode("utf-8", "surrogateescape")
    pieces = Pieces(text)
    if not pieces.spans:
        raise Undecided("no cycle in it can be read")
    spans = pieces.spans
    lead = _white(text[pieces.head : spans[0][0]], "\n    ")
    between = (text[one[1] : other[0]] for one, other in pairwise(spans))
    comma = next((gap for gap in between if gap.strip(_WHITE) == ","), f",{lead}")
    trail, tail, is_cut = _closing(pieces, lead)
    body = comma.join(text[start:end] for start, end in spans)
    made = Side.read(f"{text[: pieces.head]}{lead}{body}{trail}{tail}".encode(), "what can be read of it")
    if len(made) != len(spans):
        raise Undecided("what can be read of it would not hold what it should")
    rests = [Rest(text, start, end) for start, end in pieces.gaps if text[start:end].strip(_WHITE)]
    return Salvaged(made.history.text.encode(), len(made), rests, list(_slips(pieces)), is_cut=is_cut)


def _slips(pieces: Pieces) -> Iterator[str]:
    text, spans = pieces.text, pieces.spans
    gaps = [(pieces.head, spans[0][0], 0), *((one[1], other[0], 1) for one, other in pairwise(spans))]
    if pieces.closing is not None:
        gaps.append((spans[-1][1], pieces.closing, 0))
    for start, stop, wanted in gaps:
        between = text[start:stop]
        if between.strip(f"{_WHITE},"):
            continue  # something that cannot be read is there, and is told as that
        count = between.count(",")
        if count > wanted:
            at = start + between.rfind(",") if wanted else start + between.find(",")
            many = "a comma" if count == wanted + 1 else "commas"
            where = " before the closing bracket" if stop == pieces.closing else ""
            yield f"{oddity.line_and_column(text, at)}: {many} too many{where}"
        elif count < wanted:
            yield f"{oddity.line_and_column(text, start)}: a comma is missing after a cycle"


def _closing(pieces: Pieces, lead: str) -> tuple[str, str, bool]:
    """(the white space before the closing bracket, all from it on, whether some of that was missing).

    What is lost there becomes another gap.
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
