"""Plan and tasks that are read together are of one moment, whatever other processes do in between."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.cli import main
from nexus_mcp.errors import LockTimeout, PathRefused, StateError
from nexus_mcp.server.app import App
from nexus_mcp.store import lock
from nexus_mcp.store.atomic import PREFIX
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.store import Store
from nexus_mcp.tags.route import route
from nexus_mcp.workspace import Workspace
from tests.events import handle

PLAN: dict[str, Any] = {"topic": "Topic", "issues": ["About the Topic"], "research_summary": ""}
TASK = {"title": "Do", "context": "because"}
Act = Callable[[], object]
PLACES = 6  # of an undisturbed read: two files, the journal, and both again


def call(root: Path, tool: str, /, **arguments: Any) -> dict[str, Any]:
    answer = App(Workspace(str(root))).call(tool, arguments)
    answer.confirm_delivery()
    return answer.result["structuredContent"]  # type: ignore[no-any-return]


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A project with a plan and a task."""
    call(tmp_path, "plan_start", **PLAN)
    call(tmp_path, "task_add", **TASK)
    return tmp_path


@contextmanager
def meddling(acts: dict[int, Act], *, always: Act | None = None) -> Iterator[list[str]]:
    """Run this after a number of reads of a file, or `always` while the lock is free; yield the names that were
    read.
    """
    seen: list[str] = []
    busy: list[bool] = []

    def spied(real: Callable[..., Any]) -> Callable[..., Any]:
        def look(folder: Folder, name: str, *rest: Any) -> Any:
            found = real(folder, name, *rest)
            if not busy and folder.shown == ".nexus/state":
                seen.append(name)
                act = acts.get(len(seen), always)
                if act is not None:
                    busy.append(True)
                    act()
                    busy.clear()
            return found

        return look

    with (
        patch.object(Folder, "read", spied(Folder.read)),
        patch.object(Folder, "check_plain", spied(Folder.check_plain)),
    ):
        yield seen


def both(root: Path) -> tuple[Any, Any]:
    """(topic and decision, titles), None for a file that is absent."""
    found = Store(Workspace(str(root))).snapshot()
    plan, tasks = found.plan(), found.tasks()
    return (
        None if plan is None else (plan["topic"], *(issue["status"] for issue in plan["issues"])),
        None if tasks is None else [task["title"] for task in tasks["tasks"]],
    )


def half_closed(root: Path) -> None:
    """Make a close that stopped after removing plan.json, with tasks.json and its journal left."""
    real = Folder.unlink

    def unlink(folder: Folder, name: str) -> None:
        if name.endswith("tasks.json"):
            raise OSError(5, os.strerror(5))
        real(folder, name)

    with patch.object(Folder, "unlink", unlink):
        assert "recorded" in call(root, "task_close")["error"]
    left = [name for name in os.listdir(root / ".nexus/state") if not name.startswith(PREFIX)]
    assert sorted(left) == ["lock", "oplog.jsonl", "tasks.json", "txn.json"]


def test_undisturbed_snapshot_takes_no_lock(begun: Path) -> None:
    """Each file is read twice, with a check for the journal before and between, and no writer is blocked."""
    with patch.object(lock, "acquire", side_effect=AssertionError), meddling({}) as seen:
        assert both(begun) == (("Topic", "pending"), ["Do"])
    assert seen == ["txn.json", "plan.json", "tasks.json", "txn.json", "plan.json", "tasks.json"]


@pytest.mark.parametrize("place", range(1, PLACES + 1))
def test_close_between_two_reads_is_seen_whole(begun: Path, place: int) -> None:
    """A close at whatever place is seen whole or not at all."""
    with meddling({place: lambda: call(begun, "task_close")}):
        found = both(begun)
    assert found in ((("Topic", "pending"), ["Do"]), (None, None))
    assert both(begun) == (None, None)


@pytest.mark.parametrize("begin", range(1, PLACES + 1))
@pytest.mark.parametrize("later", range(1, PLACES))
def test_close_in_two_halves_is_seen_whole(begun: Path, begin: int, later: int) -> None:
    """So is one that has its journal and plan.json done at one place, and the rest at a later one."""
    with meddling({begin: lambda: half_closed(begun), begin + later: lambda: complete(begun)}):
        assert both(begun) in ((("Topic", "pending"), ["Do"]), (None, None))


def complete(root: Path) -> None:
    """Complete the remaining part of the change, unless another call is doing so."""
    with suppress(LockTimeout):
        assert Store(Workspace(str(root)), wait=0).plan() is None


CHANGES: dict[str, dict[str, Any]] = {
    "plan_decide": {"issue_id": 1, "decision": "yes"},
    "task_add": {"title": "Then", "context": "because"},
}


@pytest.mark.parametrize("place", range(1, PLACES + 1))
@pytest.mark.parametrize("order", [list(CHANGES), list(reversed(CHANGES))])
def test_later_change_is_never_seen_without_the_earlier_one(begun: Path, place: int, order: list[str]) -> None:
    """No reader sees a later change without an earlier one, in either order of the two."""
    with meddling({place: lambda: [call(begun, tool, **CHANGES[tool]) for tool in order]}):
        assert both(begun) in ((("Topic", "pending"), ["Do"]), (("Topic", "decided"), ["Do", "Then"]))
    assert both(begun) == (("Topic", "decided"), ["Do", "Then"])


def test_constant_changes_are_read_under_the_lock(begun: Path) -> None:
    """Where the files are others at every look they are read under the lock at last."""
    real, held = lock.acquire, []

    @contextmanager
    def holding(*given: Any) -> Iterator[lock.HeldLock]:
        with real(*given) as ours:
            held.append(True)
            yield ours
            held.clear()

    def change() -> None:
        if not held:
            call(begun, "task_add", **TASK)

    with patch.object(lock, "acquire", holding), meddling({}, always=change) as seen:
        found = both(begun)
    assert len(seen) < 60
    assert found == both(begun)


def test_unusable_file_is_reported_when_requested(begun: Path) -> None:
    """A fault of a file is raised when that file is requested, and takes no lock."""
    state = begun / ".nexus/state"
    (state / "plan.json").write_text("{")
    with patch.object(lock, "acquire", side_effect=AssertionError):
        found = Store(Workspace(str(begun))).snapshot()
    with pytest.raises(StateError, match=r"plan\.json"):
        found.plan()
    assert found.tasks() is not None
    (state / "tasks.json").unlink()
    (state / "tasks.json").symlink_to("plan.json")
    with patch.object(lock, "acquire", side_effect=AssertionError), pytest.raises(PathRefused, match=r"tasks\.json"):
        Store(Workspace(str(begun))).snapshot().tasks()


def test_unusable_folder_is_reported_when_requested(tmp_path: Path) -> None:
    """The fault is raised when either file is requested."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".nexus").symlink_to("elsewhere")
    found = Store(Workspace(str(tmp_path))).snapshot()
    for look in (found.plan, found.tasks):
        with pytest.raises(PathRefused):
            look()


def routed(root: Path) -> object:
    return route("[d] yes", load(str(root)), Store(Workspace(str(root))))["tags"]


def prompted(root: Path) -> object:
    app = App(Workspace(str(root)))
    return app.read("prompts/get", {"name": "nx-run", "arguments": {}}, modern=True).result


SHOWING: dict[str, Callable[[Path], object]] = {
    "context_compact": lambda root: handle("context_compact", {}, Workspace(str(root))),
    "user_message": lambda root: handle("user_message", {"prompt": "go on"}, Workspace(str(root))),
    "session_start": lambda root: handle("session_start", {"session_id": "s"}, Workspace(str(root))),
    "route": routed,
    "prompt": prompted,
}


@pytest.mark.parametrize("show", SHOWING)
def test_plan_and_tasks_are_shown_of_one_moment(begun: Path, show: str) -> None:
    """If a close happens between the two reads, plan and tasks are still of one moment."""
    closes: Iterator[Act] = iter([lambda: call(begun, "task_close")])
    real = Folder.read

    def read(folder: Folder, name: str, limit: int) -> bytes | None:
        found = real(folder, name, limit)
        for close in closes if name == "plan.json" else ():
            close()
        return found

    assert "Topic" in str(SHOWING[show](begun))
    with patch.object(Folder, "read", read):
        shown = str(SHOWING[show](begun))
    assert next(closes, None) is None
    assert "Topic" not in shown


def test_brief_reads_task_and_decision_together(begun: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No brief has a task without the decision that it carries out."""
    call(begun, "plan_decide", issue_id=1, decision="yes")
    call(begun, "task_add", title="Carry out", context="because", plan_issue=1)
    closes: Iterator[Act] = iter([lambda: call(begun, "task_close")])
    real = Folder.read

    def read(folder: Folder, name: str, limit: int) -> bytes | None:
        found = real(folder, name, limit)
        for close in closes if name == "tasks.json" else ():
            close()
        return found

    words = ["brief", "--project", str(begun), "2"]
    assert main(words) == 0
    assert "DECISION" in capsys.readouterr().out
    with patch.object(Folder, "read", read):
        assert main(words) == 1
    assert "There is no task 2" in capsys.readouterr().err
