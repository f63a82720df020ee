"""What people look at, on a real terminal of 20 to 120 columns, and in a pipe."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from nexus_mcp.cli.terminal import cells
from tests.cli import looking
from tests.cli.screens import shown
from tests.cli.support import nexus
from tests.support import Project

PROJECTS: dict[str, Callable[[Project], None]] = {
    name: getattr(looking, name) for name in ("empty", "typical", "large", "corrupt", "wide", "hostile")
}
COMMANDS = (("status",), ("tasks",), ("log",), ("task", "1"))
ESCAPES = re.compile(rb"\x1b\[[0-9;]*m")
CONTROL = re.compile(rb"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]|\xe2\x80\xae|\xe2\x80\x8b")
"""Bytes that act on a terminal, a mark that turns the direction, and a blank of no width."""


@pytest.fixture(params=PROJECTS)
def filled(request: pytest.FixtureRequest, project: Project) -> Project:
    PROJECTS[request.param](project)
    return project


@pytest.mark.parametrize("columns", [20, 40, 80, 120])
def test_every_project_fits_every_width(filled: Project, columns: int) -> None:
    """No line is wider than the terminal, no stored text acts on it, and nothing but styles is sent."""
    for command in COMMANDS:
        _, lines, screen = shown(*command, columns=columns, cwd=filled.root)
        raw = screen.raw
        assert lines, command
        assert CONTROL.search(ESCAPES.sub(b"", raw)) is None, (command, raw)
        for line in ESCAPES.sub(b"", raw).decode().splitlines():
            # An error is one line on stderr, as of every command.
            assert cells(line) <= columns or line.startswith("nexus-mcp: "), (command, line)


@pytest.mark.parametrize("columns", [80, 120])
def test_words_stay_whole(project: Project, columns: int) -> None:
    """At 80 columns every word of a title stands on one line."""
    looking.typical(project)
    looking.large(project)
    for command in (("status",), ("tasks",), ("log",)):
        _, lines, _ = shown(*command, columns=columns, cwd=project.root)
        words = {word.strip("…,.:;()") for line in lines for word in line.split()}
        for word in ("questions", "storage", "engine"):
            broken = {one for one in words if word.startswith(one) and 3 < len(one) < len(word)}
            assert broken == set(), command


def test_columns_stay_aligned_with_wide_characters(project: Project) -> None:
    """The owners begin in the same column of the screen, whatever the titles are."""
    looking.wide(project)
    _, lines, screen = shown("tasks", columns=120, cwd=project.root)
    rows = [y for y, line in enumerate(screen.display) if "@" in line]
    at = {next(x for x in range(120) if screen.buffer[y][x].data == "@") for y in rows}
    assert (len(rows), len(at)) == (3, 1), lines


def test_a_pipe_gets_plain_text(filled: Project) -> None:
    """No line has an escape sequence, the beginning of a tag, or blanks at its end."""
    for command in COMMANDS:
        ran = nexus(*command, cwd=filled.root)
        assert "\x1b" not in ran.out
        assert "\u202e" not in ran.out
        assert "<script" not in ran.out
        assert all(line == line.rstrip() for line in ran.out.split("\n"))


def test_a_pipe_neither_wraps_nor_cuts(project: Project) -> None:
    """A title of 300 characters stands on one line."""
    looking.hostile(project)
    for command in (("status",), ("tasks",), ("log",), ("task", "3")):
        assert any("w" * 300 in line for line in nexus(*command, cwd=project.root).out.splitlines()), command


def test_variables_of_colour(project: Project) -> None:
    """NO_COLOR leaves no colour, TERM=dumb no escape sequence, FORCE_COLOR colours a pipe."""
    looking.typical(project)
    _, _, screen = shown("status", columns=80, cwd=project.root)
    assert b"\x1b[36m" in screen.raw
    _, _, screen = shown("status", columns=80, cwd=project.root, env={"NO_COLOR": "1"})
    assert re.search(rb"\x1b\[[0-9;]*3\d", screen.raw) is None
    _, lines, screen = shown("status", columns=50, cwd=project.root, env={"TERM": "dumb"})
    assert b"\x1b" not in screen.raw
    assert max(map(len, lines)) <= 50
    assert "\x1b[36m" in nexus("status", cwd=project.root, env={"FORCE_COLOR": "1", "TERM": "xterm"}).out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_rich_is_loaded_for_a_terminal_only(project: Project, command: tuple[str, ...]) -> None:
    """In a pipe the modules of rich are not imported."""
    looking.typical(project)
    ran = nexus(*command, cwd=project.root, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert " nexus_mcp.cli.terminal" in ran.err
    assert " rich." not in ran.err
