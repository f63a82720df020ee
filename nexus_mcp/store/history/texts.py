"""The lowered text of each cycle, a line for each, and which of them have a word: what a search with a query reads."""

from __future__ import annotations

import json
import os
import zlib
from bisect import bisect_right

from nexus_mcp.store import ranges
from nexus_mcp.store.history import building, identity, spelling
from nexus_mcp.store.history.cache import UNUSABLE
from nexus_mcp.store.history.memory import UNVERIFIED
from nexus_mcp.store.opening import let_go

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nexus_mcp.store.history.cache import Cache
    from nexus_mcp.store.history.index import Index
    from nexus_mcp.store.history.memory import Verified


class Spoilt(Exception):
    """The texts in the cache are not what was written."""


def lines(fd: int, index: Index, first: int) -> Iterator[bytes]:
    """The line, with its newline, of each cycle of the history `fd` from the number `first` on.

    Raises OSError, and ValueError when the file is another one.
    """
    line = _liner(quick=index.closing >= building.QUICK_FROM)
    while first < len(index):
        begin, end = index.span(first)
        last = first + 1
        while last < len(index) and (until := index.span(last)[1]) - begin <= ranges.CHUNK:
            last, end = last + 1, until
        data = ranges.read(fd, begin, end)
        for number in range(first, last):
            start, end = index.span(number)
            yield line(data[start - begin : end - begin]) + b"\n"
        first = last


def _liner(*, quick: bool) -> Callable[[bytes], bytes]:
    floats: list[str] = []

    def counted(text: str) -> float:
        floats.append(text)
        return float(text)

    # Nothing strict: the index vouches for every cycle that it knows.
    decode = json.JSONDecoder(parse_float=counted).decode

    def line(data: bytes) -> bytes:
        text = data.decode()
        floats.clear()
        try:
            value = decode(text)
        except ValueError:  # a number with more digits than can be read
            return spelling.lowered(spelling.plain(text))
        return spelling.lowered(spelling.from_value(value, text, floats=bool(floats)))

    if not quick:
        return line
    from nexus_mcp.store.history.quick import compacted

    def quick_line(data: bytes) -> bytes:
        text = compacted(data)
        return line(data) if text is None else spelling.lowered_bytes(text)

    return quick_line


def stored(cache: Cache, index: Index, wanted: bytes, verified: Verified) -> tuple[list[int], Verified]:
    """The numbers of the cycles whose line in the cache has `wanted`, which must not have a newline.

    `verified` says of which file of texts, as it was then, how many bytes are known to be whole, and their checksum;
    what is known now is the second: nothing of a file that could be written again within the same tick of the clock.
    Raises Spoilt.
    """
    ends, found, after = index.line_ends(), [], 0
    try:
        fd = cache.texts(index.texts)
    except UNUSABLE as error:
        raise Spoilt from error
    try:
        info = os.fstat(fd)
        seen = (index.texts, *identity.of(info))
        known, checksum = verified[1:] if verified[0] == seen else (0, 0)
        lasting = identity.is_apart(identity.of(info)) or identity.is_settled(identity.of(info))
        size = max(ends[-1], index.checked) if known < index.checked else ends[-1]
        for at in range(0, size, ranges.CHUNK):
            # What lies across two chunks is found with the second.
            start = max(0, at - len(wanted) + 1)
            data = ranges.read(fd, start, min(size, at + ranges.CHUNK))
            if known < min(size, at + ranges.CHUNK) and known < index.checked:
                checksum = zlib.crc32(data[max(at, known) - start :], checksum)
            position = max(0, after - start)
            while (position := data.find(wanted, position)) >= 0 and start + position < ends[-1]:
                number = bisect_right(ends, start + position)
                found.append(number)
                after = ends[number]
                position = after - start
    except OSError as error:
        raise Spoilt from error
    finally:
        let_go(fd)
    if known < index.checked and checksum != index.checksum:
        raise Spoilt
    return found, (seen, index.checked, index.checksum) if lasting else UNVERIFIED
