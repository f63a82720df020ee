"""A project's .nexus/capability-map.yml changes the shipped maps and adds maps."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.catalog import capabilities, maps, tool_files
from nexus_mcp.catalog.load import load
from nexus_mcp.errors import CatalogError
from nexus_mcp.tools import TOOLS
from tests.catalog.files import own_faults, put

OWN_MAP = """\
claude-code:
  classes:
    shell_command_exec: [Bash, mcp__term__run]
  editing: {mcp__docs__save: target}
  nexus_tools: mcp__work__nx_*
"""


def test_a_map_of_the_project_wins(tmp_path: Path) -> None:
    """A class in the project's map replaces the shipped tools of that class; all other classes stay."""
    put(
        tmp_path / ".nexus",
        {
            "capability-map.yml": OWN_MAP,
            "agents/writer/meta.yml": "id: writer\ncapabilities: [no_task_create, no_shell_exec]\n",
        },
    )
    shipped, own = load(None).maps, load(str(tmp_path))
    assert own.maps["claude-code"]["classes"] == {
        **shipped["claude-code"]["classes"],
        "shell_command_exec": ["Bash", "mcp__term__run"],
    }
    assert own.maps["claude-code"]["editing"] == {**shipped["claude-code"]["editing"], "mcp__docs__save": "target"}
    assert own.maps["claude-code"]["reading"] == shipped["claude-code"]["reading"]
    assert own.maps["claude-code"]["nexus_tools"] == "mcp__work__nx_*"
    assert own.maps["codex"] == shipped["codex"]
    refused, reason = capabilities.check_tool(own, "writer", "mcp__term__run", "claude-code")
    assert (refused, reason.split(". ")[1]) == (
        False,
        "Write down the command and what you expect of it, and hand it to engineer or researcher.",
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "codex:\n  classes:\n    file_creation: []\n",
            ".nexus/capability-map.yml:3:5: the class file_creation has no tool, so it forbids nothing; name at "
            "least one tool",
        ),
        (
            "codex:\n  classes:\n    file_creatoin: [a]\n",
            '.nexus/capability-map.yml:3:5: there is no semantic class "file_creatoin"; did you mean file_creation?',
        ),
        (
            "codex:\n  classes:\n    file_creation: [view_image]\n",
            ".nexus/capability-map.yml:3:21: view_image is also under reading, and tools there are never refused; "
            "remove it from one of the two",
        ),
        (
            "Codex: {}\n",
            ".nexus/capability-map.yml:1:1: The harness id 'Codex' is not usable: a harness id starts with a-z and "
            "goes on with a-z, 0-9 and -.",
        ),
        (
            "codex:\n  nexus_tools: '*'\n  reading: [view_image, 'apply*']\n",
            ".nexus/capability-map.yml:3:25: apply_patch is also under reading, and tools there are never refused; "
            "remove it from one of the two",
        ),
        ("", ".nexus/capability-map.yml: is empty"),
        ("# nothing yet\n", ".nexus/capability-map.yml: is empty"),
        ("codex:\n  clases: {}\n", ".nexus/capability-map.yml:2:3: codex/clases is not a known field"),
        ("codex: [\n", ".nexus/capability-map.yml:2:1: while parsing a flow node: did not find expected node content"),
    ],
)
def test_broken_map_is_reported_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    """Bad input: a map without a class, and others, with file, line and column."""
    put(tmp_path / ".nexus", {"capability-map.yml": text})
    assert own_faults(tmp_path) == [told]
    with pytest.raises(CatalogError):
        load(str(tmp_path))


def test_a_map_of_another_harness_is_whole(tmp_path: Path) -> None:
    """Nothing is shipped for it, so every class has to have a tool."""
    put(tmp_path / ".nexus", {"capability-map.yml": "mine:\n  classes: {file_creation: [save]}\n"})
    found = [fault.split("the class ")[1].split(" has")[0] for fault in own_faults(tmp_path)]
    assert found == [name for name in maps.classes_of(load(None).vocabulary) if name != "file_creation"]


def test_the_naming_of_the_server_is_of_its_classes(tmp_path: Path) -> None:
    """The names that nexus_tools gives task_add and task_update are forbidden with their classes, whatever the classes
    list.
    """
    text = (
        "claude-code:\n  classes: {nexus_task_creation: [add_work]}\n  nexus_tools: work-*\ncodex: {nexus_tools: '*'}\n"
    )
    put(tmp_path / ".nexus", {"capability-map.yml": text})
    own = load(str(tmp_path))
    refused = [
        (tool, harness)
        for harness in ("claude-code", "codex")
        for tool in ("add_work", "work-task_add", "work-task_update", "work-task_list", "task_add")
        if not capabilities.check_tool(own, "architect", tool, harness)[0]
    ]
    assert refused == [
        ("add_work", "claude-code"),
        ("work-task_add", "claude-code"),
        ("work-task_update", "claude-code"),
        ("task_add", "codex"),
    ]
    assert capabilities.tools_of(own, "no_task_create", "claude-code") == ["add_work", "work-task_add"]


def test_the_naming_of_the_server_is_no_reading(tmp_path: Path) -> None:
    """Bad input: a list of reading tools that contains the server's tools would allow them to every agent."""
    put(
        tmp_path / ".nexus",
        {"capability-map.yml": "codex:\n  reading: ['work-*']\n  nexus_tools: work-*\n"},
    )
    classes = maps.classes_of(load(None).vocabulary)
    restricted = dict.fromkeys(tool.name for name in classes for tool in TOOLS if name in tool.classes)
    assert {"task_add", "task_update"} <= restricted.keys()
    assert own_faults(tmp_path) == [
        f".nexus/capability-map.yml:2:13: work-{tool} is also under reading, and tools there are never refused; "
        "remove it from one of the two"
        for tool in restricted
    ]


MOUNTS = {
    "claude-code": [
        "mcp__nexus__",
        "mcp__plugin_nexus_nexus__",
        "mcp__plugin_team_work__nx_",
        "mcp__work__",
        "mcp__nexus__nx_",
    ],
    "codex": ["mcp__nexus__", "mcp__work__", "mcp__nexus__nx_"],
    "opencode": ["nexus_", "work_", "nexus_nx_"],
}

NEXUS = {
    "claude-code": ("mcp__nexus__", "mcp__plugin_nexus_nexus__"),
    "codex": ("mcp__nexus__",),
    "opencode": ("nexus_",),
}


@pytest.mark.parametrize(("harness", "mount"), [(harness, mount) for harness in MOUNTS for mount in MOUNTS[harness]])
def test_our_tools_are_of_their_classes_under_every_mount(harness: str, mount: str) -> None:
    """Fault 9: a plugin, another server name or a prefix takes no restriction away, and refuses no tool that reads."""
    catalog = load(None)
    for tool in TOOLS:
        known = capabilities.classes_of(catalog, mount + tool.name, harness)
        assert known == [name for name in maps.classes_of(catalog.vocabulary) if name in tool.classes], tool.name
        # Under another name with a prefix any tool could end so, also one that writes.
        if tool.read_only and (
            mount.startswith(NEXUS[harness]) or (tool.name != "context" and not mount.endswith("nx_"))
        ):
            assert tool_files.only_reads(catalog.maps[harness], mount + tool.name), tool.name


def test_codex_resumes_and_waits_in_both_versions() -> None:
    """Fault 7: the map has the tool names that Codex's hooks report, with the namespace in front, and the parameter
    with the handle.
    """
    known = load(None).maps["codex"]
    assert known["resuming"]["collaborationfollowup_task"] == "target"
    assert known["resuming"]["multi_agent_v1send_input"] == known["resuming"]["send_input"] == "target"
    assert "collaborationsend_message" not in known["resuming"]
    assert {"collaborationwait_agent", "multi_agent_v1wait_agent", "wait_agent"} <= set(known["reading"])
    assert not {"collaborationspawn_agent", "spawn_agent"} & set(known["reading"])
