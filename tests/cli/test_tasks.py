"""`nexus-mcp tasks` and `nexus-mcp task ID`: lists, reasons, one task in full."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nexus_mcp import schemas
from nexus_mcp.cli import main
from tests.cli import looking
from tests.cli.screens import shown
from tests.support import Project

WAITS = "waits for 2 (in progress, owner engineer) and 3 (ready)"


def run(capsys: pytest.CaptureFixture[str], project: Project, *words: str) -> tuple[int, str, str]:
    code = main([*words, "--project", str(project.root)])
    out, err = capsys.readouterr()
    return code, out, err


def valid(capsys: pytest.CaptureFixture[str], project: Project, *words: str) -> Any:
    code, out, _ = run(capsys, project, *words, "--json")
    assert (code, out.count("\n")) == (0, 1)
    value = json.loads(out)
    assert schemas.faults(schemas.load(f"views/{words[0]}"), value) == []
    return value


def test_tasks_are_listed_by_state(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """In a pipe each row has id, state, owner, title and what it waits for."""
    looking.typical(project)
    assert run(capsys, project, "tasks")[1].splitlines() == [
        "2  in progress  engineer  Write cache files atomically",
        "3  ready        -         Remove the old files",
        f"4  waiting      writer    Describe the cache            {WAITS}",
        "1  done         engineer  Compute the key",
    ]


def test_tasks_have_headings_on_a_terminal(project: Project) -> None:
    """A terminal shows the progress, and a section for each state."""
    looking.typical(project)
    _, lines, _ = shown("tasks", columns=80, cwd=project.root)
    assert "1 of 4 done · 1 in progress · 1 ready · 1 waiting" in lines[0]
    assert [line for line in lines if line and line[0] not in " ━─"] == ["In progress", "Ready", "Waiting", "Done"]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("--owner", "ENGINEER"), "Tasks of engineer: 1 of 2 done · 1 in progress"),
        (("--owner", "writer", "--blocked"), "Tasks of writer: 0 of 1 done · 1 waiting"),
        (("--ready",), "All tasks: 1 of 4 done · 1 in progress · 1 ready · 1 waiting"),
    ],
)
def test_progress_of_a_filtered_list_says_whose_it_is(project: Project, words: tuple[str, ...], first: str) -> None:
    """With an owner the bar is that of the owner's tasks; with another filter it is labelled as that of all."""
    looking.typical(project)
    _, lines, _ = shown("tasks", *words, columns=100, cwd=project.root)
    assert " ".join(lines[0].replace("━", "").replace("─", "").split()) == first


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (("--ready",), [3]),
        (("--blocked",), [4]),
        (("--owner", "ENGINEER"), [1, 2]),
        (("--owner=writer", "--blocked"), [4]),
    ],
)
def test_tasks_are_filtered(
    capsys: pytest.CaptureFixture[str], project: Project, words: tuple[str, ...], ids: list[int]
) -> None:
    """--ready, --blocked and --owner choose rows; counts are those of the whole list."""
    looking.typical(project)
    view = valid(capsys, project, "tasks", *words)
    assert [row["id"] for row in view["tasks"]] == ids
    assert view["counts"]["total"] == 4


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--owner", "nobody"), "No task has the owner nobody. The owners are engineer, writer."),
        (
            ("--owner", "writer", "--ready"),
            "No task of writer is ready now; in all there are 1 in progress, 1 ready, 1 waiting, 1 done. "
            "nexus-mcp tasks lists them.",
        ),
    ],
)
def test_no_hit_is_a_sentence(
    capsys: pytest.CaptureFixture[str], project: Project, words: tuple[str, ...], wanted: str
) -> None:
    """A list without a hit says what there is, with exit code 0."""
    looking.typical(project)
    assert run(capsys, project, "tasks", *words) == (0, f"{wanted}\n", "")


def test_no_tasks_is_a_sentence(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """An empty project has no tasks, and nothing is made."""
    before = project.snapshot()
    code, out, err = run(capsys, project, "tasks")
    assert (code, out.count("\n"), err) == (0, 1, "")
    assert out.startswith("There are no tasks now.")
    assert valid(capsys, project, "tasks")["tasks"] == []
    assert project.snapshot() == before


def test_ready_and_blocked_exclude_each_other(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """No task is both."""
    assert run(capsys, project, "tasks", "--ready", "--blocked") == (
        2,
        "",
        "nexus-mcp: --ready and --blocked exclude each other. Leave one out.\n",
    )


def test_corrupt_tasks_are_an_error(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """tasks and task name the file, and show nothing of it."""
    looking.corrupt(project)
    for words in (("tasks",), ("task", "1")):
        code, out, err = run(capsys, project, *words)
        assert (code, out) == (1, "")
        assert ".nexus/state/tasks.json (line 1, column 20) is not JSON" in err
        assert "secret" not in err


def test_a_task_says_why_it_is_not_ready(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """The reason names each unfinished task, its state and, at work, its owner."""
    looking.typical(project)
    out = run(capsys, project, "task", "4")[1]
    assert "Task 4 waits for 2 (in progress, owner engineer) and 3 (ready).\n" in out
    view = valid(capsys, project, "task", "4")
    assert view["reason"] == "task 4 waits for 2 (in progress, owner engineer) and 3 (ready)"
    assert [(one["id"], one["state"]) for one in view["waits_for"]] == [(2, "in_progress"), (3, "ready")]


def test_a_task_is_shown_in_full(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """Context, approach, acceptance, risk, what it blocks, the question of the plan and its decision."""
    looking.typical(project)
    lines = run(capsys, project, "task", "2")[1].splitlines()
    assert lines[0] == "2  Write cache files atomically"
    assert lines[1].startswith("   in progress · owner engineer · added 20")
    text = "\n".join(lines[2:])
    assert text.strip("\n").split("\n\n") == [
        "Blocks\n  ·  4  Describe the cache  waiting  @writer",
        "Question  issue 1 of the plan\n  Where is the cache?",
        "Decision\n  In the cache folder of the user.",
        "Context\n  Why it is needed.",
        "Approach\n  Take the helper.",
        "  - never follow a link\n  - ignore a torn file",
        "Done when\n  A kill leaves the old file or the new one.",
        "Risk\n  A full disk.",
    ]


def test_a_task_in_a_cycle_is_a_problem(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """The tasks that wait for each other are named, as is a dependency that no task has."""
    looking.large(project)
    assert "Tasks 60, 61, 62 wait for each other" in run(capsys, project, "task", "61")[1]
    assert "Task 90 waits for 999 (no such task)." in run(capsys, project, "task", "90")[1]
    assert valid(capsys, project, "task", "61")["cycle"] == [60, 61, 62]


def test_a_task_is_shown_beside_a_corrupt_plan(capsys: pytest.CaptureFixture[str], project: Project) -> None:
    """The question is then unknown."""
    looking.typical(project)
    project.put("state/plan.json", "{")
    code, out, _ = run(capsys, project, "task", "2")
    assert code == 0
    assert "Question" not in out


@pytest.mark.parametrize(
    ("word", "code", "wanted"),
    [
        ("9", 1, "nexus-mcp: There is no task 9. The tasks are 1, 2, 3, 4.\n"),
        ("x", 2, "nexus-mcp: TASK-ID needs a number from 1 to 999999999999999, not 'x'.\n"),
        ("0", 2, "nexus-mcp: TASK-ID needs a number from 1 to 999999999999999, not '0'.\n"),
    ],
)
def test_an_unknown_task_is_an_error(
    capsys: pytest.CaptureFixture[str], project: Project, word: str, code: int, wanted: str
) -> None:
    """The error lists the ids, or says what an id is."""
    looking.typical(project)
    found = run(capsys, project, "task", word)
    assert (found[0], found[1]) == (code, "")
    assert found[2].startswith(wanted.split(" from", maxsplit=1)[0])
