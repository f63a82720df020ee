"""The tables of docs/capabilities.md and docs/resume.md are complete, and their examples work as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from nexus_mcp import schemas
from nexus_mcp.catalog.load import load
from tests.cli.support import nexus
from tests.conftest import CHECKOUT
from tests.support import Project

CAPABILITIES = (CHECKOUT / "docs" / "capabilities.md").read_text(encoding="utf-8")
RESUME = (CHECKOUT / "docs" / "resume.md").read_text(encoding="utf-8")
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def rows(page: str, head: str) -> list[list[str]]:
    """Return the rows of the table whose header begins with this text, as lists of cells."""
    table = page.partition(f"\n| {head}")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table]


def steps(page: str) -> list[tuple[str, str]]:
    """Return (command line, expected output) of a page, in order."""
    found = []
    for language, text in _FENCE.findall(page):
        if language == "text":
            found += [
                (one.partition("\n")[0], one.partition("\n")[2]) for one in re.split(r"^\$ ", text, flags=re.M)[1:]
            ]
    return found


def files(page: str) -> dict[str, str]:
    """The files below .nexus that a page names and shows."""
    return dict(re.findall(r"`\.nexus/([\w/.-]+)`:\n\n```(?:yaml|json)\n(.*?)```", page, re.DOTALL))


def ran(line: str, root: Path) -> str:
    words = shlex.split(line)
    assert words[0] == "nexus-mcp"
    done = nexus(*words[1:], cwd=root)
    return done.out + done.err


def test_page_has_every_capability() -> None:
    """A row for each capability: its classes and its reason."""
    assert rows(CAPABILITIES, "capability ") == [
        [f"`{name}`", " ".join(f"`{one}`" for one in entry["classes"]), f"`{entry['reason']}`"]
        for name, entry in load(None).vocabulary["capabilities"].items()
    ]


def test_page_has_a_row_for_each_field_of_a_map() -> None:
    """A row for each, in the order of the schema."""
    members = list(schemas.load("catalog/capability-map")["properties"])
    assert [row[0].strip("`") for row in rows(CAPABILITIES, "field ")] == members


def test_capability_examples_print_what_the_page_shows(project: Project) -> None:
    """Each command prints the text of the page, and afterwards the map is as the page shows it."""
    start = files(CAPABILITIES)
    assert list(start) == ["capability-map.yml"]
    own_map = CAPABILITIES.index("`.nexus/capability-map.yml`:")
    count = len(steps(CAPABILITIES[:own_map]))
    for number, (line, printed) in enumerate(steps(CAPABILITIES)):
        if number == count:
            project.put("capability-map.yml", start["capability-map.yml"])
        assert ran(line, project.root) == printed
    assert project.get("capability-map.yml").decode() == _FENCE.findall(CAPABILITIES)[-1][1]


def test_resume_examples_print_what_the_page_shows(project: Project) -> None:
    """With the files that the page shows; a line of dots stands for more of the same."""
    for name, text in files(RESUME).items():
        project.put(name, text)
    assert len(files(RESUME)) == 2
    for line, printed in steps(RESUME):
        beginning, dots, rest = printed.partition("…\n")
        out = ran(line, project.root)
        assert out.startswith(beginning) if dots else out == beginning, out
        assert rest == ""


@pytest.mark.parametrize("policy", ["fresh", "resume", "resume_if_same_artifact"])
def test_table_lists_every_policy_and_tier(policy: str) -> None:
    """The table of decisions has each policy, and each tier of the vocabulary."""
    cells = " ".join(row[0] for row in rows(RESUME, "the task's `owner_reuse_policy`"))
    assert f"policy `{policy}`" in cells
    assert [tier for tier in load(None).vocabulary["resume_tiers"] if f"tier *{tier}*" not in cells] == []


def test_page_names_the_parts_of_a_brief(project: Project) -> None:
    """The table names the parts as --json does."""
    names = [row[0].strip("`") for row in rows(RESUME, "part ")]
    assert names == ["role", "task", "notes", "tools", "limits", "harness"]
