"""Looking back: where a search found its text, decisions with their tasks, and filters by time."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from nexus_mcp import schemas
from nexus_mcp.store.history.archive import Archive
from nexus_mcp.store.store import Store
from nexus_mcp.views import cycles
from nexus_mcp.views.decisions import decisions
from nexus_mcp.views.matches import first_match
from nexus_mcp.workspace import Workspace
from tests.cli import example_history
from tests.support import Project


@pytest.fixture
def store(project: Project) -> Store:
    example_history.write(project.root)
    return Store(Workspace(str(project.root)))


@pytest.mark.parametrize(
    ("query", "field", "hit"),
    [
        ("RESTART", "topic", "restart"),
        ("broken", "question", "broken"),
        ("one process", "decision", "one process"),
        ("for 40 rows", "architect", "for 40 rows"),
        ("name line", "task 2", "Name line"),
        ("old or new", "acceptance of task 1", "old or new"),
        ("writer", "owner of task 3", "writer"),
        ("main", "branch", "main"),
        ("2026-11-10", "closed", "2026-11-10"),
    ],
)
def test_a_match_names_its_field(query: str, field: str, hit: str) -> None:
    """The first text that has the query is named, with the words around it; case does not matter."""
    found = first_match(example_history.LINKS, query)
    assert found is not None
    assert (found["field"], found["hit"]) == (field, hit)


def test_a_match_in_a_long_text_is_shown_with_its_surroundings() -> None:
    """Only whole words before and after the hit are shown, with `…` where text is left out."""
    cycle = {"plan": {"topic": "word " * 50 + "needle " + "tail " * 50}}
    found = first_match(cycle, "needle")
    assert found is not None
    assert found["before"].startswith("…word")
    assert found["after"].endswith("tail…")
    assert len(found["before"] + found["after"]) < 100


def test_a_match_in_the_name_of_a_field_is_none() -> None:
    """history_search finds names of fields, too; no stored text has them."""
    assert first_match(example_history.LINKS, "completed_at") is None


def test_decisions_name_the_tasks_that_carry_them_out(store: Store) -> None:
    """A decision has the id of its question and of its tasks, in closed cycles and in the open plan."""
    tasks = (store.tasks() or {})["tasks"]
    view = store.history(lambda archive: decisions(archive, store.plan(), tasks=tasks))
    assert schemas.faults(schemas.load("views/decisions"), view) == []
    assert [(one["cycle"], one["issue"], one["tasks"]) for one in view["decisions"]] == [
        (None, 1, [1]),
        (3, 1, [1]),
        (3, 2, []),
        (2, 1, [1]),
        (2, 2, [2]),
        (1, 1, [1]),
    ]


QUERIES = ("stored", "STORED one", 'a "quoted" word', "back\\slash", "straße", "ΣΊΣΥΦΟΣ", "no such word", "line\nbreak")


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_finds_what_a_look_at_each_cycle_finds(project: Project, query: str) -> None:
    """Cycles without the words are not parsed; the decisions found are the same."""
    texts = ['Say "quoted" stored word', "back\\slash", "Straße one stored", "Σίσυφος", "a\nline\nbreak", "other"]
    issues = [{"id": 1, "title": text, "status": "decided", "decision": text.upper()} for text in texts]
    project.put("history.json", {"cycles": [{"plan": {"topic": "", "issues": [issue]}} for issue in issues]})
    store = Store(Workspace(str(project.root)))
    words = query.lower().split()
    wanted = [
        issue["title"]
        for issue in reversed(issues)
        if all(word in f"{issue['title']}\n{issue['decision']}".lower() for word in words)
    ]
    found = store.history(partial(decisions, plan=None, query=query))
    assert [one["question"] for one in found["decisions"]] == wanted


def test_a_list_parses_only_what_it_shows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a branch no other cycle is parsed, also with a period or a query."""
    parsed: list[int] = []
    real = Archive.cycle

    def counting(self: Archive, number: int) -> dict[str, Any]:
        parsed.append(number)
        return real(self, number)

    monkeypatch.setattr(Archive, "cycle", counting)
    every: tuple[dict[str, str], ...] = (
        {},
        {"since": "2026-11-01"},
        {"query": "broken"},
        {"query": "e", "until": "2026-12-01"},
    )
    for options in every:
        parsed.clear()
        view = store.history(lambda archive, chosen=options: cycles.cycle_rows(archive, most=1, **chosen))  # type: ignore[misc]
        assert (view["matching"] > 1, parsed) == (True, [2])


def test_a_period_counts_foreign_stamps(project: Project) -> None:
    """A cycle whose time has another form is compared by its text."""
    times = ("2026-11-03T10:00:00Z", "2026-11-05T10:00:00.000Z", "", "2026-11-07")
    project.put("history.json", {"cycles": [{"completed_at": time} for time in times]})
    store = Store(Workspace(str(project.root)))
    view = store.history(partial(cycles.cycle_rows, since="2026-11-03", until="2026-11-06"))
    assert [row["number"] for row in view["cycles"]] == [2, 1]
