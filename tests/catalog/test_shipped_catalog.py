"""The shipped catalog is complete, consistent, and the same in YAML and in catalog.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nexus_mcp import __version__, schemas
from nexus_mcp.catalog import capabilities, placeholders
from nexus_mcp.catalog.building import build_json
from nexus_mcp.catalog.load import load
from nexus_mcp.catalog.manifest import manifest
from nexus_mcp.catalog.maps import classes_of
from nexus_mcp.catalog.sources import SHIPPED_NAME
from nexus_mcp.catalog.tool_files import only_reads, own_name
from nexus_mcp.cli import COMMANDS
from nexus_mcp.cli.options import Command
from nexus_mcp.cli.workspace_options import HARNESS_ID
from nexus_mcp.packaged import data_path
from nexus_mcp.tools import TOOLS
from nexus_mcp.tools.definition import CLASSES
from tests.catalog.files import AGENT, assets, shipped_faults

HOW, DO, CHECK = "how", "do", "check"
EDIT, CREATE, UPDATE = "no_file_edit", "no_task_create", "no_task_update"
# docs/agents.md: category, resume tier, model tier, capabilities.
AGENTS = {
    "architect": (HOW, "persistent", "high", [EDIT, CREATE, UPDATE]),
    "designer": (HOW, "persistent", "high", [EDIT, CREATE, UPDATE]),
    "engineer": (DO, "bounded", "standard", [CREATE]),
    "postdoc": (HOW, "persistent", "high", [EDIT, CREATE, UPDATE]),
    "researcher": (DO, "persistent", "standard", [EDIT, CREATE]),
    "reviewer": (CHECK, "ephemeral", "standard", [EDIT, CREATE]),
    "strategist": (HOW, "persistent", "high", [EDIT, CREATE, UPDATE]),
    "tester": (CHECK, "ephemeral", "standard", [EDIT, CREATE]),
    "writer": (DO, "bounded", "standard", [CREATE]),
}
CAPABILITIES = {
    EDIT: (
        "workspace_write_denial",
        ["file_creation", "file_modification", "file_deletion", "partial_file_edit", "structured_document_edit"],
    ),
    CREATE: ("task_pipeline_append_denial", ["nexus_task_creation"]),
    UPDATE: ("task_pipeline_mutate_denial", ["nexus_task_state_transition", "nexus_task_metadata_modification"]),
    "no_shell_exec": (
        "shell_execution_denial",
        ["shell_command_exec", "subprocess_spawn", "interactive_shell_session"],
    ),
}


def test_catalog_json_is_current() -> None:
    """catalog.json, which hooks and servers read, equals the files beside it; `make catalog` writes it."""
    current = Path(data_path("assets", SHIPPED_NAME)).read_text(encoding="utf-8")
    assert current == build_json(), "assets/catalog.json is not current: run make catalog"


def test_agents_are_those_of_the_contract() -> None:
    """Contract §5, agents: category, resume tier, model tier and capabilities of all nine."""
    fields = ("category", "resume_tier", "model_tier", "capabilities")
    assert {name: tuple(agent[f] for f in fields) for name, agent in load(None).agents.items()} == AGENTS


def test_capabilities_are_those_of_the_contract() -> None:
    """Contract §5, capabilities: the reason and the classes that each of them blocks."""
    found = load(None).vocabulary["capabilities"]
    assert {name: (one["reason"], one["classes"]) for name, one in found.items()} == CAPABILITIES


def test_skills_and_tags_are_those_of_the_contract() -> None:
    """Contract §5, skills and tags: nx-init alone is manual; nx-plan and nx-run need the resume notes."""
    catalog = load(None)
    assert {name: (one["manual_only"], one["harness_notes"]) for name, one in catalog.skills.items()} == {
        "nx-init": (True, []),
        "nx-plan": (False, ["resume"]),
        "nx-run": (False, ["resume"]),
        "nx-sync": (False, []),
    }
    tags = catalog.vocabulary["tags"]
    assert {name: tag.get("skill") or tag["action"] for name, tag in tags.items()} == {
        "plan": "nx-plan",
        "run": "nx-run",
        "sync": "nx-sync",
        "d": "plan_decide",
        "m": "memory_store",
        "rule": "rule_store",
    }
    assert {name: list(tag["variants"]) for name, tag in tags.items() if tag["variants"]} == {
        "plan": ["auto"],
        "m": ["gc"],
    }
    assert [name for name, tag in tags.items() if tag.get("any_variant")] == ["d", "rule"]


def test_tiers_and_categories_are_those_of_the_contract() -> None:
    """Contract §5, resume tiers and categories."""
    vocabulary = load(None).vocabulary
    assert list(vocabulary["resume_tiers"]) == ["ephemeral", "bounded", "persistent"]
    assert list(vocabulary["categories"]) == ["how", "do", "check"]


def test_maps_derive_the_classes_of_our_tools() -> None:
    """Each tool is in exactly the classes that it declares, under each harness's name for it; reading ones read."""
    catalog = load(None)
    of_vocabulary = classes_of(catalog.vocabulary)
    for harness, known in catalog.maps.items():
        for tool in TOOLS:
            name = own_name(known["nexus_tools"], tool.name)
            found = capabilities.classes_of(catalog, name, harness)
            assert found == [one for one in of_vocabulary if one in tool.classes], (harness, tool.name)
            assert only_reads(known, name) == tool.read_only, (harness, tool.name)


def test_classes_of_our_tools_are_those_of_the_vocabulary() -> None:
    """A class of the vocabulary about nexus-mcp is one that a tool can declare."""
    assert {name for name in classes_of(load(None).vocabulary) if name.startswith("nexus_")} <= CLASSES.keys()


def test_commands_in_placeholders_exist() -> None:
    """The commands in placeholders exist, and those of a harness have the option that is appended to them."""
    for name in placeholders.COMMANDS:
        command = COMMANDS[name]()
        assert isinstance(command, Command)
        assert name not in placeholders.OF_A_HARNESS or HARNESS_ID in command.options
    assert placeholders.command("brief", "codex") == "nexus-mcp brief --harness-id codex"
    assert placeholders.command("doctor", "codex") == "nexus-mcp doctor"


def test_the_manifest_keeps_its_schema() -> None:
    """Contract §5, manifest: an entry for each agent and skill, with the digest of its text."""
    value = manifest(load(None))
    assert schemas.faults(schemas.load("catalog/manifest"), value) == []
    assert [agent["id"] for agent in value["agents"]] == sorted(AGENTS)
    assert (value["version"], value["contract"]) == (__version__, "0.12")
    blocked = {one["id"]: (one["reason"], one["classes"]) for one in value["vocabulary"]["capabilities"]}
    assert blocked == CAPABILITIES
    tags = {one["id"]: one for one in value["vocabulary"]["tags"]}
    assert tags["plan"]["variants"][0]["skill"] == tags["plan"]["skill"] == "nx-plan"
    assert [(one["id"], one["action"]) for one in tags["m"]["variants"]] == [("gc", "memory_gc")]
    assert [name for name, tag in tags.items() if tag["any_variant"]] == ["d", "rule"]
    assert json.loads(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"agents/engineer/meta.yml": AGENT.format(id="engineer").replace("no_task_create", "no_task_creat")},
            [
                "assets/agents/engineer/meta.yml:7:16: "
                "there is no capability 'no_task_creat'; did you mean no_task_create?"
            ],
        ),
        (
            {"agents/engineer/meta.yml": AGENT.format(id="engineer").replace("bounded", "boundless")},
            [
                "assets/agents/engineer/meta.yml:5:1: "
                "resume_tier 'boundless' is not in the vocabulary; did you mean bounded?"
            ],
        ),
        (
            {"agents/engineer/meta.yml": AGENT.format(id="enginer")},
            ["assets/agents/engineer/meta.yml:1:1: the id must be the name of its folder, engineer"],
        ),
        ({"agents/engineer/body.md": None}, ["assets/agents/engineer/body.md: is missing"]),
        ({"agents/engineer/body.md": " \n"}, ["assets/agents/engineer/body.md: is empty"]),
        ({"agents/engineer/body.md": b"a\n\xff"}, ["assets/agents/engineer/body.md:2:1: not UTF-8"]),
        ({"vocabulary/tags.yml": None}, ["assets/vocabulary/tags.yml: is missing"]),
        (
            {"agents/engineer/body.md": "One\n  {{tool:plan_decid}} {{agent}} {{thing:x}} {{"},
            [
                "assets/agents/engineer/body.md:2:3: there is no tool 'plan_decid'; did you mean plan_decide?",
                "assets/agents/engineer/body.md:2:23: a placeholder is {{kind:id}}, e.g. {{tool:plan_decide}}",
                "assets/agents/engineer/body.md:2:33: "
                "'thing' is no kind of placeholder; the kinds are tool, agent, skill, action, command",
                "assets/agents/engineer/body.md:2:45: a placeholder is {{kind:id}}, e.g. {{tool:plan_decide}}",
            ],
        ),
        (
            {"vocabulary/tags.yml": "x:\n  kind: skill\n  skill: nx-pla\n  description: D\n  variants: {}\n"},
            ["assets/vocabulary/tags.yml:3:3: there is no skill 'nx-pla'; did you mean nx-plan?"],
        ),
        (
            {"vocabulary/tags.yml": "x:\n  kind: action\n  description: D\n  variants: {}\n"},
            ["assets/vocabulary/tags.yml:1:1: a tag of the kind action needs the field action"],
        ),
    ],
)
def test_a_fault_has_its_file_line_and_column(tmp_path: Path, changes: dict[str, str | None], told: list[str]) -> None:
    """Unknown names in a file, a missing file, and a text that is not UTF-8."""
    assert shipped_faults(assets(tmp_path, changes)) == told


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    """One run reports the faults of all files."""
    root = assets(tmp_path, {"agents/engineer/meta.yml": "id: engineer\n", "skills/nx-run/meta.yml": "id: [\n"})
    told = shipped_faults(root)
    assert [fault.split(":")[0] for fault in told] == ["assets/agents/engineer/meta.yml"] * 6 + [
        "assets/skills/nx-run/meta.yml"
    ]
