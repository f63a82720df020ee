"""Generate histories in any layout for the tests of the archive, and treat short ones as long."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from nexus_mcp.store import atomic
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.history import identity, parse
from nexus_mcp.store.history import index as history_index
from nexus_mcp.store.history.archive import Archive
from nexus_mcp.store.history.memory import Memory

Cycle = dict[str, Any]
CYCLE: Cycle = {
    "schema_version": "0.5",
    "completed_at": "2026-01-01T00:00:00.000Z",
    "branch": "b",
    "plan": None,
    "tasks": [],
}
OLD = (1_000_000_000, 1_000_000_000)
"""A time of a file that is settled."""
words = st.text(alphabet=st.sampled_from('abKİẞßÄäΣσςſ ":\\/[]{},\n\t-0.5é\U0001f600\u2028'), max_size=6)
numbers = st.integers(-3, 12) | st.integers() | st.sampled_from([0.5, 1.0, 1e16, -0.0, 2.5e-7])
values = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
_tasks = st.lists(
    st.fixed_dictionaries({"id": st.integers(1, 9), "title": words, "deps": st.lists(st.integers(1, 9), max_size=2)}),
    max_size=3,
)
_issues = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(1, 9), "title": words, "status": st.sampled_from(["pending", "decided"])},
        optional={"decision": words, "how_summary": st.dictionaries(words, words, max_size=2)},
    ),
    max_size=2,
)
_plans = st.none() | st.fixed_dictionaries(
    {"id": st.integers(1, 99) | st.just(1 << 70), "topic": words, "issues": _issues}
)
ours = st.fixed_dictionaries(
    {
        "schema_version": st.just("0.5"),
        "completed_at": st.integers(0, 999).map(lambda ms: f"2026-01-01T00:00:00.{ms:03d}Z"),
        "branch": words,
        "plan": _plans,
        "tasks": _tasks,
    }
)
cycles = st.lists(ours | st.dictionaries(words | st.sampled_from(["plan", "completed_at", "id"]), values, max_size=4))
layouts = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([2, 2, 2, None, 0, 1, "\t"]),
        "ascii_only": st.booleans(),
        "crlf": st.booleans(),
        "bom": st.booleans(),
    }
)
OURS = {"indent": 2, "ascii_only": False, "crlf": False, "bom": False}


def written(history: dict[str, Any], layout: dict[str, Any]) -> bytes:
    """The bytes of a history, as one program or another writes them."""
    text = json.dumps(history, indent=layout["indent"], ensure_ascii=layout["ascii_only"])
    text = text.replace("\n", "\r\n") if layout["crlf"] else text
    return (("\ufeff" if layout["bom"] else "") + text).encode("utf-8", "backslashreplace")


def ours_of(cycles: list[Cycle]) -> bytes:
    """The bytes of a history as we write it."""
    return written({"cycles": cycles}, OURS) + b"\n"


@contextmanager
def small(chunk: int = 1 << 11) -> Iterator[None]:
    """Everything that is done for long histories alone is done for short ones, and a window is of `chunk` bytes."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(atomic, "CHUNK", chunk))
        stack.enter_context(patch.object(parse, "FAST_FROM_BYTES", 0))
        stack.enter_context(patch.object(history_index, "CACHE_FROM_BYTES", 0))
        yield


class Site:
    """A project with only a history and the state folder, and the memory of a process."""

    def __init__(self, root: Path, data: bytes | None = None) -> None:
        self.root = root
        self.path = root / ".nexus" / "history.json"
        self.state = root / ".nexus" / "state"
        self.state.mkdir(parents=True)
        self.memory = Memory()
        if data is not None:
            self.put(data)

    def put(self, data: bytes) -> None:
        """Another program replaced the history a long time ago."""
        new = self.path.with_name("new")
        new.write_bytes(data)
        os.utime(new, OLD)
        new.replace(self.path)

    @contextmanager
    def archive(self, memory: Memory | None = None) -> Iterator[Archive]:
        """Return the present history; `memory` for that of another process."""
        with ExitStack() as stack:
            nexus = stack.enter_context(Folder.root(str(self.root))).child(".nexus")
            assert nexus is not None
            stack.enter_context(nexus)
            state = nexus.child("state")
            if state is not None:
                stack.enter_context(state)
            yield stack.enter_context(Archive(nexus, state, memory or self.memory))


def folder() -> TemporaryDirectory[str]:
    """A new one, in memory where there is a disk of that."""
    return TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


@contextmanager
def settled() -> Iterator[None]:
    """Every time of a file counts as one of long ago, as if the test had waited."""
    with patch.object(identity, "is_settled", lambda seen: True):
        yield
