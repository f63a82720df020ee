"""The pure rules below the checks: cycles of tasks, places of pointers, rules of .gitignore, numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.doctor import documents, places
from nexus_mcp.doctor.checks.git import leaves_out_state
from nexus_mcp.doctor.checks.session import find_cycles
from nexus_mcp.doctor.survey import FILE, FOLDER
from nexus_mcp.doctor.values import format_id, format_ids
from nexus_mcp.schemas import escape
from nexus_mcp.wording import line_and_column

GRAPHS = st.dictionaries(st.integers(1, 7), st.lists(st.integers(1, 8), max_size=4), max_size=7)


def reached(graph: dict[int, list[int]], start: int) -> set[int]:
    """Return the nodes that can be reached from `start` in one step or more."""
    found: set[int] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += graph.get(one, ())
    return found


@settings(max_examples=120, derandomize=True, database=None)
@given(GRAPHS)
def test_each_component_has_one_cycle_reported(graph: dict[int, list[int]]) -> None:
    """Each component has one cycle reported: without a repeated task, from the component's first task."""
    order = list(graph)
    knots = {frozenset(b for b in graph if b in reached(graph, a) and a in reached(graph, b)) for a in graph}
    found = list(find_cycles(graph))
    for circle in found:
        assert len(set(circle)) == len(circle)
        assert all(after in graph[task] for task, after in zip(circle, [*circle[1:], circle[0]], strict=True))
    firsts = {min(knot, key=order.index) for knot in knots if knot}
    assert sorted(circle[0] for circle in found) == sorted(firsts)


def test_a_circle_is_a_short_one() -> None:
    """Of several cycles the shortest is reported."""
    assert list(find_cycles({1: [2, 3], 2: [3], 3: [1], 4: [1]})) == [[1, 3]]


VALUES = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "/", "~", "", "~1", "é\n"]), inner, max_size=4)
    ),
    max_leaves=15,
)


def pointers(value: Any, pointer: str = "") -> list[tuple[str, Any]]:
    found = [(pointer, value)]
    if isinstance(value, dict):
        for name, member in value.items():
            found += pointers(member, f"{pointer}/{escape(name)}")
    if isinstance(value, list):
        for index, item in enumerate(value):
            found += pointers(item, f"{pointer}/{index}")
    return found


@settings(max_examples=60, derandomize=True, database=None)
@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_a_pointer_has_its_place(value: Any, indent: int | str | None, ascii_only: bool) -> None:
    """The reported place of a pointer is the position of the value that it names."""
    text = "\n " + json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    for pointer, wanted in pointers(value):
        at = documents.find_value(text, pointer)
        assert json.JSONDecoder().raw_decode(text, at)[0] == wanted
        line, column = line_and_column(text, at)
        assert text.split("\n")[line - 1][column - 1 :] == text[at:].split("\n")[0]


def test_pointer_to_a_missing_value_names_its_parent() -> None:
    """A pointer to a missing field or item has the place of its innermost existing parent."""
    text = '\ufeff{"a": [1, {"b": "c"}]}'
    assert [documents.find_value(text, pointer, 1) for pointer in ("/x", "/a/7", "/a/1/x", "/a/1/b/0")] == [
        1,
        7,
        11,
        17,
    ]
    assert line_and_column(text, 1) == (1, 1)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("", False),
        ("state/\n", True),
        ("/state", True),
        ("\ufeffstate/  \r\n", True),
        ("stat?", True),
        ("*\n", True),
        ("#state/\nstates/\n", False),
        ("a/state/\n", False),
        ("*.json\nx/\n", False),
        ("state/\n!state/\n", False),
        ("!state/\nstate/\n", True),
        ("state/\n!state/plan.json\n", True),
        ("state/\n!keep\n", True),
        ("state/\n!/st[a]te/\n", None),
        ("state/*\n", None),
        ("**/state\n", None),
        ("st[a]te/\n", None),
        ("st[a]te/\nstate/\n", True),
        ("state/plan.json\n", None),
    ],
)
def test_plain_rules_are_checked_without_git(text: str, verdict: bool | None) -> None:
    """Plain rules are read as git reads them; other rules give no finding."""
    assert leaves_out_state(text) is verdict


@pytest.mark.parametrize(
    ("path", "kind", "role"),
    [
        (".nexus", FOLDER, places.OTHER),
        (".nexus/rules/a/b.md", FILE, places.KNOWLEDGE_NOTE),
        (".nexus/rules/a.md", FOLDER, places.OTHER),
        (".nexus/odd/b.md", FILE, places.OTHER),
        (".nexus/state/codex", FOLDER, places.HARNESS),
        (".nexus/state/codex", FILE, places.UNKNOWN),
        (".nexus/state/codex/deep/agent-tracker.json", FILE, places.OTHER),
        (".nexus/state/Odd/agent-tracker.json", FILE, places.OTHER),
        (".nexus/state/cache", FOLDER, places.CACHE),
        (".nexus/state/cache/history.index", FILE, places.OTHER),
        (".nexus/state/artifacts/agent-tracker.json", FILE, places.ARTIFACT),
        (".nexus/history.backup.12.json", FILE, places.OTHER),
    ],
)
def test_role_depends_on_the_place_of_a_file(path: str, kind: str, role: str) -> None:
    """The role of a path depends on its folder, not on its name alone."""
    assert places.role(path, kind) == role


def test_long_lists_of_ids_are_shortened() -> None:
    """Ids are spelled whole, and long lists by their ends."""
    assert [format_id(number) for number in (1, 2.0, 1.5, 12345678, 10**30)] == [
        "1", "2", "1.5", "12345678", "10000000000000000000...",
    ]  # fmt: skip
    assert format_ids([1, 2.0]) == "1, 2"
    assert format_ids(list(range(20))) == "0, 1, 2, 3, 4, 5, 6, 7, ..., 19"
