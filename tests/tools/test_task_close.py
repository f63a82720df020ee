"""task_close moves the cycle into the history and deletes the session files."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import SMALLEST, Client, Clock, Project, cycle, issue, plan, pretty, task, tasks, without_own


@pytest.mark.requirement(
    "task_close.appends", "task_close.deletes", "task_close.result", "task_close.deleted", "task_close.counts",
    "task_close.hint", "task_close.total", "history.cycle-keys", "history.cycle-version", "history.cycle-plan",
    "history.cycle-tasks", "history.no-goal",
)  # fmt: skip
def test_plan_and_tasks_become_one_cycle(call: Client, project: Project, clock: Clock) -> None:
    """Plan and tasks become one cycle; goal and decisions of the task file are only hinted at."""
    the_plan = plan(
        3, "Storage", [issue(1, "A", "decided", decision="x"), issue(2, "B"), issue(3, "C", "decided", decision="y")]
    )
    done, open_ = task(1, status="completed"), task(2, deps=[1], owner="o")
    project.put("state/plan.json", the_plan)
    project.put("state/tasks.json", tasks(done, open_, goal="Ship", decisions=["1", "2", "3", "4"]))
    assert call("task_close") == {
        "closed": True,
        "cycle": clock.stamp(),
        "branch": "main",
        "archived": {"plan": True, "decisions": 2, "tasks": 2},
        "deleted": ["plan.json", "tasks.json"],
        "total_cycles": 1,
        "memoryHint": {"taskCount": 2, "decisionCount": 2, "cycleTopics": ["Storage", "Ship"]},
    }
    assert project.get("history.json") == pretty({"cycles": [cycle(the_plan, done, open_, at=clock.stamp())]})
    assert left(project) == [".gitignore", "history.json"]


def left(project: Project) -> list[str]:
    """Return the files below .nexus, without this server's own ones."""
    return sorted(
        path.removeprefix(".nexus/")
        for path, content in without_own(project.snapshot()).items()
        if path.startswith(".nexus/") and content != "folder"
    )


@pytest.mark.requirement("task_close.counts", "task_close.deleted", "task_close.hint")
def test_plan_without_tasks_is_archived(call: Client, project: Project, clock: Clock) -> None:
    """A plan without tasks is archived with none."""
    project.put("state/plan.json", plan(1, "T", []))
    assert call("task_close") == {
        "closed": True,
        "cycle": clock.stamp(),
        "branch": "main",
        "archived": {"plan": True, "decisions": 0, "tasks": 0},
        "deleted": ["plan.json"],
        "total_cycles": 1,
        "memoryHint": {"taskCount": 0, "decisionCount": 0, "cycleTopics": ["T"]},
    }
    assert project.get("history.json") == pretty({"cycles": [cycle(plan(1, "T", []), at=clock.stamp())]})


@pytest.mark.requirement("task_close.counts", "task_close.deleted", "task_close.hint")
def test_tasks_without_plan_are_archived(call: Client, project: Project, clock: Clock) -> None:
    """Tasks without a plan are archived with a null plan; decisions of the task file do not count."""
    project.put("state/tasks.json", tasks(task(1), goal="G", decisions=["d"]))
    assert call("task_close") == {
        "closed": True,
        "cycle": clock.stamp(),
        "branch": "main",
        "archived": {"plan": False, "decisions": 0, "tasks": 1},
        "deleted": ["tasks.json"],
        "total_cycles": 1,
        "memoryHint": {"taskCount": 1, "decisionCount": 0, "cycleTopics": ["G"]},
    }
    assert project.get("history.json") == pretty({"cycles": [cycle(None, task(1), at=clock.stamp())]})


@pytest.mark.requirement("task_close.empty", "tree.first-write")
def test_closing_nothing_archives_an_empty_cycle(call: Client, project: Project, clock: Clock) -> None:
    """Closing nothing appends an empty cycle, even in an untouched project."""
    for number in (1, 2):
        assert call("task_close") == {
            "closed": True,
            "cycle": clock.stamp(),
            "branch": "main",
            "archived": {"plan": False, "decisions": 0, "tasks": 0},
            "deleted": [],
            "total_cycles": number,
            "memoryHint": {"taskCount": 0, "decisionCount": 0, "cycleTopics": []},
        }
        clock.advance()
    assert [c["tasks"] for c in project.json("history.json")["cycles"]] == [[], []]
    assert left(project) == [".gitignore", "history.json"]


@pytest.mark.requirement("task_close.hint")
@pytest.mark.parametrize(
    ("topic", "goal", "expected"),
    [("T", "", ["T"]), ("", "G", ["G"]), ("", "", []), ("Same", "Same", ["Same", "Same"]), (None, "", []),
    (None, "G", ["G"]), ("T", None, ["T"])],
)  # fmt: skip
def test_topics_are_plan_topic_and_goal(
    call: Client, project: Project, topic: str | None, goal: str | None, expected: list[str]
) -> None:
    """The topics are plan topic and goal, in this order, the empty ones left out."""
    if topic is not None:
        project.put("state/plan.json", plan(topic=topic))
    if goal is not None:
        project.put("state/tasks.json", tasks(goal=goal))
    assert call("task_close")["memoryHint"]["cycleTopics"] == expected


@pytest.mark.requirement("history.unique-time")
def test_cycles_in_one_millisecond_get_different_times(call: Client, project: Project, clock: Clock) -> None:
    """Every cycle has a time of its own, one millisecond after the last."""
    answers = [call("task_close")["cycle"] for _ in range(3)]
    assert answers == [clock.stamp(0), clock.stamp(1), clock.stamp(2)]
    assert [c["completed_at"] for c in project.json("history.json")["cycles"]] == answers


@pytest.mark.requirement("history.unique-time")
def test_close_after_the_clock_was_set_back_has_the_time_of_the_clock(
    call: Client, project: Project, clock: Clock
) -> None:
    """Cycles are in the order of their closes, whatever their dates are."""
    first = call("task_close")["cycle"]
    clock.advance(-100_000)
    assert call("task_close")["cycle"] == clock.stamp()
    assert [c["completed_at"] for c in project.json("history.json")["cycles"]] == [first, clock.stamp()]


@pytest.mark.requirement("history.unique-time")
@pytest.mark.parametrize("tool", ["task_close", "plan_start"])
@pytest.mark.parametrize(
    "dates",
    [
        ["2099-01-01T00:00:00.000Z"],
        ["9999-12-31T23:59:59.999Z"],
        ["2099-01-01T00:00:00.000+14:00", "2099-01-01T00:00:00.000Z"],
        ["2026-13-45T99:99:99.999Z"],
    ],
)
def test_a_cycle_dated_in_the_future_moves_no_later_one(
    call: Client, project: Project, clock: Clock, tool: str, dates: list[str]
) -> None:
    """A close has the time of the clock, and is the last in the file, whatever date another harness wrote."""
    project.put("history.json", {"cycles": [{"completed_at": date} for date in dates]})
    project.put("state/plan.json", plan())
    call(tool, **SMALLEST[tool])
    clock.advance(5)
    call("task_close")
    times = [c["completed_at"] for c in project.json("history.json")["cycles"]]
    assert times == [*dates, clock.stamp(-5), clock.stamp(0)]
    found = call("history_search", last_n=2)["cycles"]
    assert [cycle["completed_at"] for cycle in found] == times[-2:]


@pytest.mark.requirement("history.unique-time")
def test_time_of_an_older_cycle_is_not_used_again(call: Client, project: Project, clock: Clock) -> None:
    """Where an older cycle already has the moment, as after a merge, the next free millisecond is taken."""
    times = [clock.stamp(0), clock.stamp(1), clock.stamp(2), clock.stamp(-5000)]
    project.put("history.json", {"cycles": [{"completed_at": at} for at in times]})
    assert call("task_close")["cycle"] == clock.stamp(3)


@pytest.mark.requirement("history.unique-time", "history.lax")
@pytest.mark.parametrize(
    "odd",
    [
        {}, {"completed_at": None}, {"completed_at": "yesterday"}, {"completed_at": 5},
        {"completed_at": "9999-12-31T23:59:59.999Z "},
    ],
)  # fmt: skip
def test_odd_time_in_the_history_does_not_stop_a_close(
    call: Client, project: Project, clock: Clock, odd: dict[str, Any]
) -> None:
    """A last cycle without a time that can be read does not hinder the close."""
    project.put("history.json", {"cycles": [odd]})
    answer = call("task_close")
    assert answer["cycle"] == clock.stamp()
    assert answer["total_cycles"] == 2


@pytest.mark.requirement("task_close.appends", "files.unknown-kept", "files.ids")
def test_unknown_members_enter_the_cycle(call: Client, project: Project) -> None:
    """Unknown fields of the plan and its tasks are archived; those of the task file itself are not."""
    stored_plan = {**plan(issues=[{**issue(1, "A"), "x": 1}]), "y": {"z": None}}
    stored_task = {**task(1), "w": [1.5]}
    project.put("state/plan.json", stored_plan)
    project.put("state/tasks.json", {**tasks(stored_task), "v": 1})
    call("task_close")
    (only,) = project.json("history.json")["cycles"]
    assert only["plan"] == stored_plan
    assert only["tasks"] == [stored_task]
    assert set(only) == {"schema_version", "completed_at", "branch", "plan", "tasks"}


@pytest.mark.requirement("files.broken-kept", "task_close.atomic")
@pytest.mark.parametrize("broken", ["history.json", "state/plan.json", "state/tasks.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"cycles": {}, "id": "x", "tasks": 1}', b"\xff"])
def test_any_broken_file_refuses_the_close(call: Client, project: Project, broken: str, content: bytes) -> None:
    """One broken file of the three and nothing is closed at all."""
    project.put("history.json", {"cycles": []})
    project.put("state/plan.json", plan())
    project.put("state/tasks.json", tasks(task(1)))
    project.put(broken, content)
    assert broken in call.error("task_close")


@pytest.mark.requirement("files.newer-major")
@pytest.mark.parametrize("newer", ["history.json", "state/plan.json", "state/tasks.json"])
def test_any_newer_file_refuses_the_close(call: Client, project: Project, newer: str) -> None:
    """A file of a newer major is not deleted and not appended to."""
    files = {"history.json": {"cycles": []}, "state/plan.json": plan(), "state/tasks.json": tasks(task(1))}
    for name, content in files.items():
        project.put(name, {"schema_version": "1.0", **content} if name == newer else content)
    message = call.error("task_close")
    assert newer in message
    assert "version" in message


@pytest.mark.requirement("task_close.deletes", "tree.knowledge")
def test_close_keeps_other_files(call: Client, project: Project) -> None:
    """A close keeps artifacts, notes, logs and files of harnesses."""
    kept = {
        "memory/note.md": b"<!-- tags: a -->\n",
        "context/c.md": b"c",
        "rules/r.md": b"r",
        "state/artifacts/a/b.md": b"b",
        "state/tool-log.jsonl": b"{}\n",
        "state/other/agent-tracker.json": b"[]",
        "state/nexus-mcp/agent-tracker.json": b"[]",
        "state/tasks.json.bak": b"x",
    }
    for name, content in kept.items():
        project.put(name, content)
    project.put("state/plan.json", plan())
    call("task_close")
    assert {name: project.get(name) for name in kept} == kept
    assert left(project) == sorted([*kept, ".gitignore", "history.json"])


@pytest.mark.requirement("calls.unknown")
def test_task_close_takes_no_parameter(call: Client) -> None:
    """task_close has no parameters."""
    assert "force" in call.error("task_close", force=True)
