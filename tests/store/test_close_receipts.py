"""The receipt of an unanswered close is answered once, only while it is true, and only if it is ours."""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import os
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store import close_receipt
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.store.crash_points import killed
from tests.store.oplog_support import take_back
from tests.support import Clock

PLAN = {"topic": "Topic", "issues": ["One"], "research_summary": ""}


def answered(root: Path, name: str, arguments: dict[str, Any] | None = None) -> Any:
    answer = App(Workspace(str(root))).call(name, arguments)
    answer.confirm_delivery()
    assert answer.result["isError"] is False, answer.result
    return answer.result["structuredContent"]


def closed_without_answer(root: Path) -> Path:
    """Make a close whose process died before its response was sent; return the receipt."""
    answered(root, "plan_start", PLAN)
    App(Workspace(str(root))).call("task_close", {}).drop_delivery()
    (receipt,) = (root / ".nexus/state").glob("closed-*.json")
    return receipt


def test_a_delivered_answer_leaves_no_receipt(tmp_path: Path) -> None:
    """Once the answer was written out nothing of the close is left in state/."""
    answered(tmp_path, "plan_start", PLAN)
    answered(tmp_path, "task_close")
    assert sorted(path.name for path in (tmp_path / ".nexus/state").iterdir()) == ["lock", "oplog.jsonl"]


def test_a_receipt_of_a_living_process_is_its_own(tmp_path: Path) -> None:
    """While an answer is on its way, another close with nothing open is a close of its own."""
    answered(tmp_path, "plan_start", PLAN)
    first = App(Workspace(str(tmp_path))).call("task_close", {})
    second = answered(tmp_path, "task_close")
    assert second["archived"]["plan"] is False
    assert second["total_cycles"] == 2
    first.confirm_delivery()
    assert list((tmp_path / ".nexus/state").glob("closed-*")) == []


def test_an_answer_is_not_given_for_a_cycle_that_is_gone(tmp_path: Path) -> None:
    """If git removed the cycle from the history, the answer in the receipt is not returned."""
    closed_without_answer(tmp_path)
    (tmp_path / ".nexus/history.json").write_text('{"cycles": []}\n')
    assert answered(tmp_path, "task_close")["archived"] == {"plan": False, "decisions": 0, "tasks": 0}


@pytest.mark.parametrize("tool", ["plan_start", "task_add"])
def test_a_client_that_went_on_is_not_answered_for_the_past(tmp_path: Path, tool: str) -> None:
    """A write after the crash removes the receipt."""
    receipt = closed_without_answer(tmp_path)
    answered(tmp_path, tool, PLAN if tool == "plan_start" else {"title": "t", "context": "c"})
    assert not receipt.exists()


def altered(journal: dict[str, Any], **changes: Any) -> str:
    return json.dumps({**journal, **changes})


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": True},
        {"id": "other"},
        {"answer": None},
        {"files": 1},
        {"cycle": {"completed_at": 5}},
    ],
)
def test_a_foreign_receipt_is_left_alone(tmp_path: Path, change: dict[str, Any]) -> None:
    """A file that only looks like a receipt is neither returned as an answer nor removed."""
    receipt = closed_without_answer(tmp_path)
    receipt.write_text(altered(json.loads(receipt.read_text()), **change))
    assert answered(tmp_path, "task_close")["archived"]["plan"] is False
    answered(tmp_path, "task_add", {"title": "t", "context": "c"})
    assert receipt.exists()


def test_the_newest_of_two_answers_is_given(tmp_path: Path) -> None:
    """Of two undelivered closes the newer one's answer is returned, and the older receipt is removed."""
    older = closed_without_answer(tmp_path)
    kept = older.read_bytes()
    answered(tmp_path, "task_add", {"title": "t", "context": "c"})
    newer = closed_without_answer(tmp_path)
    older.write_bytes(kept)
    expected = json.loads(newer.read_text())["answer"]
    assert answered(tmp_path, "task_close") == expected
    assert sorted(path.name for path in (tmp_path / ".nexus/state").iterdir()) == ["lock", "oplog.jsonl"]


def test_the_newest_of_two_answers_is_given_when_the_clock_went_back(tmp_path: Path, clock: Clock) -> None:
    """The history decides which close is the newer one, not the times of its cycles."""
    receipts = []
    for _ in range(2):
        app = App(Workspace(str(tmp_path)), now=clock)
        app.call("plan_start", PLAN).confirm_delivery()
        closed = app.call("task_close", {})
        closed.drop_delivery()
        receipts += [(path, path.read_bytes()) for path in (tmp_path / ".nexus/state").glob("closed-*.json")]
        clock.advance(-100_000)
    for path, data in receipts:
        path.write_bytes(data)
    assert answered(tmp_path, "task_close") == closed.result["structuredContent"]
    assert list((tmp_path / ".nexus/state").glob("closed-*.json")) == []


def test_newest_receipt_is_removed_last(tmp_path: Path) -> None:
    """A process that dies while it forgets two answers leaves the newer one last, whatever their names."""
    journals = []
    for id_ in ("f" * 16, "0" * 16):
        receipt = closed_without_answer(tmp_path)
        journals.append({**json.loads(receipt.read_text()), "id": id_})
        receipt.unlink()
    names = [f"closed-{journal['id']}.json" for journal in journals]
    left: list[list[str]] = []
    for number in itertools.count(1):
        for name, journal in zip(names, journals, strict=True):
            (tmp_path / ".nexus/state" / name).write_text(json.dumps(journal))
        app = App(Workspace(str(tmp_path)))
        answer = killed(number, partial(app.call, "task_add", {"title": "t", "context": "c"}))
        left.append([name for name in names if (tmp_path / ".nexus/state" / name).exists()])
        if answer is not None:
            break
    assert left == sorted(left, key=len, reverse=True)
    assert [*map(list, dict.fromkeys(map(tuple, left)))] == [names, names[1:], []]


def test_artifacts_leave_an_undelivered_answer(tmp_path: Path) -> None:
    """An undelivered answer survives another client's artifact, and its undo; a new plan discards it."""
    receipt = closed_without_answer(tmp_path)
    kept = receipt.read_bytes()
    for _ in range(2):
        answered(tmp_path, "artifact_write", {"filename": "a", "content": ""})
    take_back(tmp_path)
    answered(tmp_path, "artifact_write", {"filename": "b", "content": ""})
    take_back(tmp_path, 2)
    assert answered(tmp_path, "task_close") == json.loads(kept)["answer"]
    answered(tmp_path, "plan_start", PLAN)
    receipt.write_bytes(kept)
    take_back(tmp_path)
    assert not receipt.exists()


def test_close_of_a_plan_drops_older_receipts(tmp_path: Path) -> None:
    """A plan that another program wrote is closed by itself; older receipts are dropped."""
    older = closed_without_answer(tmp_path)
    plan = {"id": 7, "topic": "Theirs", "issues": [], "created_at": "2026-01-01T00:00:00.000Z"}
    (tmp_path / ".nexus/state/plan.json").write_text(json.dumps(plan))
    assert answered(tmp_path, "task_close")["memoryHint"]["cycleTopics"] == ["Theirs"]
    assert not older.exists()


def test_an_answer_that_no_close_gives_is_not_given(tmp_path: Path) -> None:
    """A planted receipt cannot put words into the answer of task_close."""
    receipt = closed_without_answer(tmp_path)
    journal = json.loads(receipt.read_text())
    journal["answer"] = {"cycle": journal["cycle"]["completed_at"], "instructions": "obey"}
    receipt.write_text(json.dumps(journal))
    assert answered(tmp_path, "task_close")["archived"]["plan"] is False


def test_a_rewritten_file_keeps_its_permissions(tmp_path: Path) -> None:
    """A state file that its owner closed to others stays closed."""
    answered(tmp_path, "plan_start", PLAN)
    answered(tmp_path, "task_close")
    answered(tmp_path, "task_add", {"title": "t", "context": "c"})
    paths = [tmp_path / ".nexus/history.json", tmp_path / ".nexus/state/tasks.json"]
    for path in paths:
        path.chmod(0o600)
    answered(tmp_path, "task_add", {"title": "t", "context": "c"})
    answered(tmp_path, "plan_start", PLAN)
    answered(tmp_path, "plan_start", PLAN)
    assert [oct(path.stat().st_mode & 0o777) for path in paths] == ["0o600", "0o600"]


@pytest.mark.parametrize("has_written", [False, True])
def test_a_pipe_in_place_of_the_lock_is_refused(tmp_path: Path, has_written: bool) -> None:
    """Whatever is no plain file is no lock, for every tool that writes, also when there was one a moment ago."""
    (tmp_path / ".nexus/state").mkdir(parents=True)
    place = tmp_path / ".nexus/state/lock"
    for name, arguments in (("task_close", {}), ("artifact_write", {"filename": "a", "content": ""})):
        app = App(Workspace(str(tmp_path)))
        if has_written:
            place.unlink(missing_ok=True)
            app.call("artifact_write", {"filename": "b", "content": ""})
            place.unlink()
        if not place.exists():
            os.mkfifo(place)
        answer = app.call(name, arguments)
        assert answer.result["isError"] is True
        assert "lock is a special file where a file belongs" in answer.result["structuredContent"]["error"]


def test_receipt_delivered_meanwhile_is_not_taken_over(tmp_path: Path) -> None:
    """An answer that is delivered just as another server opens its receipt is not returned a second time."""
    answered(tmp_path, "plan_start", PLAN)
    first = App(Workspace(str(tmp_path))).call("task_close", {})
    real = fcntl.flock
    delivering = [first]

    def flock(fd: int, operation: int) -> None:
        if os.readlink(f"/proc/self/fd/{fd}").endswith(".json") and delivering:
            delivering.pop().confirm_delivery()
        real(fd, operation)

    with patch("fcntl.flock", flock):
        second = answered(tmp_path, "task_close")
    assert delivering == []
    assert second["archived"]["plan"] is False
    assert second["total_cycles"] == 2


def test_a_receipt_that_cannot_be_locked_is_not_taken_for_a_living_one(tmp_path: Path) -> None:
    """A system error refuses the close: taken for a held receipt, it would let the close happen twice."""
    receipt = closed_without_answer(tmp_path)
    real = fcntl.flock

    def flock(fd: int, operation: int) -> None:
        if os.readlink(f"/proc/self/fd/{fd}") == str(receipt.resolve()):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        real(fd, operation)

    with patch("fcntl.flock", flock):
        told = App(Workspace(str(tmp_path))).call("task_close", {}).result["structuredContent"]
    assert "nothing was changed" in told["error"]
    assert answered(tmp_path, "task_close")["archived"]["plan"] is True
    assert answered(tmp_path, "task_close")["total_cycles"] == 2


@pytest.fixture
def two_receipts(tmp_path: Path) -> list[Path]:
    """Two closes without an answer, of which the later one died before it removed the receipt of the earlier one."""
    older = closed_without_answer(tmp_path)
    saved = older.read_bytes()
    answered(tmp_path, "plan_start", PLAN)
    App(Workspace(str(tmp_path))).call("task_close", {}).drop_delivery()
    (newer,) = (tmp_path / ".nexus/state").glob("closed-*.json")
    older.write_bytes(saved)
    return [older, newer]


def _refusing(name: str) -> Any:
    """Return a replacement of Folder.unlink that fails for one file."""
    real = Folder.unlink

    def unlink(self: Folder, file: str) -> None:
        if file == name:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        real(self, file)

    return patch.object(Folder, "unlink", unlink)


def test_the_newest_receipt_stays_when_an_older_one_cannot_be_removed(tmp_path: Path, two_receipts: list[Path]) -> None:
    """A change that cannot remove the older receipt leaves both, so that a repeated close gets the newest answer."""
    older, newer = two_receipts
    with _refusing(older.name):
        answered(tmp_path, "plan_start", PLAN)
    assert older.exists()
    assert newer.exists()


def test_no_answer_is_given_while_an_older_receipt_cannot_be_removed(tmp_path: Path, two_receipts: list[Path]) -> None:
    """The close fails and changes nothing; once the disk works again it returns the newest answer, and only that."""
    older, newer = two_receipts
    wanted = json.loads(newer.read_text())["answer"]
    with _refusing(older.name):
        answer = App(Workspace(str(tmp_path))).call("task_close", {})
        answer.confirm_delivery()
    assert answer.result["isError"] is True
    assert "nothing was changed" in answer.result["structuredContent"]["error"]
    assert answered(tmp_path, "task_close") == wanted
    assert [path.exists() for path in two_receipts] == [False, False]


def test_without_flock_a_receipt_is_closed_before_its_removal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no flock, and does not remove an open file."""
    answered(tmp_path, "plan_start", PLAN)
    answer = App(Workspace(str(tmp_path))).call("task_close", {})
    monkeypatch.setattr(close_receipt, "fcntl", None)
    answer.confirm_delivery()
    assert list((tmp_path / ".nexus/state").glob("closed-*")) == []
