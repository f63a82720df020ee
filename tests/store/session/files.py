"""State files of many layouts, and the changes that another program may make in them."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import strategies as st

Json = Any

_TEXTS = st.text(alphabet='ab {}[],:"\\\n é漢😀\u2028', max_size=6)
_TITLES = _TEXTS.map(lambda text: text + "t")
_ODD = st.sampled_from([None, True, 1, -0.0, 2.0, 1.5, [], {}, [[1]], {"id": 2.0, "a": {"b": [{}]}}]) | _TEXTS
TASK = st.fixed_dictionaries(
    {
        "id": st.integers(1, 9) | st.sampled_from([2.0]),
        "title": _TITLES,
        "context": _TITLES,
        "status": st.sampled_from(["pending", "in_progress", "completed"]),
        "deps": st.lists(st.integers(1, 3) | st.sampled_from([1.0, 1.5]), max_size=2),
        "created_at": st.just("2026-01-01T00:00:00.000Z"),
    },
    optional={"approach": _TEXTS, "plan_issue": st.sampled_from([1, 2.0]), "later": _ODD, "é": _ODD},
)
FILE = st.fixed_dictionaries(
    {"goal": _TEXTS, "decisions": st.lists(_TEXTS, max_size=2), "tasks": st.lists(TASK, max_size=5)},
    optional={"schema_version": st.just("0.5"), "later": _ODD},
)
_LAYOUTS: list[dict[str, Any]] = [
    {"indent": 2, "ensure_ascii": False},
    {"indent": 2, "ensure_ascii": False},
    {"indent": 4},
    {"indent": 0},
    {"separators": (",", ":")},
    {"indent": "\t", "ensure_ascii": False, "sort_keys": True},
]
LAYOUT = st.sampled_from(_LAYOUTS)
_PIECES = [b"", b"{", b"}", b"[", b"]", b",", b" ", b"\n", b'"', b"\\", b"{}", b"[]", b"},{", b"1", b"\xff", b"NaN"]


def laid_out(value: Json, layout: dict[str, Any]) -> bytes:
    return json.dumps(value, **layout).encode() + b"\n"


def edited(value: Json, rnd: random.Random) -> Json:
    """Return the value after a usual change: rows added, removed, changed or reordered."""
    rows = list(value["tasks"])
    for _ in range(rnd.randint(1, 2)):
        at = rnd.randint(0, len(rows))
        match rnd.randint(0, 5):
            case 0 | 1 if rows:
                row = dict(rows[at % len(rows)])
                row[rnd.choice(["title", "context", "later"])] = rnd.choice(["x", "}, {", "é", "a longer text\n"])
                rows[at % len(rows)] = row
            case 2 if rows:
                del rows[at % len(rows)]
            case 3 if rows:
                rows.insert(at, rows[rnd.randrange(len(rows))])
            case 4:
                rnd.shuffle(rows)
            case _:
                rows.append({**_NEW, "id": rnd.choice([7, 7.0, 0]), "deps": [rnd.choice([1, 1.0, True])]})
    return {**value, "tasks": rows, **rnd.choice([{}, {}, {}, {"goal": "another"}, {"later": "on"}])}


_NEW = {"id": 7, "title": "n", "context": "c", "status": "pending", "deps": [], "created_at": "now"}


def spoilt(data: bytes, rnd: random.Random) -> bytes:
    """Return the bytes after a typing error: some bytes removed, some inserted."""
    for _ in range(rnd.randint(1, 2)):
        at = rnd.randrange(len(data) + 1)
        data = data[:at] + rnd.choice(_PIECES) + data[at + rnd.choice([0, 0, 1, 1, 2, 30]) :]
    return data
