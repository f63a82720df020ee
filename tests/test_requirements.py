"""Each requirement has a test, and each test names existing requirements."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

TESTS = Path(__file__).parent
TABLE = TESTS / "requirements.yml"


class _Strict(yaml.SafeLoader):
    """A loader that refuses a key that occurs twice in one mapping; YAML itself keeps the last silently."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        repeated = {key for key in keys if keys.count(key) > 1}
        assert not repeated, f"rows that occur twice: {sorted(repeated)}"
        return super().construct_mapping(node, deep)


def groups() -> list[dict[str, Any]]:
    loaded = yaml.load(TABLE.read_text(encoding="utf-8"), _Strict)
    assert isinstance(loaded, list)
    return loaded


def rows() -> list[str]:
    return [row for group in groups() for row in group["rows"]]


def markers(source: str) -> Iterator[tuple[int, ast.expr]]:
    """Line and argument of every `pytest.mark.requirement(…)` in a module's source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
            for argument in node.args:
                yield node.lineno, argument


def named() -> dict[str, list[str]]:
    """Requirement id → the places that name it."""
    found: dict[str, list[str]] = {}
    for module in sorted(TESTS.rglob("test_*.py")):
        for line, argument in markers(module.read_text(encoding="utf-8")):
            place = f"{module.relative_to(TESTS)}:{line}"
            assert isinstance(argument, ast.Constant), f"{place} names a requirement by something else than a literal"
            assert isinstance(argument.value, str), f"{place} names a requirement by something else than a text"
            found.setdefault(argument.value, []).append(place)
    return found


def test_every_requirement_has_a_test() -> None:
    """Every requirement is named by at least one test."""
    kept = named()
    assert [row for row in rows() if row not in kept] == []


def test_every_name_is_a_row() -> None:
    """Every requirement that a test names is in the table."""
    known = set(rows())
    assert {name: places for name, places in named().items() if name not in known} == {}


def test_ids_are_unique() -> None:
    """No requirement occurs in two groups."""
    found = rows()
    assert sorted(found) == sorted(set(found))


def test_ids_of_a_family_are_adjacent() -> None:
    """The ids of one family are in one group and next to each other, each with a title and a text."""
    order: list[str] = []
    for group in groups():
        assert set(group) == {"group", "rows"}
        assert group["group"].strip()
        for row, text in group["rows"].items():
            assert re.fullmatch(r"[a-z][a-z_]*\.[a-z0-9-]+", row), row
            assert isinstance(text, str), row
            assert text.endswith("."), row
            family = row.split(".")[0]
            if not order or order[-1] != family:
                order.append(family)
    assert len(order) == len(set(order))


def test_the_walker_finds_markers() -> None:
    """A marker is found on functions, classes and module lists alike, each of its ids separately."""
    source = (
        "import pytest\n"
        "pytestmark = [pytest.mark.requirement('a.b')]\n"
        "@pytest.mark.requirement('c.d', 'e.f')\n"
        "class TestIt:\n    @pytest.mark.requirement('g.h')\n    def test_x(self): ...\n"
    )
    assert sorted(ast.literal_eval(argument) for _, argument in markers(source)) == ["a.b", "c.d", "e.f", "g.h"]
