"""A crash or an error at every system call of an undo, and of the changes that it takes back."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.errors import NexusError, UndoRefused
from nexus_mcp.server.app import App
from nexus_mcp.store import atomic
from nexus_mcp.workspace import Workspace
from tests.store.crash_points import failing_at, killed
from tests.store.oplog_support import PLAN, TASK, answered, entries, files, take_back

ARTIFACT: dict[str, Any] = {"filename": "a/b.md", "content": "old"}
CHANGES: dict[str, dict[str, Any]] = {
    "plan_decide": {"issue_id": 1, "decision": "yes"},
    "task_add": TASK,
    "artifact_write": {"filename": "a/b.md", "content": "new"},
}
Files = dict[str, bytes]


class Template:
    """A project that is made once and copied. With `changes` it has three to take back, each of another file.

    `before` are the files before these, `now` those that are there.
    """

    def __init__(self, root: Path, *, changes: bool) -> None:
        self._root = root
        root.mkdir()
        answered(root, "plan_start", PLAN)
        answered(root, "artifact_write", ARTIFACT)
        self.before = files(root)
        for name, arguments in CHANGES.items() if changes else ():
            answered(root, name, arguments)
        self.now = files(root)

    def copy(self, root: Path) -> Path:
        return Path(shutil.copytree(self._root, root))


def recovered(root: Path) -> Files:
    """Return the files after another process has read; it sweeps the leftovers of a dead one beside artifacts."""
    answered(root, "plan_status")
    return {name: data for name, data in files(root).items() if atomic.PREFIX not in name}


def until_through(folder: Path, template: Template, run: Callable[[Path, int], bool]) -> int:
    """Run `run(root, n)`, each in a fresh copy, for n = 1, 2, … until it returns that the undo was completed."""
    for number in range(1, 200):
        if run(template.copy(folder / str(number)), number):
            return number
    raise AssertionError("it never went through")


@pytest.mark.requirement("undo.all-or-nothing")
@pytest.mark.parametrize("count", [1, 3])
def test_undo_killed_at_any_call_is_whole_or_absent(fast_path: Path, count: int) -> None:
    """After a kill at any call the undo is complete or absent, the log shows which, and the next undo continues from
    there.
    """
    template = Template(fast_path / "template", changes=True)
    wanted = template.before if count == 3 else {**template.now, "artifacts/a/b.md": b"old"}
    outcomes = set()

    def die(root: Path, number: int) -> bool:
        done = killed(number, partial(take_back, root, count))
        found = recovered(root)
        assert found in (wanted, template.now), f"torn by a death at call {number}"
        assert done is None or found == wanted
        noted = [entry for entry in entries(root) if entry["tool"] == "undo"]
        outcomes.add((found == wanted, len(noted)))
        take_back(root, 5 - len(noted) * count)
        assert recovered(root) == {}
        answered(root, "task_add", TASK)
        return done is not None

    assert until_through(fast_path, template, die) > 10
    # The journal is there until the note is, so none is without.
    assert outcomes == {(False, 0), (True, 1)}


@pytest.mark.requirement("undo.all-or-nothing", "oplog.in-order")
def test_recovery_of_an_undo_can_be_killed_too(fast_path: Path) -> None:
    """Recovery may be cut short as well; in the end the undo is done, and noted once."""
    template = Template(fast_path / "template", changes=True)
    pairs = 0

    def die(root: Path, number: int) -> bool:
        nonlocal pairs
        if killed(number, partial(take_back, root, 3)) is not None:
            return True
        if not (root / ".nexus/state/txn.json").exists():
            return False
        for second in range(1 + number % 4, 100, 4):
            pairs += 1
            if killed(second, partial(App(Workspace(str(root))).call, "plan_status", {})) is not None:
                break
        assert recovered(root) == template.before
        assert [entry["tool"] for entry in entries(root)].count("undo") == 1
        return False

    until_through(fast_path, template, die)
    assert pairs > 30


@pytest.mark.requirement("undo.all-or-nothing", "storage.disk")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES], ids=lambda code: errno.errorcode[code])
def test_undo_error_at_any_call_is_reported_truthfully(fast_path: Path, code: int) -> None:
    """After any refused system call the message is true of the files, and the next call works."""
    template = Template(fast_path / "template", changes=True)

    def fail(root: Path, number: int) -> bool:
        told = ""
        with failing_at(number, code) as seen:
            try:
                take_back(root, 3)
            except NexusError as error:
                told = str(error)
        found = recovered(root)
        if "nothing was changed" in told:
            assert found == template.now, f"call {number} ({seen.names[-1]}): {told}"
        else:
            assert not told or "recorded" in told
            assert found == template.before, f"call {number}: {told}"
        answered(root, "task_add", TASK)
        return len(seen.names) < number

    assert until_through(fast_path, template, fail) > 10


@pytest.mark.requirement("undo.refused", "undo.exact")
@pytest.mark.parametrize("name", CHANGES)
def test_undo_after_a_killed_change_is_right_or_refused(fast_path: Path, name: str) -> None:
    """A change that a death kept out of the log is not crossed; one that is in it is taken back."""
    template = Template(fast_path / "template", changes=False)
    there = len(entries(fast_path / "template"))
    outcomes = set()

    def die(root: Path, number: int) -> bool:
        answer = killed(number, lambda: App(Workspace(str(root))).call(name, CHANGES[name]))
        made, noted = recovered(root) != template.before, len(entries(root)) - there
        outcomes.add((made, noted))
        if made and noted:
            take_back(root)
            assert recovered(root) == template.before
        elif made:
            # A first task_add creates its file, about which no entry exists yet: it is not touched.
            now = recovered(root)
            if name != "task_add":
                with pytest.raises(UndoRefused, match="something else changed it"):
                    take_back(root, 2)
            assert recovered(root) == now
        return answer is not None

    until_through(fast_path, template, die)
    assert outcomes == {(False, 0), (True, 0), (True, 1)}


@pytest.mark.requirement("oplog.in-order", "undo.history")
@pytest.mark.parametrize("name", ["task_close", "plan_start"])
def test_interrupted_cycle_is_logged_once(fast_path: Path, name: str) -> None:
    """After a kill at any point of a close or an archiving start, its cycle is logged once, by its own tool."""
    template = Template(fast_path / "template", changes=True)

    def die(root: Path, number: int) -> bool:
        arguments = PLAN if name == "plan_start" else {}
        answer = killed(number, lambda: App(Workspace(str(root))).call(name, arguments, "Client 2"))
        recovered(root)
        history = root / ".nexus/history.json"
        cycles = json.loads(history.read_bytes())["cycles"] if history.exists() else []
        noted = [(entry["tool"], entry["client"], entry["cycle"]) for entry in entries(root) if "cycle" in entry]
        assert noted == [(name, "Client 2", cycle["completed_at"]) for cycle in cycles], f"died at call {number}"
        assert answer is None or cycles
        return answer is not None

    assert until_through(fast_path, template, die) > 10
