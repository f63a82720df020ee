"""A file that was read before is parsed in part, with the same result as a whole parse."""

from __future__ import annotations

import json
import random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp import schemas
from nexus_mcp.errors import StateError
from nexus_mcp.state import oplog, shapes
from nexus_mcp.store import codec, session
from nexus_mcp.store.paths import TASKS
from nexus_mcp.store.session import KINDS, Document, SessionCache, compose
from tests.store.session.files import FILE, LAYOUT, edited, laid_out, spoilt

KIND = KINDS[TASKS]


def plainly(data: bytes) -> Any:
    """Return the value of the bytes, or their fault, from a parse of the whole text."""
    try:
        return shapes.check(codec.decode(data, KIND.shown), KIND.schema, KIND.shown)
    except StateError as error:
        return str(error)


def known_as(data: bytes, known: Document | None) -> tuple[Any, Document | None]:
    try:
        found = session.read(TASKS, data, known)
    except StateError as error:
        return str(error), None
    return found.value, found


def check_texts(found: Document) -> None:
    """Check that each known text of a row is the one in the file, and that the frame is that of the file."""
    order = schemas.load(KIND.schema)
    for row in found.value["tasks"]:
        if row.text:
            assert row == codec.STRICT.decode(row.text.decode())
            assert row.text == codec.pretty(shapes.order(row, order["properties"]["tasks"]["items"]), "\n    ").encode()
    if found.frame is not None:
        assert found.data.startswith(found.frame[0])
        assert found.data.endswith(found.frame[1])


def prepared(data: bytes) -> Document | None:
    """Return the cache of a process that had the time to prepare."""
    cache = SessionCache()
    cache.parse(TASKS, data)
    with patch.object(session, "_read_bytes", lambda _, name: data if name == TASKS else None):
        cache.prepare(None)
    return cache.parse(TASKS, data)


def exact(value: Any) -> str:
    """Return JSON text in which field order, 1 and 1.0 differ, as in an answer."""
    return json.dumps(value)


@settings(max_examples=250, deadline=None)
@given(FILE, LAYOUT, st.randoms(use_true_random=False), st.booleans())
def test_cached_read_equals_a_whole_read(
    value: Any, layout: dict[str, Any], rnd: random.Random, recognise: bool
) -> None:
    """After any changes by other programs a cached read equals a read without a cache, faults included."""
    known: Document | None = None
    data = laid_out(value, layout)
    for _ in range(6):
        wanted = plainly(data)
        got, found = known_as(data, known)
        assert exact(got) == exact(wanted)
        if found is not None:
            check_texts(found)
            known = prepared(data) if recognise else found
            value = wanted
        if rnd.random() < 0.3:
            data = spoilt(data, rnd)
        else:
            value = edited(value, rnd)
            data = laid_out(value, layout)


def test_cached_read_equals_a_whole_read_after_any_slip() -> None:
    """After a mark is added, lost or replaced anywhere in a file, a cached read equals a read without a cache."""
    row = {"id": 1, "title": "t", "context": "c", "status": "pending", "deps": [1], "created_at": ""}
    for rows, layout in (([row, {**row, "id": 2}], {"indent": 2}), ([row, row, row], {"separators": (",", ":")})):
        data = laid_out({"goal": "", "decisions": [], "tasks": rows}, layout)
        begin = data.index(b'"tasks"')
        known = prepared(data)
        for at in range(begin, len(data) + 1):
            for piece in (b"", b"}", b"{", b"]", b"[", b",", b" ", b'"', b"1"):
                for gone in (0, 1):
                    slip = data[:at] + piece + data[at + gone :]
                    got, found = known_as(slip, known)
                    assert exact(got) == exact(plainly(slip)), slip[at - 20 : at + 20]
                    if found is not None:
                        check_texts(found)


@settings(max_examples=150, deadline=None)
@given(FILE, LAYOUT, st.randoms(use_true_random=False))
def test_composed_bytes_equal_the_encoded_value(value: Any, layout: dict[str, Any], rnd: random.Random) -> None:
    """Bytes put together from the texts of rows are the bytes of the whole value, and cached as a reader would."""
    known: Document | None = None
    try:
        known = session.read(TASKS, laid_out(value, layout))
    except StateError:
        return
    for _ in range(5):
        changed = edited(known.value, rnd)
        if any(row["id"] == 0 or True in [dep is True for dep in row["deps"]] for row in changed["tasks"]):
            with pytest.raises(ValueError, match="would break its schema"):
                compose(TASKS, changed)
            continue
        made = compose(TASKS, changed)
        assert made.data == codec.encode(shapes.order(changed, schemas.load(KIND.schema)))
        check_texts(made)
        assert made.mark == oplog.mark(made.data)
        if not any(isinstance(row["id"], float) or 1.0 in row["deps"] for row in changed["tasks"]):
            assert exact(made.value) == exact(plainly(made.data))
        known = made
