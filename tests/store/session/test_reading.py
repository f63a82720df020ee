"""A file that was seen before is read in part, and comes to what reading all of it comes to."""

from __future__ import annotations

import json
import random
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp import schemas
from nexus_mcp.errors import StateError
from nexus_mcp.state import oplog, shapes
from nexus_mcp.store import codec
from nexus_mcp.store.session import reading
from nexus_mcp.store.session.document import KINDS, TASKS, Document
from nexus_mcp.store.session.writing import compose, detect_layout
from tests.store.session.files import FILE, LAYOUT, edited, laid_out, spoilt

KIND = KINDS[TASKS]


def plainly(data: bytes) -> Any:
    """What the bytes mean, or what is wrong with them, by way of nothing but the whole text."""
    try:
        return shapes.check(codec.decode(data, KIND.shown), KIND.schema, KIND.shown)
    except StateError as error:
        return str(error)


def known_as(data: bytes, known: Document | None) -> tuple[Any, Document | None]:
    try:
        found = reading.read(TASKS, data, known)
    except StateError as error:
        return str(error), None
    return found.value, found


def check_places(found: Document) -> None:
    """The document's rows lie where it says, and its layout is ours if it says so."""
    rows = found.value["tasks"]
    if found.opening >= 0:
        assert found.data[found.opening - 1 : found.opening] == b"["
        assert len(found.lengths) == len(rows)
        places = [*accumulate(found.lengths, initial=found.opening)]
        assert places[-1] == found.closing
        for row, (start, end) in zip(rows, pairwise(places), strict=True):
            text = found.data[start:end].lstrip(b" \t\r\n,").decode()
            assert shapes.check_rows([codec.STRICT.decode(text)], KIND.schema) == [row]
    if found.is_ours:
        assert found.data == codec.encode(shapes.order(found.value, schemas.load(KIND.schema)))


def exact(value: Any) -> str:
    """JSON text in which order of members, 1 and 1.0 differ, as they do in an answer."""
    return json.dumps(value)


@settings(max_examples=250, deadline=None)
@given(FILE, LAYOUT, st.randoms(use_true_random=False), st.booleans())
def test_as_read_whole(value: Any, layout: dict[str, Any], rnd: random.Random, recognise: bool) -> None:
    """Whatever others make of a file, time after time: it is what one who never saw it reads, faults included."""
    known: Document | None = None
    data = laid_out(value, layout)
    for _ in range(6):
        wanted = plainly(data)
        got, found = known_as(data, known)
        assert exact(got) == exact(wanted)
        if found is not None:
            check_places(found)
            known = detect_layout(found) if recognise else found
            value = wanted
        if rnd.random() < 0.3:
            data = spoilt(data, rnd)
        else:
            value = edited(value, rnd)
            data = laid_out(value, layout)


def test_every_slip_of_the_keyboard() -> None:
    """Wherever in a file a mark is put, lost or struck for another one: it is read as by one who never saw it."""
    row = {"id": 1, "title": "t", "context": "c", "status": "pending", "deps": [1], "created_at": ""}
    for rows, layout in (([row, {**row, "id": 2}], {"indent": 2}), ([row, row, row], {"separators": (",", ":")})):
        data = laid_out({"goal": "", "decisions": [], "tasks": rows}, layout)
        begin = data.index(b'"tasks"')
        known = reading.read(TASKS, data)
        for at in range(begin, len(data) + 1):
            for piece in (b"", b"}", b"{", b"]", b"[", b",", b" ", b'"', b"1"):
                for gone in (0, 1):
                    slip = data[:at] + piece + data[at + gone :]
                    got, found = known_as(slip, known)
                    assert exact(got) == exact(plainly(slip)), slip[at - 20 : at + 20]
                    if found is not None:
                        check_places(found)


@settings(max_examples=150, deadline=None)
@given(FILE, LAYOUT, st.randoms(use_true_random=False))
def test_as_written_whole(value: Any, layout: dict[str, Any], rnd: random.Random) -> None:
    """Bytes put together from those of before are the bytes of the whole value, and known as a reader would."""
    known: Document | None = None
    try:
        known = reading.read(TASKS, laid_out(value, layout))
    except StateError:
        return
    for _ in range(5):
        changed = edited(known.value, rnd)
        if any(row["id"] == 0 or True in [dep is True for dep in row["deps"]] for row in changed["tasks"]):
            with pytest.raises(ValueError, match="would break its schema"):
                compose(TASKS, known, changed)
            continue
        made = compose(TASKS, known, changed)
        assert made.data == codec.encode(shapes.order(changed, schemas.load(KIND.schema)))
        check_places(made)
        assert made.mark() == oplog.mark(made.data)
        prefix, suffix = made.shared
        assert prefix + suffix <= min(len(known.data), len(made.data))
        assert known.data[:prefix] == made.data[:prefix]
        assert known.data[len(known.data) - suffix :] == made.data[len(made.data) - suffix :]
        if not any(isinstance(row["id"], float) or 1.0 in row["deps"] for row in changed["tasks"]):
            assert exact(made.value) == exact(plainly(made.data))
        known = made
