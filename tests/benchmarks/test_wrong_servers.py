"""The benchmark reports WRONG for every server with one fault, and not for the correct server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.data import history as generator
from benchmarks.data import project as places
from benchmarks.data.words import RARE
from benchmarks.figures import OURS, Figures
from benchmarks.peers.answers import Upstream
from benchmarks.peers.servers import Server, Session
from benchmarks.reader import Seen
from benchmarks.scenarios import archive, crowd, start, tasks
from benchmarks.scenarios.archive import Archive
from benchmarks.scenarios.bench import Bench
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
from tests.benchmarks.servers import Change, Json, Wrong
from tests.support import pretty


def without(name: str) -> Change:
    """Of each cycle that is shown."""
    return lambda answer: [cycle.pop(name, None) for cycle in answer["cycles"]]


def other(*path: str | int) -> Change:
    """Return another text for this place, if it exists."""

    def change(answer: Json) -> None:
        inner: Any = answer
        for step in path[:-1]:
            inner = inner.get(step, {}) if isinstance(inner, dict) else (inner or [{}])[int(step)]
        inner[path[-1]] = "x"

    return change


RIGHT = Wrong(OURS, ())
ANSWERS: dict[str, tuple[dict[str, Change], str]] = {
    "no topic": ({"history_search": without("topic")}, "history_search, 20 cycles, cycles[0].topic: nothing"),
    "no decisions": ({"history_search": without("decisions")}, "cycles[0].decisions: nothing instead of"),
    "no count": ({"history_search": without("task_count")}, "cycles[0].task_count: nothing instead of"),
    "newest first": ({"history_search": lambda a: a["cycles"].reverse()}, "without query, 20 cycles, cycles[0]."),
    "one too few": ({"history_search": lambda a: a.update(total=a["total"] - 1)}, "total: 19 instead of 20"),
    "another branch": ({"task_close": other("branch")}, "task_close, 20 cycles, branch: x instead of main"),
    "no moment": ({"task_close": other("cycle")}, "cycle: x instead of a moment"),
    "another topic": ({"plan_start": other("topic")}, "plan_start, 20 cycles, topic: x instead of Storage"),
    "another decision": ({"plan_decide": other("issue")}, "plan_decide, 20 cycles, issue: x instead of Where?"),
}
CYCLES: dict[str, tuple[Change, str]] = {
    "no tasks": (lambda cycle: cycle.update(tasks=[]), "tasks: [] instead of"),
    "another topic": (other("plan", "topic"), "plan.topic: x instead of Storage"),
    "another text": (other("tasks", 0, "context"), "tasks[0].context: x instead of One file"),
    "no decision": (lambda c: c["plan"]["issues"][0].pop("decision", 0), "plan.issues[0].decision: nothing instead of"),
    "another branch": (other("branch"), "branch: x instead of main"),
    "no plan": (lambda cycle: cycle.update(plan=None), "plan: None instead of"),
    "an old moment": (lambda c: c.update(completed_at="2016-01-01T00:00:00.000Z"), "moments of new cycles"),
}
TASKS: dict[str, tuple[dict[str, Change], str]] = {
    "added": ({"task_add": other("task", "title")}, "task_add, task.title: x instead of Write the store"),
    "updated": ({"task_update": other("task", "context")}, "task_update, task.context: x instead of"),
    "listed": ({"task_list": other("tasks", 3, "acceptance")}, "task_list, tasks[3].acceptance: x instead of"),
    "one too few": ({"task_list": lambda a: a["tasks"].pop()}, "task_list, tasks: ["),
    "ready": ({"task_list": other("summary", "ready")}, "task_list, summary.ready: x instead of ["),
    "goal": ({"task_list": other("goal")}, "task_list, goal: x instead of"),
}


@pytest.fixture
def figures(tmp_path: Path, fast_path: Path, monkeypatch: pytest.MonkeyPatch) -> Figures:
    @contextmanager
    def nobody(path: Path, *, parse: bool) -> Iterator[Seen]:
        yield Seen()

    monkeypatch.setattr(generator, "DATA", tmp_path)
    monkeypatch.setattr(places, "PLACE", fast_path)
    monkeypatch.setattr(archive, "watching", nobody)
    return Figures()


def history_work(server: Server, figures: Figures) -> None:
    with places.projects([OURS]) as made:
        work = Archive(server, 20, made[OURS], figures)

        def all_of_it(session: Session) -> None:
            work.recent(session)
            work.search(session)
            work.turns(session, 1)
            work.decided(session)

        work.fresh(all_of_it)
        work.check_whole()


def task_work(server: Server, figures: Figures) -> None:
    tasks.run(Bench([server], 0, frozenset(), figures), count=5, calls=2)


def test_the_right_server_is_not_wrong(figures: Figures) -> None:
    """The answers and the archived cycles of our server are the expected ones."""
    history_work(RIGHT, figures)
    task_work(RIGHT, figures)
    assert figures.wrong == []


@pytest.mark.parametrize("name", ANSWERS)
def test_wrong_answer_about_cycles_is_detected(figures: Figures, name: str) -> None:
    """Each part of an answer is compared, and the order of its cycles."""
    changes, told = ANSWERS[name]
    history_work(Wrong(OURS, (), changes=changes), figures)
    assert [text for text in figures.wrong if told in text]


@pytest.mark.parametrize("name", CYCLES)
def test_wrong_cycle_in_the_file_is_detected(figures: Figures, name: str) -> None:
    """A cycle that differs in the file is detected even if the answer was right."""
    change, told = CYCLES[name]
    history_work(Wrong(OURS, (), archived=change), figures)
    assert [text for text in figures.wrong if told in text]


@pytest.mark.parametrize("name", TASKS)
def test_wrong_answer_about_tasks_is_detected(figures: Figures, name: str) -> None:
    """The texts of the old and of the added tasks are compared."""
    changes, told = TASKS[name]
    task_work(Wrong(OURS, (), changes=changes), figures)
    assert [text for text in figures.wrong if told in text]


@pytest.mark.parametrize("tool", start.FIRST)
def test_wrong_first_call_is_detected(figures: Figures, tool: str) -> None:
    """The answer of a first call is compared as completely as any other."""
    place: dict[str, tuple[str | int, ...]] = {
        "plan_status": ("issues", 0, "decision"),
        "task_list": ("tasks", 0, "title"),
        "task_add": ("task", "acceptance"),
    }
    for server, expected in ((RIGHT, 0), (Wrong(OURS, (), changes={tool: other(*place[tool])}), 1)):
        start._first(server, tool, start.FIRST[tool], figures, counts=False)
        assert len(figures.wrong) == expected


def test_text_spoilt_by_a_crowd_is_detected(figures: Figures, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks in the file are the old and the added ones, with their texts."""
    monkeypatch.setattr(crowd, "PROCESSES", 1)
    monkeypatch.setattr(crowd, "CALLS", 2)
    with places.projects([OURS]) as made:
        project = made[OURS]
        project.give_tasks(3)
        for _ in range(2):
            App(Workspace(str(project.root))).call("task_add", start.TASK, "benchmark").confirm_delivery()
        crowd._count(RIGHT, project, 3, [4, 5], figures)
        assert figures.wrong == []
        kept = json.loads(project.tasks.read_bytes())
        kept["tasks"][1]["title"] = "x"
        project.tasks.write_bytes(pretty(kept))
        crowd._count(RIGHT, project, 3, [4, 5], figures)
    assert len(figures.wrong) == 1
    assert "tasks in the file, [1].title: x instead of" in figures.wrong[0]


def test_upstream_answers_are_compared_in_their_own_form() -> None:
    """The upstream server may return fewer fields of a cycle, the newest cycle first; its values have to be right."""
    cycles = list(generator.cycles(2))
    shown = Upstream().recent(2, cycles)
    assert [cycle["cycle_id"] for cycle in shown["cycles"]] == [cycle["completed_at"] for cycle in reversed(cycles)]
    assert shown["cycles"][0]["plan_topic"] == cycles[1]["plan"]["topic"]
    found = Upstream().found(cycles[:1], {"hits": [{"excerpt": "nothing of it"}]})
    assert found["hits"][0]["excerpt"] == f"… {RARE} …"
