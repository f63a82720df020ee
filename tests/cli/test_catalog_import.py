"""`nexus-mcp catalog import`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from nexus_mcp.catalog.load import load
from tests.cli.support import nexus
from tests.support import Project

AGENT = """\
id: gardener
name: gardener
description: Prunes.
category: do
resume_tier: bounded
model_tier: standard
capabilities: [no_task_create]
task: Pruning
"""
SKILL = (
    "id: prune\nname: prune\ndescription: How to prune.\ntriggers: [prune]\nharness_docs_refs: [resume_invocation]\n"
)
BODY = "# Gardener\n\nCall `nx_task_list`, then {{skill_activation skill=prune}}.\n"
FILES = {
    "package.json": '{"name": "core", "version": "1.2.3"}',
    "agents/gardener/meta.yml": AGENT,
    "agents/gardener/body.md": BODY,
    "skills/prune/meta.yml": SKILL,
    "skills/prune/body.md": "# Prune\n",
    "vocabulary/tags.yml": "tags:\n  - id: plan\n  - id: m-gc\n  - id: prune\n",
}


def digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def manifest(**more: str) -> str:
    digests = {"gardener": digest(BODY), "prune": digest("# Prune\n"), **more}
    rows = [{"id": name, "body_hash": value} for name, value in digests.items()]
    return json.dumps({"nexus_core_version": "0.9.0", "agents": rows, "skills": rows})


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return write(tmp_path / "core", {**FILES, "manifest.json": manifest()})


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_package_becomes_the_projects_own(project: Project, package: Path) -> None:
    """The package's agents and skills are in the catalog, names without a counterpart are listed, and a second import
    changes nothing.
    """
    ran = nexus("catalog", "import", str(package), cwd=project.root)
    assert ran == (
        0,
        "created .nexus/agents/gardener\n"
        "created .nexus/skills/prune\n"
        "not mapped: agents/gardener: the field task\n"
        "not mapped: skills/prune: the tag [prune]\n"
        "not mapped: vocabulary/tags: the word prune\n"
        "2 entries made, 3 not mapped, 0 left out.\n",
        "",
    )
    catalog = load(str(project.root))
    agent, skill = catalog.agents["gardener"], catalog.skills["prune"]
    assert (agent["name"], agent["category"], agent["capabilities"]) == ("Gardener", "do", ["no_task_create"])
    assert (skill["manual_only"], skill["harness_notes"]) == (False, ["resume"])
    text = "# Gardener\n\nCall {{tool:task_list}}, then {{action:start_skill}} {{skill:prune}}.\n"
    assert catalog.body("agents", "gardener") == text
    assert (project.nexus / "agents/gardener/meta.yml").read_text(encoding="utf-8").startswith("# From core 1.2.3.\n")
    before = project.snapshot()
    value = json.loads(nexus("catalog", "import", str(package), "--json", cwd=project.root).out)
    assert {one["result"] for one in value["entries"]} == {"unchanged"}
    assert (value["name"], value["version"], len(value["unmapped"])) == ("core", "1.2.3", 3)
    assert project.snapshot() == before


def test_name_of_a_package_adds_no_line(project: Project, package: Path) -> None:
    """Name and version of a package are one comment of one line, whatever characters they have."""
    write(package, {"package.json": json.dumps({"name": "core\nmodel_tier: high\x1b[31m", "version": "1\n#"})})
    assert nexus("catalog", "import", str(package), cwd=project.root).code == 0
    lines = (project.nexus / "agents/gardener/meta.yml").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# From core model_tier: high[31m 1 #."
    assert "model_tier: standard" in lines
    assert not [line for line in lines[1:] if "31m" in line]


def test_dry_run_writes_nothing(project: Project, package: Path) -> None:
    """A dry run prints the files that an import would create."""
    ran = nexus("catalog", "import", str(package), "--dry-run", cwd=project.root)
    assert ran.out.startswith("would create .nexus/agents/gardener\n")
    assert ran.out.endswith("\n2 entries would be made, 3 not mapped, 0 left out.\n")
    assert not (project.nexus / "agents").exists()


def test_fields_are_read_from_front_matter(project: Project, tmp_path: Path) -> None:
    """Below spec/ the fields are in the front matter of the text, and there is no manifest."""
    root = write(
        tmp_path / "core",
        {"spec/agents/gardener/body.md": f"---\n{AGENT}---\n\n{BODY}", "spec/agents/gardener/body.ko.md": "x"},
    )
    ran = nexus("catalog", "import", str(root), cwd=project.root)
    assert ran.out.split("\n")[:2] == [
        "created .nexus/agents/gardener",
        "not mapped: spec/agents/gardener: the field task",
    ]
    assert load(str(project.root)).body("agents", "gardener").startswith("# Gardener\n\nCall {{tool:task_list}}")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"agents/gardener/body.md": "# Other\n"},
            "agents/gardener/body.md: does not match its digest in manifest.json",
        ),
        (
            {"manifest.json": manifest(prune=digest("x"))},
            "skills/prune/body.md: does not match its digest in manifest.json",
        ),
        ({"manifest.json": "{"}, "manifest.json: is not JSON"),
        ({"manifest.json": "[]"}, "manifest.json: is no object"),
        (
            {"manifest.json": '{"agents": [{}], "skills": []}'},
            "manifest.json: has no list of agents and skills with id",
        ),
        ({"package.json": "[]"}, "package.json: is no object"),
    ],
)
def test_package_that_was_changed_is_refused(
    project: Project, package: Path, changes: dict[str, str], fault: str
) -> None:
    """A text without the digest of the manifest ends the import, and nothing is written."""
    write(package, changes)
    before = project.snapshot()
    ran = nexus("catalog", "import", str(package), cwd=project.root)
    assert (ran.code, ran.err.startswith(f"nexus-mcp: {fault}")) == (1, True), ran.err
    assert project.snapshot() == before


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"agents/gardener/meta.yml": AGENT.replace("no_task_create", "no_user_question")},
            "its restriction no_user_q",
        ),
        ({"agents/gardener/meta.yml": AGENT.replace("category: do", "category: lead")}, "category lead has no counter"),
        (
            {"agents/gardener/meta.yml": AGENT.replace("model_tier: standard\n", "")},
            "model_tier is missing",
        ),
        ({"agents/gardener/meta.yml": AGENT.replace("[no_task_create]", "0")}, "its restriction 0 has no counter"),
        ({"agents/gardener/meta.yml": AGENT.replace("[no_task_create]", '""')}, "its restriction  has no counter"),
        ({"agents/gardener/meta.yml": "id: other\n"}, "its id is not the name of its folder"),
        ({"agents/gardener/meta.yml": "a: [\n"}, "agents/gardener/meta.yml:2:1: "),
        ({"manifest.json": manifest().replace("gardener", "x")}, "is not in manifest.json"),
    ],
)
def test_entry_that_cannot_be_used_is_left_out(
    project: Project, package: Path, files: dict[str, str], told: str
) -> None:
    """The reason is listed; above all no agent is allowed more than in its package."""
    write(package, files)
    ran = nexus("catalog", "import", str(package), cwd=project.root)
    assert ran.code == (1 if f"left out: agents/gardener: {told}" in ran.out else 0)
    assert told in ran.out
    assert not (project.nexus / "agents/gardener").exists()
    assert (project.nexus / "skills/prune").exists()


@pytest.mark.parametrize("option", ["", "--dry-run"])
def test_entry_that_the_project_could_not_use_is_left_out(project: Project, package: Path, option: str) -> None:
    """The others are imported, the reason is named, and the exit code is 1."""
    (package / "manifest.json").unlink()
    write(package, {"agents/Gardener_/meta.yml": AGENT.replace("id: gardener", "id: Gardener_")})
    write(package, {"agents/Gardener_/body.md": BODY})
    before = project.snapshot()
    ran = nexus("catalog", "import", str(package), *filter(None, [option]), cwd=project.root)
    assert (ran.code, ran.err) == (1, "")
    assert "left out: agents/Gardener_: .nexus/agents/Gardener_/" in ran.out
    assert ran.out.endswith(" 1 left out.\n")
    assert not (project.nexus / "agents/Gardener_").exists()
    assert (project.snapshot() == before) == bool(option)
    assert (project.nexus / "skills/prune/body.md").exists() != bool(option)


def test_shipped_agent_keeps_its_restrictions(project: Project, tmp_path: Path) -> None:
    """A package that allows it more does not, and a restriction without a counterpart is listed."""
    meta = "id: tester\nname: tester\ndescription: Tests.\ncapabilities: [no_shell_exec, no_subagent_spawn]\n"
    root = write(tmp_path / "core", {"agents/tester/meta.yml": meta, "agents/tester/body.md": "# T\n"})
    ran = nexus("catalog", "import", str(root), cwd=project.root)
    assert "not mapped: agents/tester: the restriction no_subagent_spawn\n" in ran.out
    tester = load(str(project.root)).agents["tester"]
    assert (tester["capabilities"], tester["added"]) == (["no_file_edit", "no_task_create"], ["no_shell_exec"])
    assert (tester["name"], tester["category"], tester["description"]) == ("Tester", "check", "Tests.")


def test_import_keeps_existing_files(project: Project, package: Path) -> None:
    """An entry with other files is kept, and an entry of an interrupted import is completed."""
    project.put("agents/gardener/meta.yml", AGENT.replace("task: Pruning\n", ""))
    project.put("agents/gardener/body.md", "# Mine\n")
    nexus("catalog", "import", str(package), cwd=project.root)
    (project.nexus / "skills/prune/body.md").unlink()
    ran = nexus("catalog", "import", str(package), cwd=project.root)
    kept = "not imported, because .nexus/agents/gardener exists and differs; move it away to import this entry"
    assert ran.out.split("\n")[:2] == [kept, "created .nexus/skills/prune"]
    assert project.get("agents/gardener/body.md") == b"# Mine\n"
    assert project.get("skills/prune/body.md") == b"# Prune\n"


def test_fault_of_the_project_ends_the_import(project: Project, package: Path) -> None:
    """A catalog that could not be used afterwards is not begun."""
    project.put("agents/other/meta.yml", "id: other\n")
    ran = nexus("catalog", "import", str(package), cwd=project.root)
    assert ran.code == 1
    assert ".nexus/agents/other/meta.yml" in ran.err
    assert not (project.nexus / "skills").exists()


@pytest.mark.parametrize("name", ["gone", "empty"])
def test_other_folders_are_no_package(project: Project, tmp_path: Path, name: str) -> None:
    """The message says which folder to name."""
    (tmp_path / "empty").mkdir()
    ran = nexus("catalog", "import", str(tmp_path / name), cwd=project.root)
    assert ran.code == (2 if name == "gone" else 1)
    assert "Name the folder " in ran.err


def test_links_are_not_followed(project: Project, package: Path) -> None:
    """A text outside the package is not read."""
    secret = write(package.parent, {"secret.md": "secret"}) / "secret.md"
    (package / "skills/prune/body.md").unlink()
    (package / "skills/prune/body.md").symlink_to(secret)
    ran = nexus("catalog", "import", str(package), cwd=project.root)
    assert "left out: skills/prune: " in ran.out
    assert ran.code == 1
    assert not (project.nexus / "skills").exists()
