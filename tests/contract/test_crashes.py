"""A process that dies in a change leaves all of it or none, and no retry makes it twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.failing_disk import assert_no_leftovers, crash_at, peek, reset, settle
from tests.support import NAMES, READ_ONLY, SMALLEST, Client, Clock, Project, without_own


@pytest.mark.requirement("task_close.atomic", "task_close.retry", "storage.pending")
def test_interrupted_close_is_answered_once_by_its_retry(
    project: Project, make_app: Callable[..., Any], clock: Clock
) -> None:
    """Wherever a close dies, the retry has the answer that the close would have had, and there is one new cycle."""
    settle(project)
    expected = Client(make_app(project.root), project)("task_close")
    points = 0
    for number in range(1, 200):
        reset(project)
        died = crash_at(make_app(project.root), "task_close", number)
        client = Client(make_app(project.root), project)
        assert client("task_close") == expected, f"died before change {number}"
        assert len(project.json("history.json")["cycles"]) == 2
        assert client("task_close")["total_cycles"] == 3
        assert client("plan_status") == {"active": False}
        assert_no_leftovers(client, project)
        points += died
        if not died:
            break
    assert points > 5
    assert not died


@pytest.mark.requirement("task_close.atomic", "storage.pending")
def test_readers_see_an_interrupted_close_whole_or_not_at_all(project: Project, make_app: Callable[..., Any]) -> None:
    """Wherever a close dies, readers see the state before it or after it, whole."""
    seen = set()
    for number in range(1, 200):
        reset(project)
        died = crash_at(make_app(project.root), "task_close", number)
        client = Client(make_app(project.root), project)
        status, listed, found = (peek(client, tool) for tool in ("plan_status", "task_list", "history_search"))
        seen.add((status["active"], "exists" not in listed, found["total"]))
        if not died:
            break
    assert seen == {(True, True, 1), (False, False, 2)}


@pytest.mark.requirement("task_close.atomic", "plan_start.archives", "storage.pending")
def test_interrupted_start_leaves_the_old_or_the_new_plan(project: Project, make_app: Callable[..., Any]) -> None:
    """Wherever a start dies, the old plan is active and not archived, or archived and the new one active."""
    seen = set()
    for number in range(1, 200):
        reset(project)
        died = crash_at(make_app(project.root), "plan_start", number)
        client = Client(make_app(project.root), project)
        seen.add((peek(client, "plan_status")["plan_id"], peek(client, "history_search")["total"]))
        if not died:
            break
    assert seen == {(2, 1), (3, 2)}


@pytest.mark.requirement("storage.pending")
@pytest.mark.parametrize("tool", [name for name in NAMES if name not in {*READ_ONLY, "task_close", "plan_start"}])
def test_interrupted_write_leaves_the_old_or_the_new_file(
    project: Project, make_app: Callable[..., Any], tool: str
) -> None:
    """Wherever a change of one file dies, the file is the old one or the new one."""
    settle(project)
    before = {path: content for path, content in without_own(project.snapshot()).items() if content != "folder"}
    Client(make_app(project.root), project).send(tool, SMALLEST[tool])
    after = {path: content for path, content in without_own(project.snapshot()).items() if content != "folder"}
    outcomes = set()
    for number in range(1, 100):
        reset(project)
        died = crash_at(make_app(project.root), tool, number)
        found = {
            path: content
            for path, content in without_own(project.snapshot()).items()
            if content != "folder" and "tmp-" not in path
        }
        assert found in (before, after), f"died before change {number}"
        outcomes.add(found == after)
        assert_no_leftovers(Client(make_app(project.root), project), project)
        if not died:
            break
    assert outcomes == {False, True}


@pytest.mark.requirement("task_close.retry")
def test_a_lost_answer_is_given_once(
    call: Client, project: Project, make_app: Callable[..., Any], clock: Clock
) -> None:
    """A retry that finds nothing open gets the lost answer; the close after that is one of its own."""
    settle(project)
    first = call.send("task_close", {}, deliver=False)
    clock.advance(1000)
    retry = Client(make_app(project.root), project)
    assert retry("task_close") == first
    assert len(project.json("history.json")["cycles"]) == 2
    assert retry("task_close")["total_cycles"] == 3


@pytest.mark.requirement("task_close.retry")
def test_a_delivered_answer_is_not_repeated(call: Client, project: Project, clock: Clock) -> None:
    """After the response was delivered, a close with nothing open adds a new cycle."""
    settle(project)
    first = call("task_close")
    clock.advance(1000)
    second = call("task_close")
    assert second["cycle"] == clock.stamp()
    assert (first["total_cycles"], second["total_cycles"]) == (2, 3)
    assert not list(project.state.glob("closed-*"))


@pytest.mark.requirement("task_close.retry")
def test_close_of_new_work_ignores_a_lost_answer(call: Client, project: Project) -> None:
    """With something open again, a close is about that, not about the lost answer."""
    settle(project)
    lost = call.send("task_close", {}, deliver=False)
    call("task_add", title="New", context="C")
    answer = call("task_close")
    assert answer["archived"] == {"plan": False, "decisions": 0, "tasks": 1}
    assert answer["cycle"] != lost["cycle"]
    assert len(project.json("history.json")["cycles"]) == 3


@pytest.mark.requirement("task_close.retry")
def test_an_answer_on_its_way_is_not_taken(call: Client, project: Project, make_app: Callable[..., Any]) -> None:
    """While an answer may still go out, another client's close of nothing is its own."""
    settle(project)
    answer = call.app.call("task_close", {})
    other = Client(make_app(project.root), project)
    assert other("task_close")["total_cycles"] == 3
    answer.confirm_delivery()
    assert other("task_close")["total_cycles"] == 4


FOREIGN_MARKERS: list[tuple[str, bytes]] = [
    ("closed-notes.json", b"{}"),
    ("closed-0123456789abcdef.json", b'{"answer": {"text": "planted"}}'),
    ("closed-0123456789abcdef.json", b'{"version": 99, "answer": {"text": "planted"}}'),
    ("closed-0123456789abcdef.json", b"{"),
    ("closed-", b"text"),
    ("closed-x.json", b""),
]


@pytest.mark.requirement("storage.markers", "task_close.retry")
@pytest.mark.parametrize(("name", "content"), FOREIGN_MARKERS)
def test_foreign_file_named_like_a_receipt_is_kept_and_ignored(
    call: Client, project: Project, name: str, content: bytes
) -> None:
    """A file that we did not write is neither returned as an answer nor removed."""
    settle(project)
    project.put(f"state/{name}", content)
    call("task_add", title="T", context="C")
    assert project.get(f"state/{name}") == content
    assert call("task_close")["total_cycles"] == 2
    assert call("task_close")["total_cycles"] == 3
    assert project.get(f"state/{name}") == content


@pytest.mark.requirement("storage.markers", "links.refused")
@pytest.mark.parametrize("target", ["behind", "nowhere"])
def test_linked_receipt_is_not_followed(call: Client, project: Project, target: str) -> None:
    """A link in the place of a lost answer is not followed, whatever is done about it."""
    settle(project)
    behind = project.root / "behind"
    behind.write_text('{"version": 1, "answer": {"text": "planted"}}')
    (project.state / "closed-0123456789abcdef.json").symlink_to(project.root / target)
    for tool in ("task_close", "task_close", "task_add", "plan_start"):
        answer = call.app.call(tool, SMALLEST[tool])
        assert "planted" not in str(answer.result)
        answer.confirm_delivery()
    assert behind.exists()
