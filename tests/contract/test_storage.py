"""Crashes, full disks and foreign journals: all of a change or none of it."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import NAMES, SMALLEST, Client, Clock, Project, cycle, issue, plan, task, tasks, unpack, without_lock

CHANGES = (
    "mkdir",
    "write",
    "fsync",
    "replace",
    "rename",
    "unlink",
    "link",
    "truncate",
    "ftruncate",
    "pwrite",
    "copy_file_range",
    "sendfile",
)
WRITERS = [name for name in NAMES if name not in {"plan_status", "task_list", "history_search", "context"}]
JOURNAL = ".nexus/state/txn.json"


class Disk:
    """Stands before the calls of `os` that change a disk: counts them and does `action` at the one with `number`."""

    def __init__(self, number: int, action: Callable[[str], None]) -> None:
        self.number = number
        self.action = action
        self.count = 0
        self.broken = False

    def step(self, name: str) -> None:
        self.count += 1
        if self.count == self.number:
            self.action(name)


@contextmanager
def disk(number: int, action: Callable[[str], None]) -> Iterator[Disk]:
    """While it lasts the `number`-th change of the disk, from 1, is preceded by `action`; 0 for none."""
    made = Disk(number, action)
    real = {name: getattr(os, name) for name in (*CHANGES, "open") if hasattr(os, name)}

    def wrap(name: str) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **keywords: Any) -> Any:
            if name != "open" or (len(arguments) > 1 and arguments[1] & os.O_CREAT):
                made.step(name)
            return real[name](*arguments, **keywords)

        return wrapped

    for name in real:
        setattr(os, name, wrap(name))
    try:
        yield made
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def settle(project: Project) -> None:
    """A project in which every smallest call succeeds."""
    project.put(".gitignore", b"state/\n")
    project.put("history.json", {"cycles": [cycle(plan(1), at="2020-01-01T00:00:00.000Z")]})
    project.put("state/plan.json", plan(2, issues=[issue(1, "A", "decided", decision="d"), issue(2, "B")]))
    project.put("state/tasks.json", tasks(task(1), goal="G"))


def steps(project: Project, client: Client, tool: str) -> int:
    """How many changes of the disk a call makes. Leaves the project settled again."""
    settle(project)
    with disk(0, lambda _: None) as seen:
        answer = client.app.call(tool, SMALLEST[tool])
    assert answer.result["isError"] is False
    answer.delivered()
    return seen.count


def reset(project: Project) -> dict[str, bytes | str]:
    shutil.rmtree(project.nexus, ignore_errors=True)
    settle(project)
    return without_lock(project.snapshot())


@pytest.mark.requirement("storage.disk", "calls.failure-keeps", "task_close.atomic")
@pytest.mark.parametrize("tool", WRITERS)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_every_failing_change(
    call: Client, project: Project, make_app: Callable[..., Any], tool: str, code: int
) -> None:
    """Whichever change of the disk fails: nothing has changed, as the message says, or it is recorded and completes."""
    outcomes = set()
    for number in range(1, steps(project, call, tool) + 1):
        before = reset(project)
        client = Client(make_app(project.root), project)

        def fail(name: str) -> None:
            raise OSError(code, os.strerror(code))

        with disk(number, fail):
            answer = client.app.call(tool, SMALLEST[tool])
        content = unpack(answer)
        answer.delivered()
        after = without_lock(project.snapshot())
        if not answer.result["isError"]:
            outcomes.add("done")  # what failed was not needed, like signing the lock
            continue
        message = content["error"]
        if "nothing was changed" in message:
            assert after == before, f"{tool}, change {number}"
            outcomes.add("nothing")
            assert client.send(tool, SMALLEST[tool])
        elif JOURNAL in after:
            outcomes.add("recorded")
            assert "recorded" in message
            assert not peek(client, "plan_status").get("error")
            assert JOURNAL not in project.snapshot()
            if tool == "task_close":
                assert len(project.json("history.json")["cycles"]) == 2
                assert not (project.state / "plan.json").exists()
        else:
            outcomes.add("unconfirmed")
        assert_no_leftovers(client, project)
    assert "nothing" in outcomes


def peek(client: Client, tool: str) -> Any:
    """What a reading tool says where its call may roll a journal forward."""
    answer = client.app.call(tool, {})
    assert answer.result["isError"] is False
    return unpack(answer)


def assert_no_leftovers(client: Client, project: Project) -> None:
    """After the next writes only files of the contract are there."""
    client("artifact_write", filename="note.md", content="text")
    client("task_add", title="T", context="C")
    left = {
        path
        for path, content in without_lock(project.snapshot()).items()
        if path.startswith(".nexus/") and content != "folder"
    }
    assert left <= {
        f".nexus/{name}"
        for name in (".gitignore", "history.json", "state/plan.json", "state/tasks.json", "state/artifacts/note.md")
    }


def crash_at(app: Any, tool: str, number: int) -> bool:
    """Call in a child that dies right before its `number`-th change of the disk; whether it died there."""
    child = os.fork()
    if child == 0:
        try:
            with disk(number, lambda _: os._exit(9)):
                app.call(tool, SMALLEST[tool])
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, 9}
    return code == 9


@pytest.mark.requirement("task_close.atomic", "task_close.retry", "storage.pending")
def test_a_close_cut_short_anywhere(project: Project, make_app: Callable[..., Any], clock: Clock) -> None:
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
def test_readers_after_a_close_cut_short(project: Project, make_app: Callable[..., Any]) -> None:
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
def test_a_start_cut_short_anywhere(project: Project, make_app: Callable[..., Any]) -> None:
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
@pytest.mark.parametrize("tool", ["plan_update", "plan_decide", "task_add", "task_update", "artifact_write"])
def test_single_files_cut_short_anywhere(project: Project, make_app: Callable[..., Any], tool: str) -> None:
    """Wherever a change of one file dies, the file is the old one or the new one."""
    settle(project)
    before = {path: content for path, content in without_lock(project.snapshot()).items() if content != "folder"}
    Client(make_app(project.root), project).send(tool, SMALLEST[tool])
    after = {path: content for path, content in without_lock(project.snapshot()).items() if content != "folder"}
    outcomes = set()
    for number in range(1, 100):
        reset(project)
        died = crash_at(make_app(project.root), tool, number)
        found = {
            path: content
            for path, content in without_lock(project.snapshot()).items()
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
    """After an answer that went out, a close of nothing is a new cycle."""
    settle(project)
    first = call("task_close")
    clock.advance(1000)
    second = call("task_close")
    assert second["cycle"] == clock.stamp()
    assert (first["total_cycles"], second["total_cycles"]) == (2, 3)
    assert not list(project.state.glob("closed-*"))


@pytest.mark.requirement("task_close.retry")
def test_a_lost_answer_and_new_work(call: Client, project: Project) -> None:
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
    answer.delivered()
    assert other("task_close")["total_cycles"] == 4


@pytest.mark.requirement("storage.journal-version")
@pytest.mark.parametrize("tool", NAMES)
@pytest.mark.parametrize(
    "content",
    [
        b'{"version": 99}', b'{"version": 99, "files": [], "cycle": {}}', b"{}", b"[]", b"", b"{", b"\x00",
        b'{"version": "1"}', b'{"version": 1}',
    ],
)  # fmt: skip
def test_journals_we_do_not_know(call: Client, project: Project, tool: str, content: bytes) -> None:
    """With a journal that is not ours to complete every call is refused, and it stays."""
    settle(project)
    project.put("state/txn.json", content)
    message = call.refused(tool, SMALLEST[tool])
    assert "txn.json" in message
    assert project.get("state/txn.json") == content


def recorded(project: Project, make_app: Callable[..., Any]) -> None:
    """Leave a close recorded and not applied."""
    for number in range(1, 200):
        reset(project)
        crash_at(make_app(project.root), "task_close", number)
        if (project.state / "txn.json").exists() and (project.state / "plan.json").exists():
            return
    pytest.fail("no point at which a close is recorded and not applied")


@pytest.mark.requirement("storage.pending")
@pytest.mark.parametrize("tool", NAMES)
def test_any_call_rolls_forward(project: Project, make_app: Callable[..., Any], tool: str) -> None:
    """Whichever call comes next, the recorded close is complete before it is answered."""
    settle(project)
    recorded(project, make_app)
    answer = make_app(project.root).call(tool, SMALLEST[tool])
    content = unpack(answer)
    answer.delivered()
    assert JOURNAL not in project.snapshot()
    cycles = project.json("history.json")["cycles"]
    assert len(cycles) == 2
    assert cycles[1]["plan"]["id"] == 2
    expected = {
        "plan_status": {"active": False},
        "task_list": {"exists": False},
        "plan_update": {"error": "No active plan session"},
        "plan_decide": {"error": "No active plan session"},
        "task_update": {"error": "tasks.json not found"},
        "context": {"branch": "main", "activeMode": None, "decisions": []},
    }
    if tool in expected:
        assert content == expected[tool]


@pytest.mark.requirement("storage.conflict", "storage.pending")
@pytest.mark.parametrize("file", ["plan.json", "tasks.json"])
def test_a_file_that_changed_meanwhile(project: Project, make_app: Callable[..., Any], file: str) -> None:
    """A session file that somebody changed between crash and recovery is kept under another name."""
    settle(project)
    recorded(project, make_app)
    project.put(f"state/{file}", b'{"foreign": "edit"}')
    assert Client(make_app(project.root), project)("task_close")["total_cycles"] == 2
    kept = [path for path in project.state.iterdir() if path.name.startswith("conflict-")]
    assert [path.read_bytes() for path in kept] == [b'{"foreign": "edit"}']
    assert kept[0].name.endswith(f"-{file}")
    assert not (project.state / file).exists()


@pytest.mark.requirement("storage.vanished")
@pytest.mark.parametrize("tool", NAMES)
def test_a_project_that_vanished(call: Client, project: Project, tool: str) -> None:
    """When the project folder is gone every call fails and does not make it again."""
    shutil.rmtree(project.root)
    message = call.refused(tool, SMALLEST[tool])
    assert str(project.root) in message
    assert not project.root.exists()


@pytest.mark.requirement("storage.vanished")
def test_a_file_in_place_of_the_project(call: Client, project: Project) -> None:
    """When the project has become a file, calls fail."""
    shutil.rmtree(project.root)
    project.root.write_text("kept")
    for tool in NAMES:
        assert call.refused(tool, SMALLEST[tool])
    assert project.root.read_text() == "kept"


@pytest.mark.requirement("storage.disk", "tree.first-write")
@pytest.mark.parametrize("tool", ["plan_start", "task_add", "task_close", "artifact_write"])
def test_a_full_disk_at_the_first_write(
    call: Client, project: Project, make_app: Callable[..., Any], tool: str
) -> None:
    """In an untouched project a first write that fails leaves no file, and succeeds once there is room."""
    with disk(0, lambda _: None) as seen:
        call.send(tool, SMALLEST[tool])
    for number in range(1, seen.count + 1):
        shutil.rmtree(project.nexus)

        def fail(name: str) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        client = Client(make_app(project.root), project)
        with disk(number, fail):
            answer = client.app.call(tool, SMALLEST[tool])
        content = unpack(answer)
        if "nothing was changed" in content.get("error", ""):
            files = [
                path
                for path, kind in without_lock(project.snapshot()).items()
                if path.startswith(".nexus") and kind != "folder"
            ]
            assert files == [], f"{tool}, change {number}"
            client.send(tool, SMALLEST[tool])
        project.nexus.mkdir(exist_ok=True)


@pytest.mark.requirement("storage.disk")
def test_a_really_full_disk(project: Project, make_app: Callable[..., Any]) -> None:
    """With the file size limited by the system itself, a call that would exceed it changes nothing."""
    import resource
    import signal

    settle(project)
    before = without_lock(project.snapshot())
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            big = make_app(project.root).call("task_add", {"title": "T", "context": "x" * 10_000})
            close = make_app(project.root).call("task_close", {})
            told = "nothing was changed" in big.result["structuredContent"].get("error", "")
            os._exit(0 if told and close.result["isError"] else 3)
        finally:
            os._exit(4)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert without_lock(project.snapshot()) == before


@pytest.mark.requirement("tree.outside")
def test_temporary_files_of_others_stay(call: Client, project: Project) -> None:
    """Only our own leftovers are swept away."""
    settle(project)
    for name in (".tmp", "x.tmp", "plan.json~", ".plan.json.swp", "tasks.json.lock"):
        project.put(f"state/{name}", b"kept")
    call("task_close")
    names = sorted(path.name for path in project.state.iterdir() if path.name != "lock")
    assert names == sorted([".tmp", "x.tmp", "plan.json~", ".plan.json.swp", "tasks.json.lock"])


@pytest.mark.requirement("storage.journal-version")
def test_the_journal_holds_no_secret_path(project: Project, make_app: Callable[..., Any]) -> None:
    """A journal names files of the state folder only; one that names others is not applied."""
    settle(project)
    recorded(project, make_app)
    journal = json.loads(project.get("state/txn.json"))
    text = json.dumps(journal).replace('"plan.json"', '"../../src.py"')
    project.put("state/txn.json", text)
    target = Path(project.root, "src.py")
    target.write_text("kept")
    message = Client(make_app(project.root), project).refused("task_close", {})
    assert "txn.json" in message
    assert target.read_text() == "kept"
