"""Commands in a project with faulty agents, skills or maps: which continue, and which refuse."""

from __future__ import annotations

import pytest

from nexus_mcp.cli import main
from tests.catalog.files import SKILL, put
from tests.support import Project, task, tasks

TOLD = (
    "nexus-mcp: .nexus/skills/draft/meta.yml: is missing (and 1 more); until it is corrected there is no such skill. "
    "nexus-mcp catalog check lists all faults.\n"
)
CODEX = ("--harness-id", "codex")


@pytest.fixture
def faulty(project: Project) -> Project:
    """A project with a task, a skill and an empty folder beside it."""
    project.put("state/tasks.json", tasks(task(1, owner="engineer")))
    put(project.nexus, {"skills/release/meta.yml": SKILL.format(id="release"), "skills/release/body.md": "Go.\n"})
    (project.nexus / "skills/draft").mkdir()
    return project


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("brief", "1", *CODEX), "ROLE:\n# Engineer"),
        (("resume", "1", *CODEX), "fresh"),
        (("route", "[plan] x", *CODEX), "[plan]  starts the skill nx-plan"),
        (("act", "[m] The tests need a display."), "[m]  "),
        (("memory", "gc"), ""),
    ],
)
def test_commands_continue_with_the_valid_entries(
    faulty: Project, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], shown: str
) -> None:
    """The answer is that of a project without the fault, and stderr has a warning."""
    code = main([*words, "--project", str(faulty.root)])
    out, err = capsys.readouterr()
    assert (code, err) == (0, TOLD)
    assert out.startswith(shown)


@pytest.mark.parametrize(
    "words",
    [
        ("catalog", "check"),
        ("catalog", "manifest"),
        ("capabilities", "add", "no_shell_exec", "--agent", "writer"),
        ("capabilities", "remove", "no_shell_exec", "--agent", "writer"),
    ],
)
def test_checks_and_edits_refuse_a_faulty_catalog(
    faulty: Project, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """Commands that check, export or edit the catalog refuse a catalog with a fault."""
    before = {path: content for path, content in faulty.snapshot().items() if "/cache" not in path}
    code = main([*words, "--project", str(faulty.root)])
    _, err = capsys.readouterr()
    assert (code, err.splitlines()[:2]) == (
        1,
        [
            "nexus-mcp: .nexus/skills/draft/meta.yml: is missing",
            "nexus-mcp: .nexus/skills/draft/body.md: is missing",
        ],
    )
    assert {path: content for path, content in faulty.snapshot().items() if "/cache" not in path} == before
