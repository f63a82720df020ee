"""The tools of each harness that the restrictions of an agent deny (docs/capabilities.md)."""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus_mcp.catalog import capabilities, maps
from nexus_mcp.catalog.load import Catalog, load
from nexus_mcp.catalog.tool_files import entry_of, matches
from nexus_mcp.errors import UnknownEntry

HARNESSES = ("claude-code", "codex", "opencode")
# For each harness: a tool of each class, as the harness itself calls it.
TOOLS = {
    "claude-code": {
        "file_creation": "Write",
        "file_modification": "Edit",
        "file_deletion": "Write",
        "partial_file_edit": "Edit",
        "structured_document_edit": "NotebookEdit",
        "nexus_task_creation": "mcp__nexus__task_add",
        "nexus_task_state_transition": "mcp__nexus__task_update",
        "nexus_task_metadata_modification": "mcp__nexus__task_update",
        "shell_command_exec": "Bash",
        "subprocess_spawn": "Monitor",
        "interactive_shell_session": "Bash",
    },
    "codex": {
        "file_creation": "apply_patch",
        "file_modification": "apply_patch",
        "file_deletion": "apply_patch",
        "partial_file_edit": "apply_patch",
        "structured_document_edit": "apply_patch",
        "nexus_task_creation": "mcp__nexus__task_add",
        "nexus_task_state_transition": "mcp__nexus__task_update",
        "nexus_task_metadata_modification": "mcp__nexus__task_update",
        "shell_command_exec": "Bash",
        "subprocess_spawn": "exec_command",
        "interactive_shell_session": "write_stdin",
    },
    "opencode": {
        "file_creation": "write",
        "file_modification": "edit",
        "file_deletion": "apply_patch",
        "partial_file_edit": "edit",
        "structured_document_edit": "edit",
        "nexus_task_creation": "nexus_task_add",
        "nexus_task_state_transition": "nexus_task_update",
        "nexus_task_metadata_modification": "nexus_task_update",
        "shell_command_exec": "bash",
        "subprocess_spawn": "bash",
        "interactive_shell_session": "bash",
    },
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(None)


def test_maps_are_shipped_for_three_harnesses(catalog: Catalog) -> None:
    """Maps are shipped for Claude Code, Codex and OpenCode."""
    assert tuple(catalog.maps) == HARNESSES


@pytest.mark.parametrize("harness", HARNESSES)
def test_every_class_is_mapped(catalog: Catalog, harness: str) -> None:
    """Contract §5: every class of the vocabulary has at least one mapped tool; classes may share one."""
    classes = catalog.maps[harness]["classes"]
    assert set(classes) == set(maps.classes_of(catalog.vocabulary))
    assert [name for name, tools in classes.items() if not tools] == []
    found = {
        name: TOOLS[harness][name]
        for name in classes
        if name in capabilities.classes_of(catalog, TOOLS[harness][name], harness)
    }
    assert found == TOOLS[harness]


@pytest.mark.parametrize("harness", HARNESSES)
def test_reading_tools_are_in_no_class(catalog: Catalog, harness: str) -> None:
    """Contract §4: reading tools are never blocked, so the maps do not name one as anything else."""
    known = catalog.maps[harness]
    both = [(tool, name) for tool in known["reading"] for name in capabilities.classes_of(catalog, tool, harness)]
    assert both == []
    assert [tool for tool in known["editing"] if not capabilities.classes_of(catalog, tool, harness)] == []


def test_effective_is_canonical_and_added() -> None:
    """Contract §5: effective = canonical ∪ additions, each once."""
    agent = {"capabilities": ["no_task_create"], "added": ["no_shell_exec", "no_task_create"]}
    assert capabilities.all_capabilities(agent) == ["no_task_create", "no_shell_exec"]


def test_taking_a_canonical_one_away_is_refused() -> None:
    """Contract §5: taking a canonical one away is refused, with the reason."""
    assert capabilities.removal_fault("writer", "no_shell_exec", ["no_task_create"]) == ""
    assert capabilities.removal_fault("writer", "no_task_create", ["no_task_create"]) == (
        "no_task_create is a restriction of the shipped agent writer and cannot be removed"
    )


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize(
    ("agent", "kept_from"),
    [
        ("architect", ("no_file_edit", "no_task_create", "no_task_update")),
        ("designer", ("no_file_edit", "no_task_create", "no_task_update")),
        ("postdoc", ("no_file_edit", "no_task_create", "no_task_update")),
        ("strategist", ("no_file_edit", "no_task_create", "no_task_update")),
        ("engineer", ("no_task_create",)),
        ("writer", ("no_task_create",)),
        ("researcher", ("no_file_edit", "no_task_create")),
        ("tester", ("no_file_edit", "no_task_create")),
        ("reviewer", ("no_file_edit", "no_task_create")),
    ],
)
def test_each_agent_is_refused_the_classes_its_capabilities_block(
    catalog: Catalog, agent: str, kept_from: tuple[str, ...], harness: str
) -> None:
    """Contract §5, agents: a tool of a class that the agent's capabilities block is refused, any other is not."""
    blocked = {name for one in kept_from for name in catalog.vocabulary["capabilities"][one]["classes"]}
    refused = {
        name for name, tool in TOOLS[harness].items() if not capabilities.check_tool(catalog, agent, tool, harness)[0]
    }
    assert refused == blocked
    patterns = capabilities.forbidden_tools(catalog, agent, harness)
    assert {name for name, tool in TOOLS[harness].items() if any(matches(p, tool) for p in patterns)} == blocked
    assert len(patterns) == len(set(patterns))


@pytest.mark.parametrize(
    ("agent", "tool", "reason"),
    [
        (
            "architect",
            "Edit",
            "architect may not use Edit (no_file_edit: workspace_write_denial). Write down what has to change, file by "
            "file, and hand it to engineer or writer. What you found out yourself may go into an artifact.",
        ),
        (
            "engineer",
            "mcp__nexus__task_add",
            "engineer may not use mcp__nexus__task_add (no_task_create: task_pipeline_append_denial). End with the "
            "tasks that you propose, each with title, context, approach and acceptance; whoever leads the work adds "
            "them.",
        ),
        (
            "postdoc",
            "mcp__nexus__task_update",
            "postdoc may not use mcp__nexus__task_update (no_task_update: task_pipeline_mutate_denial). Say which task "
            "is in which state by your judgement, and why; whoever leads the work sets it.",
        ),
    ],
)
def test_the_reason_is_an_instruction(catalog: Catalog, agent: str, tool: str, reason: str) -> None:
    """Contract §4: the reason of a denial says what to do next, and which agent to hand the work to."""
    assert capabilities.check_tool(catalog, agent, tool, "claude-code") == (False, reason)


def test_reason_stays_one_short_line_for_any_name(catalog: Catalog) -> None:
    """A server may be called whatever its author liked: the reason stays one line, and short."""
    reason = capabilities.check_tool(catalog, "engineer", f"mcp__\n\u202e{'x' * 5000}__task_add", "claude-code")[1]
    assert reason.startswith('engineer may not use "mcp__\\n\\u202exxx')
    assert reason.isprintable()
    assert len(reason) < 600


@pytest.mark.parametrize(
    ("tool", "harness"),
    [
        ("mcp__nexus__task_add", "claude-code"),
        ("mcp__nexus__nx_task_add", "claude-code"),
        ("mcp__plugin_work_nexus__task_add", "claude-code"),
        ("mcp__work__nx_task_add", "claude-code"),
        ("mcp__plugin_a_nexus__nx_task_add", "claude-code"),
        ("mcp__work__nxtask_add", "claude-code"),
        ("mcp__work__nx_task_add", "codex"),
        ("nexus_task_add", "opencode"),
        ("nexus_nx_task_add", "opencode"),
        ("mine_task_add", "opencode"),
        ("nexus_nxtask_add", "opencode"),
    ],
)
def test_wildcards_match_tools_under_any_mount_name(catalog: Catalog, tool: str, harness: str) -> None:
    """However the server was mounted, and with whatever prefix."""
    assert capabilities.check_tool(catalog, "engineer", tool, harness)[0] is False
    assert capabilities.classes_of(catalog, tool, harness) == ["nexus_task_creation"]
    update, of = tool.replace("task_add", "task_update"), ["state_transition", "metadata_modification"]
    assert capabilities.check_tool(catalog, "architect", update, harness)[0] is False
    assert capabilities.classes_of(catalog, update, harness) == [f"nexus_task_{name}" for name in of]


@pytest.mark.parametrize(
    "tool", ["Read", "Grep", "mcp__nexus__task_list", "mcp__nexus__artifact_write", "Agent", "", "x" * 5_000_000]
)
def test_other_tools_are_allowed(catalog: Catalog, tool: str) -> None:
    """A tool in none of the classes that the agent's capabilities forbid is allowed."""
    assert capabilities.check_tool(catalog, "architect", tool, "claude-code") == (True, "")


@pytest.mark.parametrize("harness", ["nexus-mcp", "another"])
def test_without_a_map_nothing_is_known_by_name(catalog: Catalog, harness: str) -> None:
    """A harness without a map: nothing is mapped, and nothing denied."""
    assert capabilities.forbidden_tools(catalog, "architect", harness) == []
    assert capabilities.check_tool(catalog, "architect", "Write", harness) == (True, "")


def test_an_unknown_agent_names_the_nearest(catalog: Catalog) -> None:
    """Bad input: an unknown agent lists the near names."""
    with pytest.raises(UnknownEntry, match=r"There is no agent \"architct\". Did you mean architect"):
        capabilities.check_tool(catalog, "architct", "Write", "claude-code")


PATTERNS = st.text("ab*_", max_size=8)


@settings(deadline=None, derandomize=True, database=None, max_examples=1000)
@given(PATTERNS, st.text("ab_", max_size=12))
def test_patterns_match_as_in_a_shell(pattern: str, name: str) -> None:
    """`*` alone is special, as fnmatch has it."""
    assert matches(pattern, name) is fnmatchcase(name, pattern)


def test_a_name_comes_before_a_pattern() -> None:
    """A table uses the entry with the tool's exact name, else the first pattern that matches."""
    table = {"a*": 1, "*b": 2, "ab": 3}
    assert [entry_of(table, name) for name in ("ab", "aab", "bb", "c")] == [3, 1, 2, None]


def test_rules_import_no_heavy_module() -> None:
    """The rules load neither yaml, re nor json, nor typing: a hook starts with them."""
    code = (
        "import sys; import nexus_mcp.catalog.capabilities, nexus_mcp.catalog.tool_files, nexus_mcp.catalog.resume\n"
        "print(sorted({'yaml', 're', 'json', 'typing', 'fnmatch', 'ruamel', 'difflib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert done.stdout.strip() == "[]"
