"""session_start: the folders, the tracker, and the warnings about an earlier session."""

from __future__ import annotations

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.catalog.maps import classes_of
from tests.lifecycle.support import SPAWN, TRACKER, UNMAPPED, Teller, put
from tests.support import Json, Project, issue, plan, task, tasks, without_lock

OLD = ".nexus/state/agent-tracker.json"
PLAN_LEFT = (
    'plan.json is left from an earlier session: plan 1, topic "Topic", 1 of 2 issues pending. Go on with it: '
    "plan_status shows it, plan_decide records a decision; plan_start archives it and starts another."
)
PLAN_DECIDED = (
    'plan.json is left from an earlier session: plan 1, topic "Topic", 0 of 1 issues pending. All issues are decided: '
    "derive the tasks with task_add, or close the plan with task_close if it needs none."
)
PLAN_DERIVED = f"{PLAN_DECIDED.partition(': derive')[0]}, and the plan has tasks."
TASKS_LEFT = (
    "tasks.json is left from an earlier session: it has the unfinished tasks 1 (pending), 3 (in_progress). "
    "Go on with them: task_list shows them, and which are ready."
)
TASKS_DONE = (
    "tasks.json is left from an earlier session: The only task is completed, but the cycle is not closed. Call "
    "task_close to archive it."
)
TASKS_NONE = (
    "tasks.json is left from an earlier session: it has no tasks. Add them with task_add, or call task_close to begin "
    "anew."
)


@pytest.mark.requirement("session_start.folders", "session_start.result")
def test_session_start_in_a_new_project_creates_only_its_files(tell: Teller, project: Project) -> None:
    """session_start makes .nexus/, state/, state/<id>/, .gitignore and an empty tracker, and nothing else."""
    assert tell("session_start", source="startup", session_id="s1") == {
        "event": "session_start",
        "harness_id": "nexus-mcp",
        "decision": "continue",
        "context": f"Tell the user: {UNMAPPED}",
        "reset": True,
        "deleted": [],
        "warnings": [],
    }
    files = {path for path, content in without_lock(project.snapshot()).items() if content != "folder"}
    assert files == {".git/HEAD", ".nexus/.gitignore", TRACKER, TRACKER.replace("-tracker.json", "s.extension.jsonl")}
    assert (project.root / TRACKER).read_bytes() == b"[]\n"
    assert project.get(".gitignore") == b"state/\n"


@pytest.mark.requirement("session_start.resets")
@pytest.mark.parametrize("told", [{}, {"source": "startup"}, {"source": "clear"}, {"source": None}, {"source": ""}])
def test_new_session_resets_the_tracker(tell: Teller, project: Project, told: dict[str, Json]) -> None:
    """tracker := [] with the source startup or clear, or none."""
    tell("agent_spawn", **SPAWN)
    assert tell("session_start", **told)["reset"] is True
    assert (project.root / TRACKER).read_bytes() == b"[]\n"


@pytest.mark.requirement("session_start.resets")
@pytest.mark.parametrize("source", ["resume", "compact", "Startup", "teleport"])
def test_continued_session_keeps_the_tracker(tell: Teller, project: Project, source: str) -> None:
    """With resume, compact and any other source the tracker stays, to the byte."""
    tell("agent_spawn", **SPAWN)
    before = (project.root / TRACKER).read_bytes()
    assert tell("session_start", source=source)["reset"] is False
    assert (project.root / TRACKER).read_bytes() == before


@pytest.mark.requirement("session_start.resets")
def test_a_resume_makes_no_tracker(tell: Teller, project: Project) -> None:
    """A resumed session in an unused project creates the folders, and no tracker."""
    tell("session_start", source="resume")
    assert (project.state / "nexus-mcp").is_dir()
    assert not (project.root / TRACKER).exists()


@pytest.mark.requirement("session_start.legacy")
@pytest.mark.parametrize("content", ["[]", "{", [{"harness_id": "a", "started_at": "b"}]])
@pytest.mark.parametrize("source", ["startup", "resume"])
def test_old_tracker_is_removed(tell: Teller, project: Project, content: Json, source: str) -> None:
    """A legacy root state/agent-tracker.json is dropped, whatever it holds; the answer names it."""
    put(project, OLD, content)
    assert tell("session_start", source=source)["deleted"] == [OLD]
    assert not (project.root / OLD).exists()


@pytest.mark.requirement("session_start.legacy")
def test_linked_old_tracker_is_reported_and_kept(tell: Teller, project: Project) -> None:
    """A link in the place of the old tracker is reported and stays, and the session starts."""
    outside = project.root / "outside"
    outside.write_text("x")
    put(project, ".nexus/state/plan.json", plan())
    (project.root / OLD).symlink_to(outside)
    answer = tell("session_start", source="resume")
    assert (answer["deleted"], len(answer["warnings"])) == ([], 1)
    assert answer["warnings"][0].startswith(f"{OLD} is a symbolic link where a file belongs")
    assert outside.read_text() == "x"


@pytest.mark.requirement("session_start.warns")
@pytest.mark.parametrize(
    ("plan_file", "task_file", "warnings"),
    [
        (plan(issues=[issue(1, "A"), issue(2, "B", "decided")]), None, [PLAN_LEFT]),
        (plan(issues=[issue(1, "A", "decided")]), tasks(task(1, status="completed")), [PLAN_DERIVED, TASKS_DONE]),
        (plan(issues=[issue(1, "A", "decided")]), tasks(), [PLAN_DECIDED, TASKS_NONE]),
        (plan(issues=[issue(1, "A", "decided")]), None, [PLAN_DECIDED]),
        (None, tasks(task(1), task(2, status="completed"), task(3, status="in_progress")), [TASKS_LEFT]),
        (None, tasks(), [TASKS_NONE]),
    ],
)
def test_open_plan_and_tasks_are_reported(
    tell: Teller, project: Project, plan_file: Json, task_file: Json, warnings: list[str]
) -> None:
    """A plan.json or tasks.json of an earlier session causes a warning with the open work and the next step."""
    for name, content in (("plan", plan_file), ("tasks", task_file)):
        if content is not None:
            put(project, f".nexus/state/{name}.json", content)
    before = without_lock(project.snapshot())
    assert tell("session_start")["warnings"] == warnings
    after = without_lock(project.snapshot())
    assert {path: after[path] for path in before} == before
    assert tell("session_start", source="resume")["warnings"] == []


@pytest.mark.requirement("session_start.warns")
def test_warning_of_many_tasks_is_short(tell: Teller, project: Project) -> None:
    """However many tasks are left, the warning stays short."""
    put(project, ".nexus/state/tasks.json", tasks(*(task(number) for number in range(1, 5001))))
    (warning,) = tell("session_start")["warnings"]
    assert "20 (pending) and 4980 more. Go on" in warning
    assert len(warning) < 500


@pytest.mark.requirement("session_start.warns", "files.broken-kept")
def test_unreadable_files_are_reported_and_kept(tell: Teller, project: Project) -> None:
    """Unreadable files are reported and stay, and the session starts; a broken tracker is renamed."""
    for path in (".nexus/state/plan.json", ".nexus/state/tasks.json", TRACKER):
        put(project, path, "{")
    before = without_lock(project.snapshot())
    texts = tell("session_start")["warnings"]
    aside = TRACKER.replace("agent-tracker", "conflict-agent-tracker")
    assert [text.partition(":")[0] for text in texts[:2]] == [
        "The plan could not be read",
        "The tasks could not be read",
    ]
    assert texts[2].endswith(f"is kept as {aside}. Check its content.")
    after = without_lock(project.snapshot())
    assert (after.pop(TRACKER), after.pop(aside)) == (b"[]\n", before.pop(TRACKER))
    assert after.pop(".nexus/.gitignore") == b"state/\n"
    assert after == before


@pytest.mark.requirement("session_start.own", "harness.own-folder")
def test_harnesses_keep_their_own_files(tell: Teller, project: Project) -> None:
    """Two harnesses on one project never touch each other's folder, with any event."""
    told: dict[str, dict[str, Json]] = {
        "session_start": {},
        "user_message": {"prompt": "[plan] x", "session_id": "s"},
        "subagent_spawn": SPAWN,
        "pre_tool_use": {"tool": "Edit", "agent_id": "a1"},
        "post_tool_use": {"tool": "Read", "file": ".nexus/memory/a.md"},
        "subagent_complete": {"agent_id": "a1"},
        "context_compact": {"session_id": "s"},
        "session_end": {},
    }
    for own, other in (("claude-code", "codex"), ("codex", "claude-code")):
        for event, params in told.items():
            before = {path: what for path, what in project.snapshot().items() if f"/state/{other}" in path}
            tell(event, **params, harness_id=own)
            after = {path: what for path, what in project.snapshot().items() if f"/state/{other}" in path}
            assert after == before
    assert {path.name for path in project.state.iterdir() if path.is_dir()} == {"claude-code", "codex"}


@pytest.mark.requirement("session_start.map", "agent_spawn.map")
def test_unknown_harness_is_reported_at_the_start(tell: Teller, project: Project) -> None:
    """A harness without a capability map gets a warning with the near name at its start; other harnesses get none."""
    told = UNMAPPED.replace("nexus-mcp", "claudecode").replace(
        "; the harnesses with a map are claude-code, codex, opencode.", "; did you mean claude-code?"
    )
    for source in ("startup", "clear"):
        answer = tell("session_start", harness_id="claudecode", source=source)
        assert (answer["context"], answer["warnings"]) == (f"Tell the user: {told}", [])
    assert "context" not in tell("session_start", harness_id="claudecode", source="resume")
    assert tell("subagent_spawn", **SPAWN, harness_id="claudecode")["warnings"] == [told]
    assert tell("pre_tool_use", tool="Write", harness_id="claudecode")["warnings"] == []
    for harness in ("claude-code", "codex", "opencode"):
        assert "context" not in tell("session_start", harness_id=harness)
        assert tell("subagent_spawn", **SPAWN, harness_id=harness)["warnings"] == []


@pytest.mark.requirement("session_start.map")
def test_harness_mapped_by_the_project_is_known(tell: Teller, project: Project) -> None:
    """A harness with a map in the project is known."""
    classes = {name: ["x"] for name in classes_of(load(None).vocabulary)}
    project.put("capability-map.yml", {"mine": {"classes": classes}})
    assert "context" not in tell("session_start", harness_id="mine")
