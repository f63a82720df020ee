"""Each test is in the short or the long part, and each folder has short tests, except for WHOLLY_LONG."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.parts import LONG, TESTS, is_ignored

WHOLLY_LONG = {"adding", "deploy", "differential", "mutation", "packaging", "pages"}
"""Folders without a short test. Short tests of other folders test the same code in smaller pieces."""


@pytest.mark.parametrize("entry", LONG)
def test_entry_of_the_long_part_exists(entry: str) -> None:
    """A renamed module or test would silently become a short one."""
    name, _, test = entry.partition("::")
    path = TESTS / name
    assert path.exists()
    names = (
        [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
        if test
        else []
    )
    assert not test or test in names


def test_each_module_is_in_one_part() -> None:
    """Only a module with both long and short tests is in both parts."""
    modules = [path for path in TESTS.rglob("test_*.py") if "e2e" not in path.parts and "browser" not in path.parts]
    both = [path for path in modules if not is_ignored(path, "short") and not is_ignored(path, "long")]
    assert [path.relative_to(TESTS).as_posix() for path in both] == ["reliability/test_quick.py"]
    assert not [path for path in modules if is_ignored(path, "short") and is_ignored(path, "long")]


def test_each_subject_has_short_tests() -> None:
    """WHOLLY_LONG names each folder that `make test` leaves out."""
    folders = {entry.partition("/")[0] for entry in LONG}
    short = {folder for folder in folders if any(_is_short(path) for path in (TESTS / folder).rglob("test_*.py"))}
    assert folders - short == WHOLLY_LONG


def _is_short(path: Path) -> bool:
    return not any(is_ignored(one, "short") for one in (path, *path.parents))
