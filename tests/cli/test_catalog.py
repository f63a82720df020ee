"""`nexus-mcp catalog`: list, show, check, manifest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from nexus_mcp import schemas
from nexus_mcp.catalog.load import load
from nexus_mcp.cli import main
from nexus_mcp.packaged import data_path
from tests.catalog.files import AGENT, SKILL, put

OWN = {"agents/gardener/meta.yml": AGENT.format(id="gardener"), "agents/gardener/body.md": "Prune \x1b[31mwell.\n"}


def ran(capsys: pytest.CaptureFixture[str], project: Path, *words: str) -> tuple[int, str, str]:
    code = main(["catalog", *words, "--project", str(project)])
    return (code, *capsys.readouterr())


def test_list_has_every_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each agent and skill is listed with its purpose, wrapped for a terminal; the project's own entries are marked."""
    put(tmp_path / ".nexus", OWN)
    code, out, err = ran(capsys, tmp_path, "list")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert (lines[0], max(map(len, lines)) <= 80) == ("Agents:", True)
    starts = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    catalog = load(str(tmp_path))
    assert starts == [*sorted(catalog.agents), *sorted(catalog.skills)]
    flat = " ".join(out.split())
    assert [entry["id"] for entry in catalog.agents.values() if entry["description"] not in flat] == []
    own = [line.split() for line in lines if line.endswith("(of this project)")]
    assert [words[:4] for words in own] == [["gardener", "do,", "bounded,", "standard"]]
    assert [line.split()[0] for line in lines if "only by hand" in line] == ["nx-init"]


def test_list_says_how_a_skill_is_started_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A skill that no agent may choose is a prompt, and has a tag only where the vocabulary has one."""
    told = "{0} starts {1}as the prompt {0}, in Claude Code /mcp__nexus__{0}, and is offered to no agent."
    assert " ".join(ran(capsys, tmp_path, "list")[1].rpartition("\n\n")[2].split()) == told.format("nx-init", "")
    put(tmp_path / ".nexus", {"skills/nx-sync/meta.yml": "id: nx-sync\nmanual_only: true\n"})
    code, out, _ = ran(capsys, tmp_path, "list")
    assert (code, " ".join(out.rpartition("\n\n")[2].split())) == (0, told.format("nx-sync", "with [sync] or "))


@pytest.mark.requirement("tags.manual-only")
def test_list_shows_the_skills_that_an_agent_may_choose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The list for automatic selection has every skill except the manual-only ones, the project's skills too."""
    put(tmp_path / ".nexus", {"skills/nx-sync/meta.yml": "id: nx-sync\nmanual_only: true\n"})
    code, out, err = ran(capsys, tmp_path, "list", "--selectable")
    skills = json.loads(out)["skills"]
    assert (code, err, [skill["id"] for skill in skills]) == (0, "", ["nx-plan", "nx-run"])
    assert all(skill.keys() == {"id", "name", "description"} and skill["description"] for skill in skills)


def test_show_has_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`show` prints the fields, then the text, and no raw control character."""
    put(tmp_path / ".nexus", OWN)
    code, out, _ = ran(capsys, tmp_path, "show", "gardener")
    digest = hashlib.sha256(OWN["agents/gardener/body.md"].encode()).hexdigest()
    assert code == 0
    assert out.splitlines() == [
        "Name",
        "  id            gardener",
        "  description   When to choose it.",
        "  category      do",
        "  resume_tier   bounded",
        "  model_tier    standard",
        "  capabilities  no_task_create",
        "  origin        project",
        f"  body_hash     sha256:{digest}",
        "",
        "Prune \\x1b[31mwell.",
    ]
    code, out, _ = ran(capsys, tmp_path, "show", "nx-plan")
    assert (code, "  manual_only   no" in out) == (0, True)
    assert ran(capsys, tmp_path, "show", "nx-pla") == (
        1,
        "",
        'nexus-mcp: There is no agent or skill "nx-pla". Did you mean nx-plan?\n',
    )


def test_show_replaces_placeholders_for_a_harness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --harness-id the text names tools and commands as that harness needs them."""
    code, out, err = ran(capsys, tmp_path, "show", "nx-run", "--harness-id", "opencode")
    assert (code, err, "{{" in out) == (0, "", False)
    assert "`nexus_task_list`" in out
    assert "brief --harness-id opencode" in out
    assert "{{tool:task_list}}" in ran(capsys, tmp_path, "show", "nx-run")[1]
    assert "There is no capability map of mine" in ran(capsys, tmp_path, "show", "nx-run", "--harness-id", "mine")[2]


def test_show_has_both_of_one_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An agent and a skill may have the same id."""
    own = {"skills/gardener/meta.yml": SKILL.format(id="gardener"), "skills/gardener/body.md": "Dig.\n"}
    put(tmp_path / ".nexus", {**OWN, **own})
    code, out, _ = ran(capsys, tmp_path, "show", "gardener")
    lines = out.splitlines()
    assert (code, lines.count("Name"), lines.count("  id            gardener")) == (0, 2, 2)
    kinds = [line.split()[0] for line in lines if line.startswith(("  category", "  manual_only"))]
    assert (kinds, lines[10:12], lines[-1]) == (["category", "manual_only"], ["Prune \\x1b[31mwell.", ""], "Dig.")


def test_check_counts_shipped_and_own_entries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`check` prints the number of shipped and of own entries."""
    put(tmp_path / ".nexus", OWN)
    assert ran(capsys, tmp_path, "check") == (
        0,
        "shipped: 9 agents, 4 skills, 3 capability maps\n"
        "this project: 1 agent, 0 skills, 0 capability maps\n"
        "Nothing is wrong with these agents, skills and maps.\n",
        "",
    )


def test_check_reports_every_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each fault has a line with its place and the next step; the exit code is 1."""
    put(tmp_path / ".nexus", {"agents/gardener/meta.yml": AGENT.format(id="gardener").replace("bounded", "bound")})
    code, _, err = ran(capsys, tmp_path, "check")
    assert (code, err.splitlines()) == (
        1,
        [
            "nexus-mcp: .nexus/agents/gardener/body.md: is missing",
            "nexus-mcp: .nexus/agents/gardener/meta.yml:5:1: resume_tier 'bound' is not in the vocabulary; "
            "did you mean bounded?",
            "nexus-mcp: Correct it, then run nexus-mcp catalog check.",
        ],
    )


def test_check_takes_a_link_for_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link is a fault, and the message of this reading command does not mention changes."""
    told = (
        "nexus-mcp: .nexus: is a symbolic link where a folder belongs\n"
        "nexus-mcp: Correct it, then run nexus-mcp catalog "
    )
    (tmp_path / ".nexus").symlink_to(tmp_path)
    assert ran(capsys, tmp_path, "check")[::2] == (1, f"{told}check.\n")
    assert ran(capsys, tmp_path, "list") == (1, "", f"{told}check.\n")


def test_manifest_keeps_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The manifest has the effective capabilities, and digests of the texts on disk."""
    put(tmp_path / ".nexus", {"agents/writer/meta.yml": "id: writer\ncapabilities: [no_task_create, no_shell_exec]\n"})
    code, out, _ = ran(capsys, tmp_path, "manifest")
    value = json.loads(out)
    assert (code, schemas.faults(schemas.load("catalog/manifest"), value)) == (0, [])
    writer = next(agent for agent in value["agents"] if agent["id"] == "writer")
    body = Path(data_path("assets", "agents", "writer", "body.md")).read_bytes()
    assert writer["capabilities"] == ["no_task_create", "no_shell_exec"]
    assert writer["body_hash"] == f"sha256:{hashlib.sha256(body).hexdigest()}"
