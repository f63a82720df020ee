"""The audit of the suite of kills detects each violation of its rules."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reliability.suite import Json
from tests.reliability.suites.kills.audit import audit
from tests.reliability.suites.kills.client_records import Book
from tests.reliability.suites.kills.files import Files, Reader, read
from tests.reliability.suites.kills.load import text
from tests.reliability.suites.kills.recovery import Observer

CALLS: list[tuple[str, dict[str, Json]]] = [
    ("plan_start", {"topic": "p1", "issues": ["i1"], "research_summary": ""}),
    ("plan_decide", {"issue_id": 1, "decision": "d1"}),
    ("task_add", {"title": "t1", "context": "c"}),
    ("task_add", {"title": "t2", "context": "c"}),
    ("task_update", {"id": 2, "status": "completed"}),
    ("task_close", {}),
    ("task_close", {}),
    ("plan_start", {"topic": "p2", "issues": ["i2"], "research_summary": ""}),
    ("plan_start", {"topic": "p3", "issues": ["i3"], "research_summary": ""}),
    ("task_add", {"title": "t3", "context": "c"}),
    ("artifact_write", {"filename": "a.md", "content": text(1, 10)}),
    ("history_search", {}),
]
Damage = Callable[[Book, Files], object]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Book]:
    root, book = tmp_path_factory.mktemp("original"), Book()
    observer = Observer(root, book)
    for tool, arguments in CALLS:
        observer(tool, **arguments)
    return root, book


@pytest.fixture
def project(original: tuple[Path, Book], tmp_path: Path) -> tuple[Path, Book]:
    root, book = original
    return shutil.copytree(root, tmp_path / "project"), copy.deepcopy(book)


def answer_of(book: Book, tool: str, at: int = 0) -> Json:
    return book.acknowledged(tool)[at][1]


def unanswer(book: Book, tool: str, at: int = 0) -> None:
    book.acknowledged(tool)[at][0].answer = None


def closed_again(book: Book, files: Files) -> None:
    """Give two closes the same answer; neither is the last answer of a killed server."""
    answer_of(book, "task_close", 1).update(answer_of(book, "task_close"))


DAMAGES: dict[str, Damage] = {
    "task t3 is lost": lambda book, files: files.tasks["tasks"].pop(),
    "task t1 is doubled": lambda book, files: files.tasks["tasks"].append(files.cycles[0]["tasks"][0]),
    "task t3 is not what was acknowledged": lambda book, files: files.tasks["tasks"][0].update(context="other"),
    "came from nowhere": lambda book, files: files.tasks["tasks"][0].update(title="t9"),
    "tasks of one cycle are numbered": lambda book, files: files.tasks["tasks"][0].update(id=2),
    "plan p3 is lost": lambda book, files: setattr(files, "plan", None),
    "plan p1 is doubled": lambda book, files: files.cycles[2].update(plan=files.cycles[0]["plan"]),
    "plans are numbered": lambda book, files: files.plan.update(id=4),
    "and is another": lambda book, files: files.plan.update(id=7),
    "a completed_at is repeated": lambda book, files: files.cycles[1].update(
        completed_at=files.cycles[0]["completed_at"]
    ),
    "is lost: acknowledged": lambda book, files: files.cycles.pop(0),
    "is not what was acknowledged": lambda book, files: files.cycles[0]["tasks"].pop(),
    "was the answer of 2 closes": closed_again,
    "cycles that no close archived, for": lambda book, files: files.cycles.insert(
        2, {**files.cycles[1], "completed_at": "x"}
    ),
    "cycles that no close answered, for": lambda book, files: answer_of(book, "plan_start", 2).update(
        previousArchived=False
    ),
    "did not archive the one before it": lambda book, files: answer_of(book, "plan_start", 1).update(
        previousArchived=True
    ),
    "found no plan open": lambda book, files: (
        answer_of(book, "plan_start", 2).update(previousArchived=False),
        files.cycles.pop(),
    ),
    "returned the wrong cycles": lambda book, files: answer_of(book, "history_search").update(total=2),
    "when more were acknowledged": lambda book, files: answer_of(book, "history_search").update(total=1, cycles=[]),
    "which is not what was acknowledged last": lambda book, files: files.cycles[0]["tasks"][1].update(status="pending"),
    "has not the decision": lambda book, files: files.cycles[0]["plan"]["issues"][0].update(decision="d0"),
    "artifact a.md has not the content": lambda book, files: files.artifacts.clear(),
    "was refused": lambda book, files: book.answered(
        book.send(0, "task_list", {}), {"isError": True, "structuredContent": {"error": "Internal error"}}
    ),
    "unanswered at the end": lambda book, files: book.ended(book.send(0, "task_list", {}).server, killed=False),
    "answered twice": lambda book, files: book.answered(
        book.calls[0], {"isError": False, "structuredContent": book.calls[0].answer}
    ),
}


def test_audit_of_a_living_server_finds_no_fault(project: tuple[Path, Book]) -> None:
    """A server that is not killed keeps all rules."""
    root, book = project
    reader = Reader(root)
    reader.look()
    assert reader.faults + audit(book, read(root)) == []


@pytest.mark.parametrize("told", DAMAGES)
def test_audit_detects_lost_and_doubled_changes(project: tuple[Path, Book], told: str) -> None:
    """The audit reports changes that are lost, doubled, altered or answered wrongly."""
    root, book = project
    files = read(root)
    DAMAGES[told](book, files)
    assert [fault for fault in audit(book, files) if told in fault]


def test_unanswered_call_may_have_happened(project: tuple[Path, Book]) -> None:
    """A call that was not answered may have happened, or not."""
    root, book = project
    unanswer(book, "task_add", 2)
    files = read(root)
    assert audit(book, files) == []
    absent = copy.deepcopy(files)
    absent.tasks = None
    assert audit(book, absent) == []


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("state/plan.json", b'{"id": 1'),
        ("state/tasks.json", b""),
        ("state/txn.json", b"{}"),
        ("state/artifacts/a.md", b"1 of 10\nxx"),
        ("history.json", b'{"cycles": []}'),
    ],
)
def test_audit_detects_a_torn_file(project: tuple[Path, Book], name: str, data: bytes) -> None:
    """A reader without the lock reports a torn file, and an old cycle that changed."""
    root, _ = project
    reader = Reader(root)
    reader.look()
    (root / ".nexus" / name).write_bytes(data)
    reader.look()
    assert reader.faults
