"""The files that the texts of a task name (docs/resume.md)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.catalog import target_files


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("Mend src/a.py.", ["src/a.py"]),
        ("`src/a.py`, (docs/b.md); [x](docs/c.md#part)", ["src/a.py", "docs/b.md", "docs/c.md"]),
        ("src/a.py:12 and src/a.py:12:5 and src/b.py#L3", ["src/a.py", "src/b.py"]),
        ("./src//x/../a.py", ["src/a.py"]),
        ("tracker.py, README.md!", ["tracker.py", "README.md"]),
        ("all of src/state/ and .github/ci.yml", ["src/state/", ".github/ci.yml"]),
        ("and/or, read/write, 1/2, TCP/IP, n/a, a.m.", []),
        ("e.g. i.e. v0.5 task.owner Ph.D. 3.11", []),
        ("https://example.org/a.py me@example.org", []),
        ("../other/a.py /etc/passwd.txt ~/x.py", []),
        ("/p/src/a.py /pp/src/a.py /p/", ["src/a.py"]),
        ("", []),
    ],
)
def test_paths_are_found_in_texts(text: str, files: list[str]) -> None:
    """A path in a text is recognized by its form, without a line number or punctuation around it."""
    assert target_files.of_task({"context": text}, "/p") == files


def test_every_text_counts_once() -> None:
    """Title, context, approach and acceptance, in this order; other fields are not about files."""
    task = {"title": "a.py", "acceptance": "d.py", "approach": "c.py a.py", "context": "b.py", "risk": "e.py"}
    assert target_files.of_task(task) == ["a.py", "b.py", "c.py", "d.py"]


def test_existing_names_count_as_targets() -> None:
    """A word that is a file of the project; a folder only where it is written with a slash in it."""
    there = {"Makefile": "file", "tests": "folder", "src/state": "folder", "src/x": "file"}
    words = {"title": "Makefile tests src/state src/x src/y other"}
    found = target_files.of_task(words, kind=lambda path: there.get(path, ""))
    assert found == ["Makefile", "src/state/", "src/x"]


@pytest.mark.parametrize(
    ("target", "path", "is_covered", "may_be"),
    [
        ("src/a.py", "src/a.py", True, True),
        ("src/a.py", "vendor/old/src/a.py", False, True),
        ("src/a.py", "mysrc/a.py", False, False),
        ("a.py", "src/a.py", True, True),
        ("a.py", "src/aa.py", False, False),
        ("src/a.py", "a.py", False, False),
        ("src/", "src/x/a.py", True, True),
        ("x/", "src/x/a.py", False, True),
        ("src/", "mysrc/a.py", False, False),
    ],
)
def test_target_covers_its_file_or_folder(target: str, path: str, is_covered: bool, may_be: bool) -> None:
    """A path from the root covers that file, a folder covers its files, and a bare name covers any file with that name;
    a path that only ends with the target may be covered.
    """
    assert (target_files.covers(target, path), target_files.may_cover(target, path)) == (is_covered, may_be)


def test_no_more_than_are_meant() -> None:
    """A task about more files than that is about no certain ones; each is looked for once."""
    looked: list[str] = []

    def kind(path: str) -> str:
        looked.append(path)
        return ""

    task = {"context": " ".join(f"f{number}.py" for number in range(500)), "title": "word " * 5000}
    assert len(target_files.of_task(task, kind=kind)) == target_files.MOST
    assert looked == ["word"]


@settings(deadline=None, derandomize=True, database=None)
@given(st.text())
def test_any_text_gives_distinct_paths_in_the_project(text: str) -> None:
    """Whatever stands there: paths below the root, none twice."""
    found = target_files.of_task({"context": text}, "/p")
    assert len(found) == len(set(found))
    assert [path for path in found if path.startswith(("/", "../")) or not path] == []
