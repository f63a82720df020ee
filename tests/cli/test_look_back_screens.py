"""History, decisions and graph on a real terminal of 40, 80 and 120 columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli import example_history
from tests.cli.screens import shown
from tests.rendering.support import HOSTILE, many_tasks
from tests.support import Project

COLUMNS = (20, 40, 80, 120)
VIEWS = (
    ("history",),
    ("history", "search", "broken"),
    ("history", "show", "2"),
    ("history", "diff", "2", "3"),
    ("decisions",),
    ("graph",),
)


@pytest.fixture
def example(project: Project) -> Path:
    example_history.write(project.root)
    return project.root


def _words(lines: list[str]) -> list[str]:
    return " ".join(lines).split()


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_each_view_fits_and_divides_no_word(example: Path, view: tuple[str, ...], columns: int) -> None:
    """No line is wider than the terminal, and every word of a wide screen is on a narrow one, undivided."""
    code, lines, _ = shown(*view, columns=columns, cwd=example)
    _, wide, _ = shown(*view, columns=200, cwd=example)
    assert code == 0
    assert max(map(len, lines)) <= columns
    longest = max(map(len, _words(wide)))
    if columns > longest + 8:
        assert sorted(set(_words(wide)) - {"·"}) == sorted(set(_words(lines)) - {"·"})


def test_a_list_has_a_line_for_each_cycle_at_80_columns(example: Path) -> None:
    """At 80 columns a cycle is a line with its number, age, topic, numbers and branch."""
    _, lines, _ = shown("history", columns=80, cwd=example)
    assert [line.split()[0] for line in lines] == ["3", "2", "1"]
    assert lines[0].endswith("sqlite")


def _attributes(screen: Any, row: int) -> set[tuple[str, bool]]:
    return {(char.fg, char.bold) for char in screen.buffer[row].values() if char.data.strip()}


def test_marks_have_colours_and_no_color_leaves_the_words(example: Path) -> None:
    """A cycle in the graph is red and named; with NO_COLOR the same words are there without a colour."""
    for env, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        _, lines, screen = shown("graph", columns=80, cwd=example, env=env)
        row = next(at for at, line in enumerate(lines) if "Freeze the format" in line)
        assert (len({colour for colour, _ in _attributes(screen, row)} - {"default"}) > 0) is coloured
        assert "critical path" in lines[row]


@pytest.mark.parametrize("columns", [40, 80])
def test_a_graph_of_200_tasks_has_each_task_once(project: Project, columns: int) -> None:
    """At 200 tasks each task is there once, with what it comes after."""
    tasks = many_tasks()
    project.put("state/tasks.json", {"goal": "", "decisions": [], "tasks": tasks})
    code, lines, _ = shown("graph", columns=columns, lines=900, cwd=project.root)
    assert code == 0
    text = " ".join(_words(lines))
    assert [one["id"] for one in tasks if text.count(f"Write part {one['id']} of the program") != 1] == []
    assert max(map(len, lines)) <= columns


def test_hostile_text_does_not_act_on_the_terminal(project: Project) -> None:
    """Escape sequences of stored text are shown, and change neither colours nor lines."""
    text = "\x1b[31mred\x1b[2J\x1b]0;title\x07 \u202eevil"
    issue = {"id": 1, "title": text, "status": "decided", "decision": text, "how_summary": {text: text}}
    plan = {"id": 1, "topic": text, "issues": [issue], "research_summary": text}
    tasks = [{"id": at, "title": one, "context": text, "status": "pending"} for at, one in enumerate(HOSTILE, 1)]
    project.put("history.json", {"cycles": [{"completed_at": text, "branch": text, "plan": plan, "tasks": tasks}]})
    for view in (("history",), ("history", "show", "1"), ("decisions",), ("graph", "--history", "1")):
        _, lines, screen = shown(*view, columns=80, cwd=project.root)
        assert any("\\x1b[31mred" in line for line in lines)
        assert screen.title == ""
        assert "\u202e" not in "".join(lines)
