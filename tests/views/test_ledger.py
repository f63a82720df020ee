"""The rows of a long history in memory, the figures of weeks, the files of a project, and the titles of changes."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.data.history import RARE_CYCLES, history
from benchmarks.data.words import RARE
from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.store.history.archive import Archive
from nexus_mcp.store.read_only import ReadOnlyStore
from nexus_mcp.views import cycles, files, timeline
from nexus_mcp.views.decisions import decisions, newest
from nexus_mcp.views.ledger import Ledger, lead_hours
from nexus_mcp.workspace import Workspace
from tests.browser import samples

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support import Project


@pytest.fixture
def store(tmp_path: Path) -> ReadOnlyStore:
    return ReadOnlyStore(Workspace(str(samples.typical(tmp_path / "x"))))


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"query": "links"},
        {"query": "LINKS", "branch": "_default"},
        {"branch": "none"},
        {"since": "2026-04-01"},
        {"until": "2026-04-01"},
        {"query": "browsers", "since": "2026-03-01", "until": "2026-05-01"},
    ],
)
def test_rows_equal_those_of_a_plain_reading(store: ReadOnlyStore, terms: dict[str, Any]) -> None:
    """The ledger gives the same rows and numbers as views/cycles.py."""
    ledger = Ledger()
    plain = store.history(lambda archive: cycles.cycle_rows(archive, **terms, most=2))
    assert store.history(lambda archive: ledger.rows(archive, **terms, most=2)) == plain


def test_only_new_cycles_are_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a long history only a new cycle is read after a close; after an edit of an old one, it and those after it."""
    root = samples.long(tmp_path / "x", history, 200)
    store = ReadOnlyStore(Workspace(str(root)))
    ledger = Ledger()
    before = store.history(ledger.update)[100]["topic"]
    read: list[int] = []
    plain = Archive.cycle

    def noted(archive: Archive, number: int) -> dict[str, Any]:
        read.append(number)
        return plain(archive, number)

    monkeypatch.setattr(Archive, "cycle", noted)
    assert len(store.history(ledger.update)) == 200
    assert read == []
    call = samples.Maker(root)
    call("task_add", title="t", context="c")
    call("task_update", id=1, status="completed")
    call("task_close")
    read.clear()
    assert len(store.history(ledger.update)) == 201
    assert read == [200]
    file = root / ".nexus/history.json"
    file.write_bytes(file.read_bytes().replace(f'"{before}"'.encode(), b'"Another topic"'))
    read.clear()
    assert store.history(ledger.update)[100]["topic"] == "Another topic"
    assert read == [*range(100, 201)]


def test_weeks_count_everything_once_and_have_no_gaps(store: ReadOnlyStore) -> None:
    """The sums are those of the rows; weeks without a cycle are there; a reopened question counts in its week."""
    ledger = Ledger()
    rows = store.history(ledger.update)
    reopened = ["2026-04-01T00:00:00.000Z", "nonsense", ""]
    weeks = store.history(lambda archive: ledger.weeks(archive, reopened))["weeks"]
    for name, of_row in (("tasks", "done"), ("decisions", "decisions")):
        assert sum(week[name] for week in weeks) == sum(row[of_row] for row in rows)  # type: ignore[literal-required]
    assert sum(week["cycles"] for week in weeks) == 6
    assert [week["start"] for week in weeks if week["reopened"]] == ["2026-03-30"]
    days = [date.fromisoformat(week["start"]) for week in weeks]
    assert {(later - day).days for day, later in pairwise(days)} == {7}
    assert {week["lead_hours"] for week in weeks if week["cycles"]} == {24.0, 48.0, 72.0}


def test_a_foreign_date_does_not_make_a_thousand_years_of_weeks(project: Project) -> None:
    """Only the newest weeks are listed, and malformed dates are left out."""
    rows = [
        {"completed_at": at, "branch": 1, "plan": {"created_at": 5}, "tasks": 7}
        for at in ("0001-01-01T00:00:00.000Z", "9999-12-31T00:00:00.000Z", "x", None)
    ]
    project.put("history.json", {"schema_version": "0.5", "cycles": rows})
    ledger = Ledger()
    store = ReadOnlyStore(Workspace(str(project.root)))
    assert len(store.history(lambda archive: ledger.weeks(archive, most=10))["weeks"]) == 10
    assert store.history(ledger.branches) == []


@pytest.mark.parametrize(
    ("begin", "end", "hours"),
    [
        ("2026-01-01T00:00:00.000Z", "2026-01-02T12:00:00.000Z", 36.0),
        ("2026-01-02T00:00:00.000Z", "2026-01-01T00:00:00.000Z", None),
        ("2026-01-02", "2026-01-01T00:00:00.000Z", None),
        (None, "2026-01-01T00:00:00.000Z", None),
        ("x", "y", None),
    ],
)
def test_lead_time_needs_two_times_in_order(begin: str | None, end: str, hours: float | None) -> None:
    """A missing or malformed time, and an end before the begin, give no lead time."""
    assert lead_hours({"completed_at": end, "plan": {"created_at": begin}}) == hours


@pytest.mark.parametrize("query", ["", "firefox", "FIREFOX chromium", "zebra", "옵", "folders become"])
def test_the_newest_decisions_are_those_of_the_whole_search(store: ReadOnlyStore, query: str) -> None:
    """The fast search finds what the plain one finds, and says whether there is more."""
    plan = store.plan()
    whole = store.history(lambda archive: decisions(archive, plan, query=query))["decisions"]
    fast = store.history(lambda archive: newest(archive, plan, query, 3))
    assert fast["decisions"] == whole[:3]
    assert fast["more"] == (len(whole) > 3)


def test_a_read_only_store_caches_outside_of_the_project(tmp_path: Path) -> None:
    """The index of a long history goes into the folder of the caller, and a search gives the same result."""
    root = samples.long(tmp_path / "x", history, 400)
    (tmp_path / "cache").mkdir()
    plain = ReadOnlyStore(Workspace(str(root)))
    cached = ReadOnlyStore(Workspace(str(root)), str(tmp_path / "cache"))
    for store in (plain, cached, cached):
        assert len(store.history(lambda archive: archive.matches(RARE))) == RARE_CYCLES
    assert sorted(path.name for path in (root / ".nexus").rglob("*")) == ["history.json", "state"]
    assert list((tmp_path / "cache").rglob("history.index"))


def test_artifacts_are_listed_newest_first_without_links(store: ReadOnlyStore, tmp_path: Path) -> None:
    """Names, sizes and times of plain files; a link, a pipe and a name that no artifact can have are left out."""
    import os

    folder = tmp_path / "x/.nexus/state/artifacts"
    os.utime(folder / "survey.md", (2**31, 2**31))
    (folder / "link").symlink_to("survey.md")
    (folder / "way").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    (folder / "a\x1bb").write_bytes(b"")
    found = files.artifacts(store)
    assert found["files"][0]["name"] == "survey.md"
    assert {file["name"] for file in found["files"]} == {"survey.md", "shot.png", "logs/restart.txt"}
    assert found["faults"] == []


def test_a_folder_with_more_entries_than_are_looked_at_is_reported(
    store: ReadOnlyStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list may lack files, also if it is short itself."""
    folder = tmp_path / "x/.nexus/state/artifacts/deep"
    folder.mkdir()
    monkeypatch.setattr(files, "MOST_FILES", 10)
    for number in range(10):
        (folder / f"{number}").symlink_to("nothing")
    assert not files.artifacts(store)["more"]
    (folder / "10").symlink_to("nothing")
    assert files.artifacts(store)["more"]


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../plan.json", "a/../../plan.json", "none.md", "link", "way/x", "logs", ".git", "a\\b"]
)
def test_an_artifact_is_read_by_its_plain_name_only(store: ReadOnlyStore, tmp_path: Path, name: str) -> None:
    """A name that leaves the folder, a link on the way, and a folder are refused."""
    folder = tmp_path / "x/.nexus/state/artifacts"
    (folder / "link").symlink_to("survey.md")
    (folder / "way").symlink_to(tmp_path)
    with pytest.raises(NexusError):
        files.artifact(store, name)


@pytest.mark.parametrize(
    "path", ["", "memory", "memory/none.md", "memory/../x.md", "state/plan.json", "memory/a/b.md", "memory/x.txt"]
)
def test_a_note_is_read_by_its_plain_path_only(store: ReadOnlyStore, path: str) -> None:
    """Another folder, another kind of file and a path that leaves the folder are no notes."""
    with pytest.raises(UsageError, match="There is no such note"):
        files.note(store, path)


def test_notes_are_listed_and_read(store: ReadOnlyStore) -> None:
    """Each note with its kind and tags, and its text."""
    found = files.note_list(store)
    assert [(note["path"], note["tags"]) for note in found["notes"]] == [
        ("memory/empirical-lock-order.md", ["locks", "store"]),
        ("rules/tests-first.md", ["tests"]),
    ]
    assert "Lock order" in files.note(store, "memory/empirical-lock-order.md")


def test_changes_have_the_titles_of_their_time(store: ReadOnlyStore) -> None:
    """A change of the present plan has a present title, an older one the title in the cycle that took it."""
    log = timeline.changes(store)["changes"]
    titles = timeline.titles(store, log, [])
    by_line = {change["line"]: (change["what"], titles.get(change["line"])) for change in log}
    assert by_line[1] == ("starts plan 1", "Store bookmarks in one file")
    assert by_line[4] == ("adds task 1", "Write it: Store bookmarks in one file")
    last = max(line for line, (what, _) in by_line.items() if what == "adds task 8")
    assert by_line[last][1] == "اختبار الروابط العربية"
    assert ("archives 2 tasks and plan 6", "مزامنة العلامات 🌍") in by_line.values()
