"""The views of a project: each keeps its schema, and shows what the tools stored."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp import schemas
from nexus_mcp.errors import NexusError, StorageError, UsageError
from nexus_mcp.state.oplog import By
from nexus_mcp.store import agents as tracker
from nexus_mcp.store.history.archive import Archive
from nexus_mcp.store.read_only import ReadOnlyStore
from nexus_mcp.store.store import Store
from nexus_mcp.views import cycles, period, timeline
from nexus_mcp.views.decisions import decisions
from nexus_mcp.views.graph import graph
from nexus_mcp.views.report import report
from nexus_mcp.views.status import line, status
from nexus_mcp.workspace import Workspace
from tests.support import Client, Clock, Project


def _valid(name: str, value: Any) -> Any:
    assert schemas.faults(schemas.load(f"views/{name}"), value) == []
    return value


@pytest.fixture
def store(project: Project) -> Store:
    return Store(Workspace(str(project.root)))


def _status(project: Project) -> Any:
    workspace = Workspace(str(project.root))
    return _valid("status", status(Store(workspace), workspace))


def _cycle(call: Client, clock: Clock, topic: str, decision: str) -> None:
    call("plan_start", topic=topic, issues=["Which form?", "Which name?"], research_summary="known")
    call("plan_decide", issue_id=1, decision=decision)
    call("task_add", title=f"Do {topic}", context="c", goal="Ship it")
    clock.advance(86_400_000)
    call("task_update", id=1, status="completed")
    call("task_close")
    clock.advance()


GOLDEN = Path(__file__).parents[1] / "run" / "golden"


def _cycle_at(archive: Archive, number: int) -> dict[str, Any]:
    return cycles.cycle_view(number + 1, archive.cycle(number))


def test_status_of_an_empty_project(project: Project, store: Store) -> None:
    """Without plan, tasks and history all parts are empty, and nothing is written."""
    before = project.snapshot()
    seen = _status(project)
    assert (seen["plan"], seen["tasks"], seen["agents"], seen["cycles"], seen["last_cycle"]) == (
        None,
        None,
        [],
        0,
        None,
    )
    assert line(store) == "no plan"
    assert project.snapshot() == before


def test_status_shows_plan_tasks_and_the_last_cycle(call: Client, clock: Clock, project: Project, store: Store) -> None:
    """The status has the open plan, the tasks with their states, and the cycle that was closed last."""
    _cycle(call, clock, "Parser", "By hand")
    call("plan_start", topic="Printer", issues=["A?", "B?"], research_summary="")
    call("plan_decide", issue_id=1, decision="Yes")
    call("task_add", title="One", context="c")
    call("task_add", title="Two", context="c", deps=[1])
    seen = _status(project)
    assert (seen["plan"]["topic"], seen["plan"]["pending"], seen["plan"]["decided"]) == ("Printer", 1, 1)
    assert seen["tasks"]["counts"] == {"total": 2, "waiting": 1, "ready": 1, "in_progress": 0, "done": 0}
    assert seen["tasks"]["critical_path"] == [1, 2]
    assert (seen["cycles"], seen["last_cycle"]["topic"], seen["last_cycle"]["done"]) == (1, "Parser", 1)
    assert line(store) == "0/2 done · 1 ready · 1 question"


def test_status_shows_running_agents(project: Project, store: Store, clock: Clock) -> None:
    """An agent that runs is shown with its harness; one that stopped is not."""
    for agent, kind in (("a1", "spawn"), ("a2", "spawn"), ("a2", "complete")):
        event = {"kind": kind, "agent_id": agent, "agent_name": "writer", "session_id": "s", "at": clock.stamp()}
        tracker.record(store, "claude-code", event)
    (agent,) = _status(project)["agents"]
    assert (agent["harness_id"], agent["name"], agent["id"]) == ("claude-code", "writer", "a1")


def _put_run(project: Project, name: str) -> None:
    run = "run-2026-01-01T00-00-00-000Z"
    project.put(f"state/runs/{run}/status.json", (GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("running", ("crashed", 0, 2, "nexus-mcp run", "run: crashed")),
        ("paused-task", ("paused", 0, 2, "nexus-mcp run", "run: paused")),
        ("stalled", ("stalled", 0, 2, "nexus-mcp run", "run: stalled")),
        ("question", ("crashed", 0, 2, "nexus-mcp run answer q1 TEXT", "run: 1 question")),
        ("failed", ("failed", 0, 2, "nexus-mcp run status", "")),
        ("completed", ("completed", 1, 2, "", "")),
    ],
)
def test_status_shows_the_newest_run(
    call: Client, project: Project, store: Store, name: str, expected: tuple[str, int, int, str, str]
) -> None:
    """The view has status, progress and the command that goes on; the line names a run that is not over."""
    call("task_add", title="One", context="c")
    _put_run(project, name)
    run = _status(project)["run"]
    assert run is not None
    *facts, word = expected
    assert [run["status"], run["done"], run["total"], run["command"]] == facts
    assert line(store) == "0/1 done · 1 ready" + f" · {word}" * bool(word)


def test_a_run_that_waits_is_on_the_line_only_beside_tasks(project: Project, store: Store) -> None:
    """A run that nobody goes on with is not in a status bar for ever: it goes with the task list."""
    _put_run(project, "paused-task")
    assert line(store) == "no plan"


def test_an_unreadable_run_is_a_fault(call: Client, project: Project, store: Store) -> None:
    """A malformed status file is named, and the rest is shown."""
    call("task_add", title="One", context="c")
    project.put("state/runs/run-1/status.json", '{"secret": 1}')
    seen = _status(project)
    assert (seen["run"], [fault["file"] for fault in seen["faults"]]) == (None, [".nexus/state/runs/run-1/status.json"])
    assert "secret" not in seen["faults"][0]["next_step"]
    assert seen["tasks"] is not None
    assert line(store) == "unreadable: nexus-mcp doctor"


def test_an_unreadable_file_is_a_fault_and_the_rest_is_shown(call: Client, project: Project, store: Store) -> None:
    """A corrupt tasks.json leaves the plan visible; the fault names the file and holds none of its content."""
    call("plan_start", topic="Printer", issues=["A?"], research_summary="")
    project.put("state/tasks.json", '{"secret')
    seen = _status(project)
    assert seen["plan"]["topic"] == "Printer"
    assert seen["tasks"] is None
    assert [fault["file"] for fault in seen["faults"]] == [".nexus/state/tasks.json"]
    assert "secret" not in str(seen["faults"])
    assert line(store) == "unreadable: nexus-mcp doctor"


@pytest.mark.parametrize(
    "issue",
    [{}, {"how_summary": ["x"], "how_agents": "x"}, {"how_summary": {"a": []}, "how_agents": [None]}, {"decision": 5}],
)
def test_a_plan_with_odd_optional_fields_is_shown(project: Project, issue: dict[str, Any]) -> None:
    """The file may be of another harness: it needs neither a research summary nor advice of our form."""
    row = {"id": 1, "title": "Q", "status": "pending", **issue}
    project.put("state/plan.json", {"id": 1, "topic": "T", "created_at": "2026-01-01T00:00:00.000Z", "issues": [row]})
    seen = _status(project)
    assert (seen["faults"], seen["plan"]["topic"], seen["plan"]["research_summary"]) == ([], "T", "")


def test_history_lists_the_newest_first_and_filters(call: Client, clock: Clock, store: Store) -> None:
    """Rows count from the oldest cycle; query, period and branch choose among them."""
    for topic in ("Parser", "Printer", "Lexer"):
        _cycle(call, clock, topic, f"{topic} by hand")
    everything = _valid("history", store.history(cycles.cycle_rows))
    assert [(row["number"], row["topic"]) for row in everything["cycles"]] == [
        (3, "Lexer"),
        (2, "Printer"),
        (1, "Parser"),
    ]
    newest = store.history(lambda archive: cycles.cycle_rows(archive, most=1))
    assert (newest["total"], newest["matching"], len(newest["cycles"])) == (3, 3, 1)
    found = store.history(lambda archive: cycles.cycle_rows(archive, query="printer"))
    assert [row["number"] for row in found["cycles"]] == [2]
    since = everything["cycles"][1]["completed_at"]
    late = store.history(lambda archive: cycles.cycle_rows(archive, since=since))
    assert [row["number"] for row in late["cycles"]] == [3, 2]
    early = store.history(lambda archive: cycles.cycle_rows(archive, until=since))
    assert [row["number"] for row in early["cycles"]] == [1]
    assert store.history(lambda archive: cycles.cycle_rows(archive, branch="other"))["matching"] == 0


def test_a_cycle_is_found_by_number_and_by_date(call: Client, clock: Clock, store: Store) -> None:
    """A number counts from the oldest cycle, `last` and the beginning of a date name the newest that matches."""
    _cycle(call, clock, "Parser", "By hand")
    _cycle(call, clock, "Printer", "By hand")
    stamp = store.history(cycles.cycle_rows)["cycles"][1]["completed_at"]
    for word, number in (("1", 1), ("2", 2), ("last", 2), (stamp, 1), (stamp[:10], 1), (stamp[:4], 2)):
        assert store.history(partial(cycles.find_number, word=word)) == number, word


@pytest.mark.parametrize("word", ["0", "3", "9" * 400, "1999-01-01", "yesterday", "", "-1"])
def test_an_unknown_cycle_is_a_usage_error(call: Client, clock: Clock, store: Store, word: str) -> None:
    """A number out of range, a date without a cycle and any other word are refused with the next step."""
    _cycle(call, clock, "Parser", "By hand")
    _cycle(call, clock, "Printer", "By hand")
    with pytest.raises(UsageError, match="nexus-mcp history lists them"):
        store.history(lambda archive: cycles.find_number(archive, word))


def test_one_cycle_in_full(call: Client, clock: Clock, store: Store) -> None:
    """The view of a cycle has its plan, its tasks and their states."""
    _cycle(call, clock, "Parser", "By hand")
    seen = _valid("cycle", store.history(lambda archive: cycles.cycle_view(1, archive.cycle(0))))
    assert seen["plan"]["issues"][0]["decision"] == "By hand"
    assert [row["state"] for row in seen["rows"]] == ["done"]


def test_malformed_cycles_are_shown_as_far_as_they_go(project: Project, store: Store) -> None:
    """Cycles of another program may have any shape; none of them breaks a view."""
    strange = [{}, {"plan": 3, "tasks": "x"}, {"plan": {"issues": [3, {}]}, "tasks": [None, {"id": "a"}], "branch": []}]
    project.put("history.json", {"cycles": [*strange, {"completed_at": 5, "plan": {"issues": {}}}]})
    assert _valid("history", store.history(cycles.cycle_rows))["total"] == 4
    for number in range(4):
        _valid("cycle", store.history(partial(_cycle_at, number=number)))
    assert _valid("decisions", store.history(lambda archive: decisions(archive, None)))["total"] == 0


def test_two_cycles_compared(call: Client, clock: Clock, store: Store) -> None:
    """Issues and tasks with equal titles are compared; the others were added or removed."""
    _cycle(call, clock, "Parser", "By hand")
    _cycle(call, clock, "Printer", "By a library")
    pair = store.history(lambda archive: [(n + 1, archive.cycle(n)) for n in (0, 1)])
    seen = _valid("diff", cycles.compare(*pair))
    assert [(one["kind"], one["before"], one["after"]) for one in seen["issues"]] == [
        ("changed", "By hand", "By a library"),
        ("same", "", ""),
    ]
    assert [(one["kind"], one["title"]) for one in seen["tasks"]] == [("added", "Do Printer"), ("removed", "Do Parser")]


def test_decisions_name_their_question_and_cycle(call: Client, clock: Clock, store: Store) -> None:
    """Decisions of the open plan come first; each word of a query has to be in one of its texts."""
    _cycle(call, clock, "Parser", "By hand")
    call("plan_start", topic="Printer", issues=["Which colour?"], research_summary="")
    call("plan_decide", issue_id=1, decision="Blue", how_agents=["architect"], how_summary={"architect": "calm"})
    seen = _valid("decisions", store.history(lambda archive: decisions(archive, store.plan())))
    assert [(one["cycle"], one["question"], one["decision"]) for one in seen["decisions"]] == [
        (None, "Which colour?", "Blue"),
        (1, "Which form?", "By hand"),
    ]
    for query, count in (("COLOUR blue", 1), ("calm", 1), ("parser", 1), ("colour hand", 0)):
        assert store.history(partial(decisions, plan=store.plan(), query=query))["total"] == count


def test_the_graph_marks_path_cycles_and_missing_tasks(call: Client, store: Store) -> None:
    """An edge leads from a dependency to the task that waits; a missing dependency is a node of its own."""
    for deps in ([], [1], [4], [3], [9]):
        call("task_add", title="T", context="c", deps=deps)
    seen = _valid("graph", graph((store.tasks() or {})["tasks"]))
    assert seen["critical_path"] == [1, 2]
    assert seen["cycles"] == [[3, 4]]
    assert {(edge["from"], edge["to"]): (edge["is_critical"], edge["in_cycle"]) for edge in seen["edges"]} == {
        (1, 2): (True, False),
        (4, 3): (False, True),
        (3, 4): (False, True),
        (9, 5): (False, False),
    }
    assert [node["id"] for node in seen["nodes"] if node["state"] == "missing"] == [9]


def test_a_report_has_the_cycles_of_its_period(call: Client, clock: Clock, store: Store, project: Project) -> None:
    """The oldest cycle comes first, and totals count what the cycles hold."""
    _cycle(call, clock, "Parser", "By hand")
    _cycle(call, clock, "Printer", "By hand")
    seen = store.history(lambda archive: report(archive, _status(project)))
    assert [cycle["topic"] for cycle in seen["cycles"]] == ["Parser", "Printer"]
    assert seen["totals"] == {"cycles": 2, "decisions": 2, "tasks": 2, "done": 2}


def test_the_timeline_shows_the_state_after_each_change(call: Client, store: Store) -> None:
    """Each change of the log has the plan and the tasks that the tools answered then."""
    wanted = []
    for tool, arguments in (
        ("plan_start", {"topic": "T", "issues": ["A", "B"], "research_summary": ""}),
        ("task_add", {"title": "One", "context": "c"}),
        ("plan_decide", {"issue_id": 2, "decision": "Yes"}),
        ("task_update", {"id": 1, "status": "completed"}),
    ):
        call.send(tool, arguments)
        wanted.append((store.plan(), store.tasks()))
    lines = timeline.reachable(store)
    assert len(lines) == 4
    seen = [timeline.state_after(store, number) for number in reversed(lines)]
    assert [(one["plan"], one["tasks"]) for one in seen] == wanted
    assert all(one["unknown"] == [] for one in seen)


def test_the_timeline_goes_on_before_a_close(call: Client, store: Store) -> None:
    """Before a close the plan is that of the cycle; tasks.json is unknown where its goal was not archived."""
    call("plan_start", topic="T", issues=["A"], research_summary="")
    opened = store.plan()
    call("task_add", title="One", context="c", goal="Ship it")
    call("plan_decide", issue_id=1, decision="Yes")
    call("task_close")
    newest, before_close, added, started = (timeline.state_after(store, n) for n in timeline.reachable(store))
    assert (newest["plan"], newest["tasks"]) == (None, None)
    assert before_close["plan"]["issues"][0]["decision"] == "Yes"
    assert [task["title"] for task in before_close["tasks"]["tasks"]] == ["One"]
    assert (added["plan"], added["unknown"]) == (opened, ["tasks.json"])
    assert started["plan"] == opened


def test_the_timeline_goes_on_before_a_plan_that_archives_another(call: Client, store: Store) -> None:
    """plan_start archives an open plan and leaves the tasks; the start has the topic of the new plan."""
    wanted = []
    for tool, arguments in (
        ("plan_start", {"topic": "Old", "issues": ["A"], "research_summary": ""}),
        ("task_add", {"title": "One", "context": "c", "goal": "Ship it"}),
        ("plan_start", {"topic": "New", "issues": ["B"], "research_summary": ""}),
        ("task_update", {"id": 1, "status": "completed"}),
    ):
        call.send(tool, arguments)
        wanted.append((store.plan(), store.tasks()))
    seen = [timeline.state_after(store, number) for number in reversed(timeline.reachable(store))]
    assert [(one["plan"], one["tasks"]) for one in seen] == wanted
    titles = timeline.titles(store, timeline.changes(store)["changes"], [])
    assert titles == {1: "Old", 2: "One", 3: "New", 4: "One"}


def test_the_timeline_stops_at_a_foreign_change(call: Client, project: Project, store: Store) -> None:
    """A file that another program changed is unknown; a line that no change has is a usage error."""
    call("plan_start", topic="T", issues=["A"], research_summary="")
    project.put("state/plan.json", project.json("state/plan.json") | {"topic": "Edited"})
    assert timeline.state_after(store, 1)["unknown"] == ["plan.json"]
    with pytest.raises(UsageError, match="no change in line 7"):
        timeline.state_after(store, 7)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("7d", "2026-01-03T00:00:00.000Z"),
        ("12H", "2026-01-09T12:00:00.000Z"),
        ("1w", "2026-01-03T00:00:00.000Z"),
        ("2026-01-05", "2026-01-05T00:00:00.000Z"),
        ("2026-01-05T10:00+02:00", "2026-01-05T08:00:00.000Z"),
    ],
)
def test_a_period_is_a_duration_or_a_date(text: str, wanted: str) -> None:
    """A duration counts back from now; a date is its first moment, in UTC."""
    assert period.since(text, 1_768_003_200.0) == wanted


@pytest.mark.parametrize("text", ["", "soon", "d", "-3d", "2026-13-01", "9999999d", "٣d"])
def test_any_other_period_is_refused(text: str) -> None:
    """The error names the option and gives examples."""
    with pytest.raises(UsageError, match="Examples: 7d"):
        period.since(text, 0.0)


def test_a_read_only_store_never_writes(call: Client, clock: Clock, project: Project) -> None:
    """It reads all views without changing a byte, and refuses every change."""
    _cycle(call, clock, "Parser", "By hand")
    before = project.snapshot()
    workspace = Workspace(str(project.root))
    still = ReadOnlyStore(workspace)
    assert status(still, workspace)["last_cycle"] is not None
    assert timeline.changes(still)["total"] > 0
    for write in (
        lambda: still.change(lambda _: {}, By("t", "h", "c")),
        lambda: still.preview(lambda _: {}, By("t", "h", "c")),
        still.initialise,
        lambda: tracker.begin(still, "claude-code", "s", reset=True),
    ):
        with pytest.raises(StorageError, match="opened only for reading"):
            write()
    assert project.snapshot() == before


def test_a_read_only_store_reports_an_interrupted_change(call: Client, project: Project) -> None:
    """It leaves the journal as it is: the status names it, and the next step."""
    call("plan_start", topic="T", issues=["A"], research_summary="")
    project.put("state/txn.json", "{}")
    before = project.snapshot()
    workspace = Workspace(str(project.root))
    seen = status(ReadOnlyStore(workspace), workspace)
    assert "interrupted" in seen["faults"][0]["problem"]
    assert project.snapshot() == before
    with pytest.raises(NexusError, match="interrupted"):
        ReadOnlyStore(workspace).history(len)
