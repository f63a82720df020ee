"""What a session may not do: edit tests, or anything else; use a tool that its agent may not use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nexus_mcp.catalog.path_limits import NO_SOURCE_EDIT, NO_TEST_EDIT, Limit, limit_of
from nexus_mcp.catalog.tool_files import FILE_CLASSES, SHELL_CLASSES
from nexus_mcp.lifecycle.guard import answer_failure
from nexus_mcp.run import events as ev
from nexus_mcp.run.drivers import claude_code, codex, opencode
from nexus_mcp.run.drivers.definition import Output
from nexus_mcp.workspace import Workspace
from tests.lifecycle.support import Teller
from tests.run.runs import GOOD, Ground
from tests.support import Json, Project, task, tasks

TESTS = ("tests/**", "**/*_test.*")


@pytest.fixture
def tell(project: Project) -> Teller:
    project.put("state/tasks.json", tasks(task(1)))
    (project.root / "tests").mkdir()
    (project.root / "src").mkdir()
    (project.root / "src/link.py").symlink_to("../tests/a.py")
    return Teller(project.root, harness_id="claude-code")


def limit(monkeypatch: pytest.MonkeyPatch, capability: str) -> None:
    for name, value in Limit(capability, TESTS).environ().items():
        monkeypatch.setenv(name, value)


def write(tell: Teller, path: str, **more: Json) -> Json:
    return tell("pre_tool_use", tool="Write", tool_input={"file_path": path}, **more)["decision"]


@pytest.mark.parametrize(
    ("capability", "refused", "open_"),
    [
        (NO_TEST_EDIT, ["tests/a.py", "./src/../tests/a.py", "src/x_test.py", "src/link.py"], ["src/a.py"]),
        (NO_SOURCE_EDIT, ["src/a.py", "tests/../src/a.py", "setup.py", "src/link.py"], ["tests/a.py", "src/x_test.py"]),
    ],
)
def test_the_hook_keeps_the_limit_of_the_session(
    tell: Teller, monkeypatch: pytest.MonkeyPatch, capability: str, refused: list[str], open_: list[str]
) -> None:
    """By the path that the call names, and by the one that its links lead to; for agents of the session, too."""
    assert {write(tell, path) for path in (*refused, *open_)} == {"allow"}
    limit(monkeypatch, capability)
    root = tell.workspace.root
    for path in refused:
        assert write(tell, path) == write(tell, f"{root}/{path}") == "deny"
        assert write(tell, path, agent_id="a1", agent_name="engineer") == "deny"
    assert {write(tell, path) for path in open_} == {"allow"}
    answer = tell("pre_tool_use", tool="Write", tool_input={"file_path": refused[0]})
    assert capability in answer["reason"]
    assert tell("pre_tool_use", tool="Read", tool_input={"file_path": refused[0]})["decision"] == "allow"


def test_a_call_whose_files_are_not_certain_is_refused(tell: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a path, in a payload that cannot be read, and with a limit that is damaged: nothing is allowed."""
    limit(monkeypatch, NO_TEST_EDIT)
    assert tell("pre_tool_use", tool="Write", tool_input={})["decision"] == "deny"
    workspace = Workspace(str(tell.workspace.root), "claude-code")
    assert answer_failure("pre_tool_use", "x", workspace, {"tool_input": {}}, is_whole=False)["decision"] == "deny"
    monkeypatch.setenv("NEXUS_PATHS", "[1]")
    assert write(tell, "src/a.py") == "deny"


def test_a_limit_survives_its_environment() -> None:
    """The hook reads what the run wrote. Without the variable there is none; an unknown capability allows nothing."""
    for capability in (NO_TEST_EDIT, NO_SOURCE_EDIT):
        found = limit_of(Limit(capability, TESTS).environ())
        assert found is not None
        assert (found.capability, found.patterns) == (capability, list(TESTS))
    assert limit_of({}) is None
    assert not Limit("no_such", TESTS).allows("src/a.py")


def test_sessions_of_a_run_get_their_limit(tmp_path: Path) -> None:
    """The environment and the brief have it; an owner without strict sessions has none."""
    show = {"run": "echo $NEXUS_CAPABILITY $NEXUS_PATHS > tests/limit_$(ls tests | wc -l)"}
    steps = [show, {"write": "tests/x_test.py", "text": "1"}]
    script = {"1": [steps, [{"run": "echo $NEXUS_CAPABILITY > limit; true"}]], "tester": [[{"verdict": GOOD}]]}
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], script, files={"tests/a_test.py": "x\n"})
    ground.run(strategies={"default": "three-session-tdd"}, tests=["tests/**"], test_writer_may=["src/index.ts"])
    root = ground.worktrees / ground.run_id / "1-1"
    kept = {path.name: path.read_text() for path in (*root.glob("tests/limit_*"), *root.glob("limit"))} or ground.tree()
    texts = " ".join(kept.values())
    assert "no_source_edit" in texts
    assert "src/index.ts" in texts
    assert "no_test_edit" in texts


TOOLS = {
    "Write": (*FILE_CLASSES,),
    "Shell": (*SHELL_CLASSES,),
    "task_tool": ("nexus_task_creation", "nexus_task_state_transition", "nexus_task_metadata_modification"),
}
MAP = {"fake": {"classes": {name: [tool] for tool, names in TOOLS.items() for name in names}, "reading": ["Read"]}}


def call(tool: str, *, failed: bool = False, ends: bool = True) -> Json:
    lines = [json.dumps({"kind": "tool_start", "text": tool, "call": "c"})]
    lines += [json.dumps({"kind": "tool_end", "call": "c", "failed": failed})] if ends else []
    return {"run": "; ".join(f"echo '{line}'" for line in lines)}


def of_researcher(tmp_path: Path, *sessions: list[Json], **more: list[list[Json]]) -> Ground:
    row = {"id": 1, "title": "One", "owner": "researcher"}
    ground = Ground(tmp_path, [row], {"1-researcher": [*sessions], **more})
    (ground.root / ".nexus/capability-map.yml").write_text(json.dumps(MAP))
    return ground


@pytest.mark.parametrize("step", [call("Write"), call("Write", ends=False)])
def test_a_forbidden_tool_is_a_violation_without_a_change(tmp_path: Path, step: Json) -> None:
    """Its effect may be outside of the tree: fresh at the same tier, then escalated, then a person is needed."""
    state = of_researcher(tmp_path, [step]).run(strategies={"default": "none"}, review={"do": ["tester"]})
    found = [one.attempt.outcome for one in state.task(1).attempts if one.attempt.outcome is not None]
    assert {one.category for one in found} == {"capability-violation"}
    assert "Write" in state.task(1).reason
    assert state.task(1).state == "paused"


@pytest.mark.parametrize("step", [call("Write", failed=True), call("Read"), call("Unknown"), {"say": "done"}])
def test_a_refused_call_is_no_violation(tmp_path: Path, step: Json) -> None:
    """The restriction did what it is for. Reading and unknown tools are allowed."""
    ground = of_researcher(tmp_path, [step], tester=[[{"verdict": GOOD}]])
    state = ground.run(strategies={"default": "none"}, review={"do": ["tester"]})
    outcomes = [one.attempt.outcome.category for one in state.task(1).attempts if one.attempt.outcome is not None]
    assert "capability-violation" not in outcomes


def test_the_verdict_of_a_reviewer_that_used_a_forbidden_tool_does_not_count(tmp_path: Path) -> None:
    """The review is repeated once; the log names the tool."""
    bad = [call("Write"), {"verdict": GOOD}]
    row = {"id": 1, "title": "One", "owner": "engineer"}
    ground = Ground(tmp_path, [row], {"1-engineer": [[{"write": "f1", "text": "1"}]], "tester": [bad]})
    (ground.root / ".nexus/capability-map.yml").write_text(json.dumps(MAP))
    state = ground.run(review={"do": ["tester"]})
    assert state.task(1).state == "paused"
    ended = [event.forbidden for event in ground.log() if isinstance(event, ev.ProcessEnded)]
    assert ended == [[], ["Write"], ["Write"]]


CALLS = [
    (
        claude_code.DRIVER,
        [
            {
                "type": "assistant",
                "message": {"content": [{"type": "tool_use", "id": "t1", "name": "Write", "input": {}}]},
            },
            {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": True}]}},
        ],
        ("Write", "t1", True),
    ),
    (
        codex.DRIVER,
        [
            {
                "type": "item.started",
                "item": {"id": "i1", "type": "mcp_tool_call", "server": "nexus", "tool": "task_add"},
            },
            {
                "type": "item.completed",
                "item": {
                    "id": "i1",
                    "type": "mcp_tool_call",
                    "server": "nexus",
                    "tool": "task_add",
                    "status": "failed",
                },
            },
        ],
        ("mcp__nexus__task_add", "i1", True),
    ),
    (
        opencode.DRIVER,
        [{"type": "tool_use", "part": {"tool": "write", "state": {"status": "completed"}}}],
        ("write", "", False),
    ),
]


@pytest.mark.parametrize(("driver", "lines", "wanted"), CALLS, ids=["claude-code", "codex", "opencode"])
def test_drivers_name_tools_as_the_capability_map_does(driver: object, lines: list[Json], wanted: object) -> None:
    """And say which call ended, and whether it failed."""
    found: list[Output] = [one for line in lines for one in driver.outputs(json.dumps(line).encode())]  # type: ignore[attr-defined]
    start = next(one for one in found if one.kind == "tool_start")
    end = next(one for one in found if one.kind == "tool_end")
    assert (start.tool or start.text, end.call, end.failed) == wanted
