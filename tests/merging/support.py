"""Histories to merge: cycles made of numbers, in every layout that may be found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from nexus_mcp.store.history.frame import HistoryFile
from tests.support import cycle, stamp, task

Cycle = dict[str, Any]


def numbered(number: int, minute: int | None = None, **more: Any) -> Cycle:
    """The cycle `number`, completed in that minute (default: the minute of its number)."""
    at = stamp(60_000 * (number if minute is None else minute))
    return {**cycle(None, task(1, f"Work {number}"), at=at), **more}


class Layout(NamedTuple):
    """How a file is written. `indent` None: on one line."""

    indent: int | str | None = 2
    crlf: bool = False
    bom: bool = False
    newline: bool = True
    ascii_only: bool = False

    def __call__(self, cycles: Sequence[Cycle], **members: Any) -> bytes:
        text = json.dumps({"cycles": list(cycles), **members}, indent=self.indent, ensure_ascii=self.ascii_only)
        text += "\n" * self.newline
        text = text.replace("\n", "\r\n") if self.crlf else text
        return (("\ufeff" if self.bom else "") + text).encode()


OURS = Layout()
layouts = st.builds(
    Layout, st.sampled_from([None, 0, 2, 4, "\t"]), st.booleans(), st.booleans(), st.booleans(), st.booleans()
)
# Few numbers and fewer minutes, so that cycles recur and times collide.
some_cycles = st.lists(st.builds(numbered, st.integers(1, 9), st.integers(1, 4)), max_size=4)


def cycles_of(data: bytes) -> list[Cycle]:
    return HistoryFile(data).cycles


def texts_of(data: bytes) -> list[str]:
    """Each cycle as the file spells it."""
    history = HistoryFile(data)
    return [history.text[start:end] for start, end in history.spans]


def grown(data: bytes | None, cycle: Cycle) -> bytes:
    """A history with one more cycle, as a server adds it to the end."""
    history = HistoryFile(data)
    cut = history.spans[-1][1] if history.spans else history.opening
    text = json.dumps(cycle, indent=2, ensure_ascii=False).replace("\n", "\n    ")
    rest = history.text[cut:] if history.spans else "\n  " + history.text[history.closing :]
    return f"{history.text[:cut]}{',' if history.spans else ''}\n    {text}{rest}".encode()


def begin_of(data: bytes, count: int) -> bytes:
    """The bytes up to the end of the first `count` cycles."""
    history = HistoryFile(data)
    return history.text[: history.spans[count - 1][1] if count else history.opening].encode()


def in_order(cycles: Sequence[Cycle]) -> list[Cycle]:
    """Return the cycles as one server closes them: each later than the one before."""
    return sorted(cycles, key=lambda each: (each["completed_at"], json.dumps(each, sort_keys=True)))


def counted(cycles: Sequence[Cycle]) -> Counter[str]:
    return Counter(json.dumps(each, sort_keys=True) for each in cycles)


def titles(data: bytes) -> list[int]:
    """The numbers of the cycles in a file, in order."""
    return [int(each["tasks"][0]["title"].removeprefix("Work ")) for each in cycles_of(data)]
