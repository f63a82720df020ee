"""A disk that fails, or ends the process, at a chosen change; and projects to test that on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from nexus_mcp.store import atomic
from tests.support import SMALLEST, Client, Project, cycle, issue, plan, task, tasks, unpack, without_lock, without_own

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
    "pread",
    "utime",
)
_EXCHANGE = "exchange"  # of two names: a call of ours, because `os` has none


JOURNAL = ".nexus/state/txn.json"


class Disk:
    """Wraps the calls of `os` that change a disk: counts them and runs `action` at the call with this `number`."""

    def __init__(self, number: int, action: Callable[[str], None]) -> None:
        self.number = number
        self.action = action
        self.count = 0
        self.names: list[str] = []

    def step(self, name: str) -> None:
        self.count += 1
        self.names.append(name)
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
    exchange = atomic.exchange

    def exchanged(folder: Any, one: str, other: str) -> bool:
        made.step(_EXCHANGE)
        return exchange(folder, one, other)

    atomic.exchange = exchanged
    try:
        yield made
    finally:
        atomic.exchange = exchange
        for name, function in real.items():
            setattr(os, name, function)


def settle(project: Project) -> None:
    """A project in which every smallest call succeeds."""
    project.put(".gitignore", b"state/\n")
    project.put("history.json", {"cycles": [cycle(plan(1), at="2020-01-01T00:00:00.000Z")]})
    project.put("state/plan.json", plan(2, issues=[issue(1, "A", "decided", decision="d"), issue(2, "B")]))
    project.put("state/tasks.json", tasks(task(1), goal="G"))


def steps(project: Project, client: Client, tool: str) -> int:
    """Return the number of changes of the disk that a call makes; the project has no pending change afterwards."""
    settle(project)
    with disk(0, lambda _: None) as seen:
        answer = client.app.call(tool, SMALLEST[tool])
    assert answer.result["isError"] is False
    answer.confirm_delivery()
    return seen.count


def reset(project: Project) -> dict[str, bytes | str]:
    shutil.rmtree(project.nexus, ignore_errors=True)
    settle(project)
    return without_lock(project.snapshot())


def peek(client: Client, tool: str) -> Any:
    """Return the answer of a reading tool whose call may roll a journal forward."""
    answer = client.app.call(tool, {})
    assert answer.result["isError"] is False
    return unpack(answer)


def assert_no_leftovers(client: Client, project: Project) -> None:
    """Check that after the next writes only files of the contract and our own files exist."""
    client("artifact_write", filename="note.md", content="text")
    client("task_add", title="T", context="C")
    left = {
        path
        for path, content in without_own(project.snapshot()).items()
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


def recorded(project: Project, make_app: Callable[..., Any]) -> None:
    """Leave a close recorded and not applied."""
    for number in (*_FOUND, *range(1, 200)):
        reset(project)
        crash_at(make_app(project.root), "task_close", number)
        if (project.state / "txn.json").exists() and (project.state / "plan.json").exists():
            _FOUND[:] = [number]
            return
    pytest.fail("no point at which a close is recorded and not applied")


_FOUND: list[int] = []
"""Where a close was last recorded and not applied: the first point to try the next time."""
