"""pre_tool_use below .nexus/: which caller may edit which file, in every spelling of a path."""

from __future__ import annotations

import os

import pytest

from tests.lifecycle.support import Teller, put
from tests.lifecycle.test_pre_tool_use import CLAUDE, TASKS, decision, edits
from tests.support import Json, Project, task, tasks

BEGIN, END = "*** Begin Patch", "*** End Patch"
CODEX: dict[str, Json] = {"harness_id": "codex", "tool": "apply_patch"}


@pytest.fixture
def ready(project: Project) -> Project:
    """A project with state, history and tasks, links into them, and a worktree below it."""
    put(project, TASKS, tasks(task(1)))
    put(project, ".nexus/history.json", {"cycles": []})
    put(project, ".nexus/memory/a.md", "a\n")
    (project.root / "tree" / ".nexus").mkdir(parents=True)
    (project.root / "way").symlink_to(project.nexus / "state")
    (project.root / "near").symlink_to("tree")
    (project.nexus / "memory" / "way").symlink_to(project.root)
    (project.nexus / "state" / "out").symlink_to(project.root / "src")
    (project.nexus / "state" / "dead").symlink_to("/nowhere/at/all")
    os.link(project.nexus / "history.json", project.root / "hard.json")
    return project


STATES = [
    ".nexus/state/tasks.json",
    "./.nexus/./state//plan.json",
    "{root}/.nexus/history.json",
    "src/../.nexus/history.json",
    "nowhere/../.nexus/state/plan.json",
    "way/tasks.json",
    "way/new.json",
    "way",
    "way/../history.json",
    "near/../.nexus/state/plan.json",
    ".nexus/state/out",
    ".nexus/state/out/../plan.json",
    ".nexus/memory/way/.nexus/history.json",
    ".nexus/state/artifacts/../plan.json",
    "hard.json",
    ".NEXUS/state/tasks.json",
    "{upper}/.nexus/state/tasks.json",
    "tree/.nexus/state/plan.json",
    "tree/.nexus",
    "tree",
    ".",
    "..",
    "{root}",
    "/",
    "../{name}/.nexus/state/plan.json",
    "../elsewhere/.nexus/state/plan.json",
    ".nexus\\state\\plan.json",
    "file://{root}/.nexus/state/plan.json",
    "file://{root}/%2enexus/state/plan.json",
    "{home}/.nexus/state/plan.json",
    "/proc/self/cwd/.nexus/state/plan.json",
    "/proc/1/cwd/.nexus/state/plan.json",
    ".nexus/state/out/a.py",
    ".nexus/state/dead/a.py",
]


@pytest.mark.requirement("pre_tool_use.guard")
@pytest.mark.parametrize("path", STATES)
def test_edits_of_state_are_denied_to_everyone(
    tell: Teller, ready: Project, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """State and history are denied to the session and to agents, with tasks and without, wherever a path leads."""
    monkeypatch.setenv("HOME", str(ready.root))
    monkeypatch.chdir(ready.root)
    root = str(ready.root)
    told = path.replace("{root}", root).replace("{name}", ready.root.name).replace("{home}", "~")
    told = told.replace("{upper}", root.upper())
    for params in ({}, {"agent_name": "engineer"}, {"agent_id": "x9", "agent_name": "Explore"}):
        answer = tell("pre_tool_use", **edits(told), **params)
        assert answer["decision"] == "deny"
        assert "only the tools and commands of nexus-mcp may change that. Use " in answer["reason"]
    (ready.root / TASKS).unlink()
    assert decision(tell, **edits(told)) == "deny"


@pytest.mark.requirement("pre_tool_use.guard")
def test_agents_edit_only_notes_below_nexus(tell: Teller, ready: Project) -> None:
    """Below .nexus/ a named or unknown agent may edit notes only; the main session may edit settings and artifacts if
    there is a task.
    """
    rows = [
        ("src/a.py", "allow", "allow", "block"),
        (".nexus/memory/a.md", "allow", "allow", "allow"),
        (".nexus/config.yml", "deny", "allow", "block"),
        (".nexus/agents/engineer/meta.yml", "deny", "allow", "block"),
        (".nexus/state/artifacts/a.md", "deny", "allow", "block"),
        (".nexus/state/plan.json", "deny", "deny", "deny"),
        ("tree/.nexus/memory/a.md", "allow", "allow", "block"),
        ("tree/.nexus/config.yml", "deny", "allow", "block"),
        (None, "deny", "allow", "block"),
        ("src/*.py", "deny", "allow", "block"),
        ("a\nb", "deny", "allow", "block"),
        ("\ud800", "deny", "allow", "block"),
        ("x/" * 3000, "deny", "allow", "block"),
    ]

    def decisions(**params: str) -> list[Json]:
        return [decision(tell, **CLAUDE, tool="Write", tool_input={"file_path": one}, **params) for one, *_ in rows]

    assert decisions(agent_name="engineer") == [row[1] for row in rows]
    assert decisions(agent_name="Explore") == [row[1] for row in rows]
    assert decisions() == [row[2] for row in rows]
    (ready.root / TASKS).unlink()
    assert decisions() == [row[3] for row in rows]


@pytest.mark.requirement("pre_tool_use.guard", "pre_tool_use.reason")
@pytest.mark.parametrize(
    ("path", "agent", "steps"),
    [
        (".nexus/state/tasks.json", None, ("task_add, task_update or task_close",)),
        (".nexus/state/plan.json", None, ("plan_start, plan_update or plan_decide",)),
        (".nexus/history.json", None, ("plan_start or task_close", "nexus-mcp undo")),
        (".nexus/state/codex/agent-tracker.json", None, ("artifact_write", "nexus-mcp undo")),
        (".nexus/state/artifacts/a.md", "engineer", ("artifact_write",)),
        (".nexus/config.yml", "engineer", ("tell whoever leads the work",)),
        ("a\nb", "engineer", ("in file_path",)),
    ],
)
def test_denial_names_the_tool_to_use(
    tell: Teller, ready: Project, path: str, agent: str | None, steps: tuple[str, ...]
) -> None:
    """A refusal names the tool or command that makes the change, or the agent to ask."""
    reason = tell("pre_tool_use", **edits(path), agent_name=agent)["reason"]
    assert [step for step in steps if step not in reason] == []


@pytest.mark.requirement("pre_tool_use.patch")
def test_patch_syntax_in_a_path_exempts_nothing(tell: Teller, project: Project) -> None:
    """Patch syntax in the path of any other tool is no patch, and exempts nothing."""
    patch = "*** Begin Patch\n*** Update File: .nexus/memory/a.md\n*** End Patch"
    for path in (patch, f".nexus/memory/{patch}", f"{project.root}/src/a.py\n{patch}"):
        assert decision(tell, **edits(path)) == "block"
        assert decision(tell, **edits(path), agent_name="engineer") == "deny"


@pytest.mark.requirement("pre_tool_use.patch", "pre_tool_use.guard")
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("*** Add File:src/a.py", "+x"), ["allow", "allow", "block"]),
        (("*** Update File: .nexus/memory/a.md", "*** Move to:src/a.py", "@@", "-a"), ["allow", "allow", "block"]),
        (("*** Delete File:\tsrc/a.py",), ["allow", "allow", "block"]),
        (("*** Delete File: .nexus/memory/a.md",), ["allow", "allow", "allow"]),
        (("*** Delete File: .nexus/memory/a:src/a.py",), ["allow", "deny", "block"]),
        (("*** Delete File: src/a.py:.nexus/memory/a",), ["allow", "allow", "block"]),
        (("*** Delete File: .nexus/state/plan.json:/../../memory/a.md",), ["deny", "deny", "deny"]),
        (("*** Delete File:.nexus/state/plan.json",), ["deny", "deny", "deny"]),
        (("*** Environment ID: a", "*** Delete File: .nexus/state/plan.json"), ["deny", "deny", "deny"]),
        (("*** Environment ID: a", "*** Add File: .nexus/memory/b.md", "+x"), ["allow", "deny", "block"]),
        (("*** Update File: a.md", "*** Move to: .nexus/config.yml", "@@", "-a"), ["allow", "deny", "block"]),
    ],
)
def test_ambiguous_patch_is_denied_to_agents(
    tell: Teller, ready: Project, lines: tuple[str, ...], expected: list[str]
) -> None:
    """Each file of a patch counts, in each reading of some harness; an uncertain patch is denied to agents."""
    used: dict[str, Json] = {**CODEX, "tool_input": {"command": "\n".join((BEGIN, *lines, END))}}
    seen = [decision(tell, **used), decision(tell, **used, agent_name="engineer")]
    (ready.root / TASKS).unlink()
    assert [*seen, decision(tell, **used)] == expected


@pytest.mark.requirement("pre_tool_use.patch", "pre_tool_use.guard")
def test_a_patch_too_long_to_read_may_not_name_the_state(tell: Teller, ready: Project) -> None:
    """A patch beyond the bounds is an edit of unknown files, and denied to everybody when it names the state."""

    def decided(path: str, **params: str) -> Json:
        lines = (BEGIN, "*** Add File: a.md", *["+x"] * 20_001, f"*** Delete File: {path}", END)
        return decision(tell, **CODEX, tool_input={"command": "\n".join(lines)}, **params)

    assert [decided(path) for path in ("a.py", ".nexus/state/plan.json", ".NEXUS/History.json")] == [
        "allow",
        "deny",
        "deny",
    ]
    assert decided("a.py", agent_name="engineer") == "deny"
    (ready.root / TASKS).unlink()
    assert decided("a.py") == "block"


@pytest.mark.requirement("pre_tool_use.patch", "pre_tool_use.capabilities")
def test_patch_through_a_shell_counts_as_apply_patch(tell: Teller, ready: Project) -> None:
    """In Codex a shell that hands a patch to apply_patch is that tool, for the gate, the guard and the restrictions."""
    script = "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: {}\n*** End Patch\nEOF"

    def decided(path: str, **params: str) -> Json:
        tool_input = {"command": ["bash", "-lc", script.replace("{}", path)]}
        return decision(tell, harness_id="codex", tool="shell", tool_input=tool_input, **params)

    assert [decided(path) for path in ("a.py", ".nexus/state/plan.json")] == ["allow", "deny"]
    assert [decided("a.py", agent_name=name) for name in ("architect", "engineer")] == ["deny", "allow"]
    assert decided(".nexus/config.yml", agent_name="engineer") == "deny"
    (ready.root / TASKS).unlink()
    assert decided("a.py") == "block"
    listed: Json = {"command": ["bash", "-lc", "ls"]}
    assert decision(tell, harness_id="codex", tool="shell", tool_input=listed, agent_name="architect") == "allow"


@pytest.mark.requirement("pre_tool_use.guard")
def test_relative_path_to_state_is_denied_from_any_folder(
    tell: Teller, ready: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path that leads to state from the folder of the hook, or of the call, is denied as well."""
    monkeypatch.chdir(ready.nexus)
    assert decision(tell, **edits("state/plan.json")) == "deny"
    monkeypatch.chdir(ready.root)
    assert decision(tell, **edits("state/plan.json")) == "allow"
    moved: Json = {"file_path": "plan.json", "workdir": ".nexus/state"}
    assert decision(tell, **CLAUDE, tool="Write", tool_input=moved) == "deny"
