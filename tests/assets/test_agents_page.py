"""docs/agents.md lists the shipped agents and skills, and its example works as printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.catalog.manifest import manifest
from tests.assets.texts import SECTIONS
from tests.catalog.files import put
from tests.cli.support import Ran, nexus
from tests.conftest import CHECKOUT
from tests.support import Project

PAGE = (CHECKOUT / "docs" / "agents.md").read_text(encoding="utf-8")
FILES: dict[str, str] = dict(re.findall(r"`\.nexus/([\w/.-]+)`:\n\n```(?:yaml|markdown)\n(.*?)```", PAGE, re.DOTALL))
SAID = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def example(project: Project) -> Path:
    """A project with the files that the page shows."""
    put(project.root / ".nexus", FILES)
    return project.root


def rows(title: str) -> list[list[str]]:
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\| `.*\|$", section, re.MULTILINE)
    ]


def test_the_agents_are_those_of_the_catalog() -> None:
    """A row for each, with its category, tiers and capabilities."""
    assert rows("The agents") == [
        [
            f"`{name}`",
            agent["category"],
            agent["resume_tier"],
            agent["model_tier"],
            " ".join(f"`{one}`" for one in agent["capabilities"]),
        ]
        for name, agent in sorted(load(None).agents.items())
    ]


def test_the_skills_are_those_of_the_catalog() -> None:
    """A row for each, with the tags that start it and the first sentence of its description."""
    catalog = load(None)
    tags: dict[str, list[str]] = {}
    for tag, entry in catalog.vocabulary["tags"].items():
        if entry["kind"] == "skill":
            names = [tag, *(f"{tag}:{variant}" for variant in entry["variants"])]
            tags[entry["skill"]] = [f"`[{name}]`" for name in names]
    assert rows("The skills") == [
        [
            f"`{name}`",
            ", ".join(tags.get(name, ["the user alone"])),
            f"{skill['description'].split('. ')[0].rstrip('.')}.",
        ]
        for name, skill in sorted(catalog.skills.items())
    ]
    assert [name for name, skill in catalog.skills.items() if skill["manual_only"]] == ["nx-init"]
    assert [name for name, skill in catalog.skills.items() if skill["harness_notes"]] == ["nx-plan", "nx-run"]


def test_the_sections_are_named() -> None:
    """The page names the sections that every text has."""
    assert f"{', '.join(SECTIONS)}." in " ".join(PAGE.split())


def test_example_checks_print_what_the_page_shows(example: Path) -> None:
    """`catalog check` prints the text of the page; `list` and `show` print the added and changed entries."""
    assert sorted(FILES) == [
        "agents/dba/body.md",
        "agents/dba/meta.yml",
        "agents/engineer/meta.yml",
        "skills/release/body.md",
        "skills/release/meta.yml",
    ]
    assert nexus("catalog", "check", cwd=example) == Ran(0, SAID[0], "")
    listed = nexus("catalog", "list", cwd=example)
    assert listed.code == 0
    assert [line.split()[0] for line in listed.out.splitlines() if line.endswith("(of this project)")] == [
        "dba",
        "engineer",
        "release",
    ]
    shown = nexus("catalog", "show", "engineer", cwd=example)
    assert re.search(r"^  added +no_shell_exec$", shown.out, re.MULTILINE)
    assert load(None).body("agents", "engineer").splitlines()[-1] in shown.out


def test_the_manifest_has_the_example(example: Path) -> None:
    """The manifest has the project's entries, with the capabilities that the project added."""
    printed = json.loads(nexus("catalog", "manifest", cwd=example).out)
    capabilities = {agent["id"]: agent["capabilities"] for agent in printed["agents"]}
    assert capabilities["dba"] == ["no_file_edit", "no_task_create", "no_task_update"]
    assert capabilities["engineer"] == ["no_task_create", "no_shell_exec"]
    assert "release" in {skill["id"] for skill in printed["skills"]}


def test_the_manifest_is_as_shown() -> None:
    """Each value that the page shows of the manifest is in it: versions, a capability and a tag."""
    shown = json.loads(re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[-1])
    value = manifest(load(None))
    assert (shown["version"], shown["contract"]) == (value["version"], value["contract"])
    for kind, words in shown["vocabulary"].items():
        assert all(word in value["vocabulary"][kind] for word in words)


def test_wrong_name_is_reported_as_the_page_shows(example: Path) -> None:
    """A wrong name gives the error of the page; an agent without its own capability is refused, too."""
    path = example / ".nexus/agents/dba/meta.yml"
    path.write_text(path.read_text().replace("no_file_edit", "no_file_edti"))
    checked = nexus("catalog", "check", cwd=example)
    assert (checked.code, checked.err) == (1, SAID[1])
    assert nexus("catalog", "list", cwd=example).code == 1
    path.write_text(FILES["agents/dba/meta.yml"])
    (example / ".nexus/agents/engineer/meta.yml").write_text("id: engineer\ncapabilities: [no_shell_exec]\n")
    assert (
        "no_task_create is a restriction of the shipped agent engineer and cannot be removed"
        in nexus("catalog", "check", cwd=example).err
    )
