"""pre_tool_use: which agent may use which tool, and when files may be edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.catalog.maps import classes_of
from nexus_mcp.catalog.tool_files import SHELL_CLASSES
from tests.lifecycle.support import Teller, put
from tests.support import Json, Project, task, tasks, without_lock

CLAUDE = {"harness_id": "claude-code"}
EDIT: dict[str, Json] = {**CLAUDE, "tool": "Edit", "tool_input": {"file_path": "src/a.py"}}
TASKS = ".nexus/state/tasks.json"
TRACKER = ".nexus/state/claude-code/agent-tracker.json"
GATE = 'There is no task list, and "Edit" would change "src/a.py": files are edited for a task. '
FIRST = GATE + (
    "First add one with task_add, with title, context and acceptance, then use the tool again; if it is not "
    "decided yet what to do, begin with plan_start. Notes below .nexus/ need none."
)
HAND_OVER = GATE + (
    "You add no tasks yourself: end here, and tell the lead which task is missing, with title, context "
    "and acceptance. Notes below .nexus/ need none."
)


def decision(tell: Teller, **params: Json) -> Json:
    return tell("pre_tool_use", **params)["decision"]


def edits(path: str) -> dict[str, Json]:
    return {**CLAUDE, "tool": "Write", "tool_input": {"file_path": path}}


@pytest.mark.requirement("pre_tool_use.gate", "pre_tool_use.reason")
def test_edit_without_tasks_is_blocked(tell: Teller, project: Project) -> None:
    """A file-editing tool without tasks.json is blocked, with the next step; with tasks.json it may run."""
    assert tell("pre_tool_use", **EDIT) == {
        "event": "pre_tool_use",
        "harness_id": "claude-code",
        "decision": "block",
        "reason": FIRST,
        "warnings": [],
    }
    assert not project.nexus.exists()
    put(project, TASKS, tasks(task(1)))
    assert tell("pre_tool_use", **EDIT) == {
        "event": "pre_tool_use",
        "harness_id": "claude-code",
        "decision": "allow",
        "warnings": [],
    }


@pytest.mark.requirement("pre_tool_use.reason")
def test_agent_without_task_add_gets_the_agent_to_ask(tell: Teller) -> None:
    """The denial for an agent that may not add tasks names the agent to ask, and does not say to add one."""
    tell("agent_spawn", **CLAUDE, agent_name="engineer", agent_id="e1")
    assert tell("pre_tool_use", **EDIT, agent_id="e1")["reason"] == HAND_OVER


@pytest.mark.requirement("pre_tool_use.broken")
@pytest.mark.parametrize("content", ["{", "", b"\xff", "[]", {"tasks": 5}])
def test_unreadable_task_list_blocks_no_edit(tell: Teller, project: Project, content: Json) -> None:
    """A tasks.json that cannot be used counts as there, and stays."""
    before = put(project, TASKS, content)
    assert decision(tell, **EDIT) == "allow"
    assert (project.root / TASKS).read_bytes() == before


@pytest.mark.requirement("pre_tool_use.broken")
@pytest.mark.parametrize("place", [TASKS, ".nexus/state", ".nexus"])
def test_link_on_the_way_to_tasks_blocks_no_edit(tell: Teller, project: Project, place: str) -> None:
    """A link on the way to tasks.json blocks no edit."""
    link = project.root / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(project.root / "nowhere")
    assert decision(tell, **EDIT) == "allow"


@pytest.mark.requirement("pre_tool_use.reading")
@pytest.mark.parametrize("harness", ["claude-code", "codex", "opencode"])
def test_reading_tools_are_never_blocked(tell: Teller, harness: str) -> None:
    """Reading tools are never blocked, for no agent and without tasks, whatever class they were put into."""
    catalog = load(None)
    tools = [name.replace("*", "x") for name in catalog.maps[harness]["reading"]]
    asked = [(tool, agent) for tool in tools for agent in (None, *catalog.agents)]
    seen = [decision(tell, harness_id=harness, tool=tool, agent_name=agent) for tool, agent in asked]
    assert seen == ["allow"] * len(asked)


@pytest.mark.requirement("pre_tool_use.capabilities")
@pytest.mark.parametrize("harness", ["claude-code", "codex", "opencode"])
def test_forbidden_tool_is_denied_with_reason(tell: Teller, project: Project, harness: str) -> None:
    """Each agent is denied each tool of the map that its capabilities forbid, with the reason."""
    put(project, TASKS, tasks(task(1)))
    catalog = load(None)
    known = catalog.maps[harness]
    for agent in catalog.agents.values():
        closed = [name for one in agent["capabilities"] for name in catalog.vocabulary["capabilities"][one]["classes"]]
        for tool in (name for one in closed for name in known["classes"][one] if "*" not in name):
            answer = tell("pre_tool_use", harness_id=harness, tool=tool, agent_name=agent["id"])
            assert answer["decision"] == "deny"
            assert answer["reason"].startswith(f"{agent['id']} may not use {tool} (")


@pytest.mark.requirement("pre_tool_use.who")
def test_agent_is_resolved_by_id_and_payload(tell: Teller, project: Project) -> None:
    """The agent's name comes from the tracker by its id, and from the payload; an agent without a name may be any."""
    put(project, TASKS, tasks(task(1)))
    tell("agent_spawn", **CLAUDE, agent_name="architect", agent_id="a1")
    assert decision(tell, **EDIT, agent_id="a1") == "deny"
    assert decision(tell, **EDIT, agent_id="a1", agent_name="engineer") == "deny"
    assert decision(tell, **EDIT, agent_id="a2", agent_name="architect") == "deny"
    assert decision(tell, **EDIT, agent_name="architect") == "deny"
    assert decision(tell, **EDIT, agent_id="a2") == "deny"
    assert decision(tell, **EDIT, agent_name="The Explorer") == "allow"
    assert decision(tell, **EDIT) == "allow"


@pytest.mark.requirement("pre_tool_use.who", "agents.broken")
def test_broken_tracker_leaves_the_name_to_the_payload(tell: Teller, project: Project) -> None:
    """A tracker broken by hand is reported; the payload then names the agent, or the agent may be any."""
    put(project, TASKS, tasks(task(1)))
    before = put(project, TRACKER, '[{"agent_id": "a1"}]')
    answer = tell("pre_tool_use", **EDIT, agent_id="a1", agent_name="architect")
    assert (answer["decision"], len(answer["warnings"])) == ("deny", 1)
    assert answer["warnings"][0].startswith("The tracker entry of the agent could not be read: ")
    answer = tell("pre_tool_use", **EDIT, agent_id="a1")
    assert (answer["decision"], len(answer["warnings"])) == ("deny", 1)
    assert (project.root / TRACKER).read_bytes() == before


@pytest.mark.requirement("pre_tool_use.exempt")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".nexus/memory/a.md", "allow"),
        ("./.nexus//memory/a.md", "allow"),
        ("{root}/.nexus/rules/a.md", "allow"),
        ("{root}/src/../.nexus/context/a", "allow"),
        (".nexus/a", "block"),
        (".nexus/config.yml", "block"),
        (".nexus/state/artifacts/a.md", "block"),
        ("src/.nexus/a.md", "block"),
        (".nexus/../src/a.py", "block"),
        ("{root}/.nexus/../src/a.py", "block"),
        (".nexus/out/a.py", "block"),
        ("{root}2/.nexus/a.md", "block"),
        ("/.nexus/a.md", "block"),
        (".nexus", "deny"),
        (".nexusx/a", "block"),
        (".NEXUS/a", "block"),
        ("~/.nexus/a", "block"),
        ("", "block"),
        (".nexus/a\0", "block"),
    ],
)
def test_notes_are_exempt_from_the_edit_gate(tell: Teller, project: Project, path: str, expected: str) -> None:
    """Notes below .nexus/ are exempt from the edit gate, after links in the path were resolved."""
    (project.root / "src").mkdir()
    project.nexus.mkdir()
    (project.nexus / "out").symlink_to(project.root / "src")
    told = path.replace("{root}", str(project.root))
    assert decision(tell, **edits(told)) == expected


@pytest.mark.requirement("pre_tool_use.exempt")
@pytest.mark.parametrize(
    ("files", "told", "expected"),
    [
        ((".nexus/memory/a.md", ".nexus/rules/b.md"), None, "allow"),
        ((".nexus/memory/a.md", "src/b.py"), None, "block"),
        ((".nexus/memory/a.md",), "src/b.py", "block"),
        ((), None, "block"),
        ((), ".nexus/memory/a.md", "block"),
    ],
)
def test_all_files_of_a_patch_must_be_exempt(
    tell: Teller, files: tuple[str, ...], told: str | None, expected: str
) -> None:
    """Of several files all must be exempt, those that an adapter adds, too; unknown files are not exempt."""
    body = "".join(f"*** Update File: {path}\n@@\n-a\n+b\n" for path in files)
    tool_input = {"command": f"*** Begin Patch\n{body}*** End Patch\n"}
    assert decision(tell, harness_id="codex", tool="apply_patch", tool_input=tool_input, file=told) == expected


@pytest.mark.requirement("pre_tool_use.map")
def test_harness_without_map_decides_nothing(tell: Teller, project: Project) -> None:
    """Of a harness without a capability map nothing is decided, and nothing is written."""
    before = project.snapshot()
    assert decision(tell, tool="Edit", file="src/a.py", agent_name="architect") == "continue"
    assert project.snapshot() == before


@pytest.mark.requirement("pre_tool_use.map")
def test_map_of_the_project_overrides_the_shipped_one(tell: Teller, project: Project) -> None:
    """The project's own map wins: a tool that it adds to editing is gated."""
    project.put("capability-map.yml", "claude-code:\n  editing:\n    Scribble: path\n")
    assert decision(tell, **CLAUDE, tool="Scribble", tool_input={"path": "src/a.py"}) == "block"


@pytest.mark.requirement("pre_tool_use.map", "pre_tool_use.gate")
def test_tool_in_a_class_about_files_is_gated(tell: Teller, project: Project) -> None:
    """A tool that is only named in a class about files is gated like any that edits, in a harness of one's own too."""
    classes = {name: ["save"] for name in classes_of(load(None).vocabulary)}
    classes.update({name: ["sh"] for name in SHELL_CLASSES})
    shipped = load(None).maps["opencode"]["classes"]["file_creation"]
    project.put(
        "capability-map.yml",
        {"opencode": {"classes": {"file_creation": [*shipped, "new_page"]}}, "mine": {"classes": classes}},
    )
    used = (("opencode", "new_page"), ("mine", "save"), ("opencode", "bash"), ("mine", "sh"))
    path: Json = {"path": ".nexus/a.md"}
    assert [decision(tell, harness_id=one, tool=tool, tool_input=path) for one, tool in used] == [
        "block",
        "block",
        "allow",
        "allow",
    ]
    put(project, TASKS, tasks(task(1)))
    assert [decision(tell, harness_id=one, tool=tool) for one, tool in used] == ["allow"] * 4


@pytest.mark.requirement("pre_tool_use.broken", "storage.pending")
def test_journal_that_cannot_be_completed_blocks_no_tool(tell: Teller, project: Project) -> None:
    """While a recorded change cannot be completed, tools still run, with a warning."""
    put(project, ".nexus/state/txn.json", {"version": 99})
    before = without_lock(project.snapshot())
    answer = tell("pre_tool_use", **EDIT)
    assert (answer["decision"], len(answer["warnings"])) == ("allow", 1)
    assert without_lock(project.snapshot()) == before


def test_relative_paths_start_at_the_project_root(
    tell: Teller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative paths are taken from the project root, wherever the hook runs."""
    (project.root / "src").mkdir()
    monkeypatch.chdir(project.root / "src")
    assert decision(tell, **edits(".nexus/memory/a.md")) == "allow"
    assert decision(tell, **edits(str(Path("..") / ".nexus" / "memory" / "a.md"))) == "block"


@pytest.mark.requirement("pre_tool_use.capabilities")
@pytest.mark.parametrize("tool", [" Edit", "Edit\n", "edit", "EDIT", "Ed\u200bit", "Edit\u202e", "\uff25dit"])
def test_odd_spelling_of_a_tool_is_denied_like_the_tool(tell: Teller, project: Project, tool: str) -> None:
    """A name in other capitals, with white space or invisible characters, stands for the tool of the map."""
    put(project, TASKS, tasks(task(1)))
    call: dict[str, Json] = {**EDIT, "tool": tool, "agent_name": "architect"}
    answer = tell("pre_tool_use", **call)
    assert (answer["decision"], str(answer["reason"])[:31]) == ("deny", "architect may not use Edit (no_")
    assert decision(tell, **{**call, "agent_name": "engineer"}) == "allow"


@pytest.mark.requirement("pre_tool_use.gate")
def test_odd_spelling_of_a_tool_edits_a_file(tell: Teller, project: Project) -> None:
    """The edit gate and the guard of .nexus/ hold for an odd spelling, too."""
    assert decision(tell, **{**EDIT, "tool": "edit "}) == "block"
    put(project, TASKS, tasks(task(1)))
    assert decision(tell, **{**edits(".nexus/state/tasks.json"), "tool": "WRITE"}) == "deny"
