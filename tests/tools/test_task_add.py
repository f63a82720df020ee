"""task_add appends a task to the list."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Client, Clock, Project, pretty, task, tasks


@pytest.mark.requirement(
    "task_add.creates", "task_add.result", "task_add.deps-default", "task_add.required-suffice", "tasks.fresh",
    "files.absent", "files.timestamps", "tasks.keys",
)  # fmt: skip
def test_first_task_creates_the_file(call: Client, project: Project, clock: Clock) -> None:
    """The first task makes the file, with an empty goal and no decisions."""
    expected = {
        "id": 1,
        "title": "Do it",
        "context": "Because",
        "status": "pending",
        "deps": [],
        "created_at": clock.stamp(),
    }
    assert call("task_add", title="Do it", context="Because") == {"task": expected}
    assert project.get("state/tasks.json") == pretty({"goal": "", "decisions": [], "tasks": [expected]})


@pytest.mark.requirement(
    "task_add.optional", "tasks.keys", "files.key-order", "files.closed", "task_add.plan-issue-free",
)  # fmt: skip
def test_every_optional_parameter_is_stored(call: Client, project: Project, clock: Clock) -> None:
    """Each optional parameter has its place in the task or in the file."""
    answer = call(
        "task_add",
        owner_reuse_policy="resume_if_same_artifact",
        owner_agent_id="agent-7",
        owner="engineer",
        decisions=["D1", "", "D1"],
        goal="Ship",
        plan_issue=99,
        risk="None",
        acceptance="Green",
        approach="Straight",
        deps=[3, 1, 3],
        context="Ctx",
        title="Title",
    )
    expected = {
        "id": 1,
        "title": "Title",
        "context": "Ctx",
        "approach": "Straight",
        "acceptance": "Green",
        "risk": "None",
        "status": "pending",
        "deps": [3, 1, 3],
        "plan_issue": 99,
        "owner": "engineer",
        "owner_agent_id": "agent-7",
        "owner_reuse_policy": "resume_if_same_artifact",
        "created_at": clock.stamp(),
    }
    assert answer == {"task": expected}
    assert project.get("state/tasks.json") == pretty(
        {"goal": "Ship", "decisions": ["D1", "", "D1"], "tasks": [expected]}
    )


ONE_AT_A_TIME: list[tuple[str, Any]] = [
    ("approach", "a"), ("acceptance", "b"), ("risk", "c"), ("plan_issue", 3), ("owner", "o"), ("owner_agent_id", "i"),
    ("owner_reuse_policy", "fresh"), ("owner_reuse_policy", "resume"),
    ("owner_reuse_policy", "resume_if_same_artifact"),
]  # fmt: skip


@pytest.mark.requirement("task_add.optional", "files.absent", "tasks.policy")
@pytest.mark.parametrize(("name", "value"), ONE_AT_A_TIME)
def test_one_optional_parameter_adds_one_key(
    call: Client, project: Project, clock: Clock, name: str, value: Any
) -> None:
    """An optional parameter alone adds one key and no other."""
    expected = task(1, created_at=clock.stamp(), **{name: value})
    assert call("task_add", title="Do it", context="Because", **{name: value}) == {"task": expected}
    assert project.get("state/tasks.json") == pretty(tasks(expected))


@pytest.mark.requirement("calls.null-optional", "files.absent")
def test_null_leaves_every_optional_parameter_out(call: Client, project: Project, clock: Clock) -> None:
    """Null leaves an optional parameter out."""
    names = (
        "deps", "approach", "acceptance", "risk", "plan_issue", "goal", "decisions", "owner", "owner_agent_id",
        "owner_reuse_policy",
    )  # fmt: skip
    call("task_add", title="Do it", context="Because", **dict.fromkeys(names))
    assert project.get("state/tasks.json") == pretty(tasks(task(1, created_at=clock.stamp())))


@pytest.mark.requirement("task_add.empty-texts")
@pytest.mark.parametrize("value", ["", " ", "\n"])
def test_empty_texts_are_written(call: Client, project: Project, clock: Clock, value: str) -> None:
    """Texts that may be empty are written unchanged."""
    more = dict.fromkeys(("approach", "acceptance", "risk", "owner", "owner_agent_id"), value)
    expected = task(1, created_at=clock.stamp(), **more)
    assert call("task_add", title="Do it", context="Because", **more) == {"task": expected}
    assert project.get("state/tasks.json") == pretty(tasks(expected))


@pytest.mark.requirement("task_add.next-id")
def test_next_id_follows_the_highest(call: Client, project: Project) -> None:
    """The next id follows the highest, wherever it stands."""
    project.put("state/tasks.json", tasks(task(7), task(2.0), task(7)))
    assert call("task_add", title="T", context="C")["task"]["id"] == 8


@pytest.mark.requirement("task_add.deps-free", "calls.ids")
@pytest.mark.parametrize(
    ("given", "stored"),
    [([5], [5]), ([1], [1]), ([], []), ([2.0, 3], [2, 3]), ("[4, 5]", [4, 5]), ([2**64], [2**64])],
)
def test_deps_may_name_missing_tasks(call: Client, given: Any, stored: list[int]) -> None:
    """Deps may name tasks that are not there, the task itself included."""
    assert call("task_add", title="T", context="C", deps=given)["task"]["deps"] == stored


@pytest.mark.requirement("calls.ids", "calls.booleans", "calls.types")
@pytest.mark.parametrize(
    "deps",
    [
        [0], [-1], [1.5], [True], [None], [[1]], ["x"], [1e300 * 1e10], "1", 1, {"0": 1}, "[1", "{}",
    ],
)  # fmt: skip
def test_invalid_deps_are_refused(call: Client, deps: Any) -> None:
    """A dep is an id, and deps are a list."""
    assert "deps" in call.error("task_add", title="T", context="C", deps=deps)


@pytest.mark.requirement("task_add.goal")
@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("New", "New"), (" x ", " x "), ("", "Old"), ("  ", "Old"), ("\u3000", "Old"), (None, "Old"),
    ],
)  # fmt: skip
def test_blank_goal_keeps_the_old_one(call: Client, project: Project, goal: str | None, expected: str) -> None:
    """A goal with a character replaces, any other does not."""
    project.put("state/tasks.json", tasks(goal="Old"))
    call("task_add", title="T", context="C", goal=goal)
    assert project.json("state/tasks.json")["goal"] == expected


@pytest.mark.requirement("task_add.decisions")
def test_decisions_are_appended(call: Client, project: Project) -> None:
    """Each call appends its decisions, repeated ones too."""
    call("task_add", title="T", context="C", decisions=["a"])
    call("task_add", title="T", context="C", decisions=[])
    call("task_add", title="T", context="C", decisions='["", "a"]')
    assert project.json("state/tasks.json")["decisions"] == ["a", "", "a"]


@pytest.mark.requirement("calls.missing", "calls.blank", "calls.joined")
def test_title_and_context_are_required(call: Client) -> None:
    """Title and context are required and not blank."""
    assert call.error("task_add") == "title is required; context is required"
    assert call.error("task_add", title="T", context=None) == "context is required"
    for blank in ("", " ", "\r\n", "\u2003"):
        message = call.error("task_add", title=blank, context=blank)
        assert "title" in message.split("; ")[0]
        assert "context" in message.split("; ")[1]


@pytest.mark.requirement("calls.types", "calls.ids", "calls.booleans", "tasks.policy")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("approach", 5), ("acceptance", ["x"]), ("risk", False), ("owner", {}), ("owner_agent_id", 7), ("goal", 1),
        ("owner_reuse_policy", "always"), ("owner_reuse_policy", ""), ("owner_reuse_policy", "Fresh"),
        ("plan_issue", 0), ("plan_issue", "one"), ("plan_issue", True), ("plan_issue", 1.5), ("plan_issue", [1]),
        ("decisions", [1]), ("decisions", "text"), ("decisions", [None]),
    ],
)  # fmt: skip
def test_wrong_value_is_refused_by_name(call: Client, name: str, value: Any) -> None:
    """A wrong value is refused by the parameter's name."""
    assert name in call.error("task_add", title="T", context="C", **{name: value})


@pytest.mark.requirement("files.unknown-kept", "files.unknown-last", "files.version-kept", "files.bom", "files.foreign")
def test_a_foreign_file_is_rewritten(call: Client, project: Project, clock: Clock) -> None:
    """Unknown members of the file and of its tasks are kept, after the known ones."""
    stored = {
        "x": 1,
        "tasks": [
            {"zz": [1], "deps": [2.0], "status": "completed", "context": "c", "title": "", "id": 3, "created_at": "t"}
        ],
        "decisions": ["d"],
        "schema_version": "0.4",
        "goal": "g",
    }
    project.put("state/tasks.json", b"\xef\xbb\xbf" + pretty(stored))
    call("task_add", title="Do it", context="Because")
    after = project.get("state/tasks.json")
    assert list(project.json("state/tasks.json")) == ["schema_version", "goal", "decisions", "tasks", "x"]
    first, second = project.json("state/tasks.json")["tasks"]
    assert list(first) == ["id", "title", "context", "status", "deps", "created_at", "zz"]
    assert first == stored["tasks"][0]  # type: ignore[index]
    assert second == task(4, created_at=clock.stamp())
    assert after.startswith(b"{\n")
    assert after == pretty(project.json("state/tasks.json"))
