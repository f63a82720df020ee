"""The search text of each cycle: its JSON without insignificant white space, numbers as in the file, in lower case.

`normalize` defines this text before `lower` changes its case; `normalize_parsed` and msgspec_cycles.compact are faster,
and a text that they return is the same. The cache stores the texts, one line for each cycle.
"""

from __future__ import annotations

import json
import os
import zlib
from bisect import bisect_right
from contextlib import suppress

from nexus_mcp import progress
from nexus_mcp.store import atomic
from nexus_mcp.store.codec import compact
from nexus_mcp.store.folder import close_fd
from nexus_mcp.store.history import identity, parse
from nexus_mcp.store.history.cache import UNUSABLE
from nexus_mcp.store.history.memory import UNVERIFIED

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from nexus_mcp.store.history.cache import Cache
    from nexus_mcp.store.history.index import Index
    from nexus_mcp.store.history.memory import Verified

_ASCII = bytes(range(128))
_SIGMA = "Σ"


def normalize(text: str) -> str:
    """Return the text of the cycle with the JSON `text`: strings escaped as in JSON, non-ASCII plain, numbers as
    written.
    """
    import re

    return _escape_surrogates(re.sub(r'"(?:[^"\\]++|\\.)*+"|[ \t\r\n]+', _token, text), text)


def normalize_parsed(value: object, text: str, *, floats: bool) -> str:
    """Return the result of `normalize`, from the parsed value where possible; `floats`: whether `value` has a float.

    A float or a minus zero can be written in many ways. For everything else this is ten times faster.
    """
    return normalize(text) if floats or _has_minus_zero(text) else _escape_surrogates(compact(value), text)


def lower(text: str) -> bytes:
    """Return `text` in lower case, as a search compares it, in UTF-8."""
    return text.lower().encode()


def lower_bytes(data: bytes) -> bytes:
    """Return the result of `lower` for text in UTF-8. Without a sigma this works on bytes, and replaces one by
    one the few characters beyond ASCII that lower case changes.
    """
    others = data.translate(None, _ASCII).decode()
    lower_others = others.lower()
    if lower_others == others:
        return data.lower()
    if _SIGMA in others:  # the only letter whose lower case depends on its neighbours
        return lower(data.decode())
    data = data.lower()
    for character in set(others).difference(lower_others):  # lower-case text does not change again
        data = data.replace(character.encode(), character.lower().encode())
    return data


def _has_minus_zero(text: str) -> bool:
    import re

    return re.search(r"[\s:\[,]-0[\s,\]}]", text) is not None


def _escape_surrogates(compacted: str, text: str) -> str:
    """Return `compacted` with its lone surrogates, which were escapes in the JSON `text`, as escapes again."""
    if "\\ud" not in text and "\\uD" not in text:
        return compacted
    import re

    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", compacted)


def _token(found: Any) -> str:
    token: str = found[0]
    if token[0] != '"':
        return ""
    return compact(json.loads(token)) if "\\" in token else token


class CorruptTexts(Exception):
    """The texts in the cache cannot be read, or differ from those that were written."""


def lines(fd: int, index: Index, first: int) -> Iterator[bytes]:
    """Yield the line, with its newline, of each cycle of the history `fd` from the number `first` on.

    Raise OSError. If the file does not match `index`, ValueError or RecursionError may be raised.
    """
    line = _liner(quick=index.closing >= parse.FAST_FROM_BYTES)
    while first < len(index):
        begin, end = index.span(first)
        last = first + 1
        while last < len(index) and (until := index.span(last)[1]) - begin <= atomic.CHUNK:
            last, end = last + 1, until
        progress.note(progress.SEARCHING)
        data = atomic.read_range(fd, begin, end)
        for number in range(first, last):
            start, end = index.span(number)
            yield line(data[start - begin : end - begin]) + b"\n"
        first = last


def _liner(*, quick: bool) -> Callable[[bytes], bytes]:
    floats: list[str] = []

    def count(text: str) -> float:
        floats.append(text)
        return float(text)

    # No strict parse is needed: each cycle was checked when it was added to the index.
    decode = json.JSONDecoder(parse_float=count).decode

    def line(data: bytes) -> bytes:
        text = data.decode()
        floats.clear()
        try:
            value = decode(text)
        except ValueError:  # a number with more digits than can be read
            return lower(normalize(text))
        return lower(normalize_parsed(value, text, floats=bool(floats)))

    fast = parse.load_fast() if quick else None
    if fast is None:
        return line
    compact: Callable[[bytes], bytes | None] = fast.compact

    def quick_line(data: bytes) -> bytes:
        text = compact(data)
        return line(data) if text is None else lower_bytes(text)

    return quick_line


def search_cached(cache: Cache, index: Index, wanted: bytes, verified: Verified) -> tuple[list[int], Verified]:
    """Return (the numbers of the cycles whose line in the cache has `wanted`, the new value of `verified`).

    `wanted` must not have a newline. `verified` is the part of the file of texts that was found undamaged
    (Memory.verified). The new value is UNVERIFIED unless a later write to the file is certain to change its times.
    Raise CorruptTexts.
    """
    ends, found, after = index.line_ends(), [], 0
    try:
        fd = cache.texts(index.texts)
    except UNUSABLE as error:
        raise CorruptTexts from error
    try:
        info = os.fstat(fd)
        seen = (index.texts, *identity.of(info))
        known, checksum = verified[1:] if verified[0] == seen else (0, 0)
        lasting = identity.is_apart(identity.of(info)) or identity.is_settled(identity.of(info))
        size = max(ends[-1], index.checked) if known < index.checked else ends[-1]
        for at in range(0, size, atomic.CHUNK):
            progress.note(progress.SEARCHING)
            # A match across two chunks is found with the second.
            start = max(0, at - len(wanted) + 1)
            data = atomic.read_range(fd, start, min(size, at + atomic.CHUNK))
            if known < min(size, at + atomic.CHUNK) and known < index.checked:
                checksum = zlib.crc32(data[max(at, known) - start :], checksum)
            position = max(0, after - start)
            while (position := data.find(wanted, position)) >= 0 and start + position < ends[-1]:
                number = bisect_right(ends, start + position)
                found.append(number)
                after = ends[number]
                position = after - start
    except OSError as error:
        raise CorruptTexts from error
    finally:
        close_fd(fd)
    if known < index.checked and checksum != index.checksum:
        raise CorruptTexts
    return found, (seen, index.checked, index.checksum) if lasting else UNVERIFIED


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class TextWriter:
    """Writes the lines of the cycles of `index` that have none yet. Close it.

    `fd` is the file of texts `name`. It has exactly the lines that `index` knows, or is empty: then `copy` writes these
    lines. `checksum` is the checksum of the lines in the file. After a failed write all further lines are dropped.
    """

    __slots__ = ("_bytes", "_cache", "_checksum", "_failed", "_fd", "_index", "_is_new", "_name", "_sizes", "_waiting")

    def __init__(self, cache: Cache, index: Index, name: str, fd: int, checksum: int) -> None:
        self._cache = cache
        self._index = index
        self._name, self._fd, self._checksum = name, fd, checksum
        self._is_new = name != index.texts
        self._sizes: list[int] = []
        self._waiting: list[bytes] = []
        self._bytes = 0
        self._failed = False

    def add(self, line: bytes) -> None:
        """Add one line."""
        self._sizes.append(len(line))
        self._waiting.append(line)
        self._bytes += len(line)
        if self._bytes >= atomic.CHUNK:
            self._write()

    def copy(self, size: int) -> None:
        """Begin with the first `size` bytes of the texts of the index. Raise one of cache.UNUSABLE."""
        source = self._cache.texts(self._index.texts) if size else -1
        try:
            for at in range(0, size, atomic.CHUNK):
                data = atomic.read_range(source, at, min(size, at + atomic.CHUNK))
                atomic.write_all(self._fd, data)
                self._checksum = zlib.crc32(data, self._checksum)
        finally:
            if size:
                close_fd(source)

    def finish(self, keep: Callable[[Index], bool]) -> None:
        """Pass the index with the new lines to `keep`, unless a write failed. `keep` returns whether it cached the
        index.
        """
        self._write()
        if self._failed:
            return
        with suppress(OSError):
            identity.set_apart(self._fd)  # without this the next searches would check the whole file again
        index = self._index.copy()
        for size in self._sizes:
            index.add_line(size)
        index.texts, index.checked, index.checksum = self._name, index.lines_end, self._checksum
        if keep(index):
            self._is_new = False

    def close(self) -> None:
        """Close the file. A new file of texts that no index names is removed, because it would only fill the disk."""
        close_fd(self._fd)
        if self._is_new:
            self._cache.remove(self._name)

    def _write(self) -> None:
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        if not self._failed:
            try:
                atomic.write_all(self._fd, data)
                self._checksum = zlib.crc32(data, self._checksum)
            except OSError:
                self._failed = True
                if self._is_new:
                    self._cache.remove(self._name)


def open_writer(cache: Cache, index: Index) -> TextWriter | None:
    """Return a writer for the lines that `index` lacks; None on Windows. Raise one of cache.UNUSABLE.

    The writer appends to the file that `index` names. If another process is writing that file, or the file has more
    lines than `index` (a process died while it appended, or cycles were removed), the writer copies the lines that
    `index` has to a new file: bytes to which an index refers are never overwritten.
    """
    size = index.lines_end
    if size and index.checked == size and fcntl is not None:
        fd = cache.texts(index.texts, os.O_RDWR)
        try:
            if _is_ours(fd, size):
                os.lseek(fd, size, os.SEEK_SET)
                return TextWriter(cache, index, index.texts, fd, index.checksum)
        except BaseException:
            close_fd(fd)
            raise
        close_fd(fd)
    made = cache.new_texts()
    if made is None:
        return None
    name, fd = made
    keeper = TextWriter(cache, index, name, fd, 0)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        keeper.copy(size)
    except BaseException:
        keeper.close()
        raise
    return keeper


def _is_ours(fd: int, size: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(fd).st_size == size
