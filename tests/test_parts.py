"""The two parts of the tests have all tests, and each subject has short ones."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.parts import LONG, TESTS, is_ignored

WHOLLY_LONG = {"adding", "deploy", "differential", "mutation", "packaging", "pages"}
"""Folders without a short test: they prove what short tests of other folders look at in parts."""


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
    """Only a module with single long tests is in both."""
    modules = [path for path in TESTS.rglob("test_*.py") if "e2e" not in path.parts and "browser" not in path.parts]
    both = [path for path in modules if not is_ignored(path, "short") and not is_ignored(path, "long")]
    assert [path.relative_to(TESTS).as_posix() for path in both] == ["reliability/test_quick.py"]
    assert not [path for path in modules if is_ignored(path, "short") and is_ignored(path, "long")]


def test_each_subject_has_short_tests() -> None:
    """What `make test` leaves out altogether is named here."""
    folders = {entry.partition("/")[0] for entry in LONG}
    short = {folder for folder in folders if any(_is_short(path) for path in (TESTS / folder).rglob("test_*.py"))}
    assert folders - short == WHOLLY_LONG


def _is_short(path: Path) -> bool:
    return not any(is_ignored(one, "short") for one in (path, *path.parents))
