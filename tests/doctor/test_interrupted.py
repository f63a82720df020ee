"""The leftovers of dead processes, and the same files of live processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nexus_mcp.doctor.finding import CAP
from nexus_mcp.server.app import App
from nexus_mcp.state import oplog
from nexus_mcp.store import journal
from nexus_mcp.workspace import Workspace
from tests.doctor.support import answered, codes, look, only, whole_cycle
from tests.store.crash_points import dying_at, killed
from tests.support import Project

HOLDER = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
os.pwrite(fd, b"%-10d\\n" % os.getpid(), 0)
print("held", flush=True)
sys.stdin.read()
"""


def interrupted_close(root: Path) -> None:
    """Record a close whose process died before it was applied, with its prepared history."""
    whole_cycle(root, close=False)
    (root / ".nexus/state/lock").write_bytes(b"")  # the lock of a copy vouches for nothing, so that of both has to
    copy = root.with_name("copy")
    shutil.copytree(root, copy)
    with dying_at(1_000_000) as seen:
        App(Workspace(str(copy))).call("task_close", {})
    recorded = seen.names.index("replace") + 1  # counted from 1: the journal's rename is the first of a close
    killed(recorded + 1, lambda: App(Workspace(str(root))).call("task_close", {}))
    assert (root / ".nexus/state/txn.json").exists()


def test_recorded_change_is_reported_until_completed(bare: Project) -> None:
    """A recorded, interrupted change is reported until the next call completes it."""
    interrupted_close(bare.root)
    before = bare.get("state/txn.json")
    found = {finding.code: finding for finding in look(bare.root).findings}
    assert found.keys() == {"journal-pending", "leftover"}
    assert found["journal-pending"].file == ".nexus/state/txn.json"
    assert found["leftover"].file.startswith(".nexus/.nexus-tmp-")
    assert bare.get("state/txn.json") == before
    answered(bare.root, "context")
    assert codes(bare.root) == ["unanswered-close"]
    answered(bare.root, "task_add", title="t", context="c")
    assert codes(bare.root) == []


def test_recorded_close_of_a_broken_history_names_the_history(bare: Project) -> None:
    """If no call can complete a close because the history is unreadable, the report names the history to repair
    first.
    """
    whole_cycle(bare.root)
    interrupted_close(bare.root)
    bare.put("history.json", "{")
    found = {finding.code: finding for finding in look(bare.root).findings}
    assert found["journal-pending"].next_step == "Repair .nexus/history.json first. Then any call completes the change."


def test_recorded_close_of_a_newer_history_is_reported(bare: Project) -> None:
    """A close whose history has become one that is only read cannot be completed here."""
    whole_cycle(bare.root)
    interrupted_close(bare.root)
    bare.put("history.json", {"schema_version": "9.0", "cycles": []})
    found = {finding.code: finding for finding in look(bare.root).findings}
    assert found["journal-pending"].next_step.startswith("Update nexus-mcp first")


@pytest.mark.parametrize(
    ("path", "content", "wanted"),
    [("artifacts/a/b.md/c", "", "b.md: it has to be a file"), ("artifacts", "", "artifacts: it has to be a folder")],
)
def test_obstacle_of_a_recorded_change_is_reported_first(bare: Project, path: str, content: str, wanted: str) -> None:
    """An entry in the place of a file that the change will write is reported first."""
    answered(bare.root, "task_add", title="t", context="c")
    noted = oplog.entry("a" * 16, "1970-01-01T00:00:00.000Z", oplog.By(oplog.UNDO, "default", ""), [])
    record = journal.record(None, {"artifacts/a/b.md": (None, b"text")}, None, noted)
    bare.put("state/txn.json", json.dumps(record))
    bare.put(f"state/{path}", content)
    found = {finding.code: finding for finding in look(bare.root).findings}
    assert wanted in found["journal-pending"].next_step


def test_receipt_of_another_cycle_is_no_finding(bare: Project) -> None:
    """A receipt whose answer belongs to another cycle is no undelivered close, because no call would return it."""
    whole_cycle(bare.root, close=False)
    App(Workspace(str(bare.root))).call("task_close", {}).drop_delivery()
    (receipt,) = bare.state.glob("closed-*")
    value = json.loads(receipt.read_bytes())
    value["answer"]["cycle"] = "1970-01-01T00:00:00.000Z"
    receipt.write_text(json.dumps(value))
    assert codes(bare.root) == ["foreign-marker"]


def test_recorded_change_without_a_cycle_is_reported(bare: Project) -> None:
    """The report of a change without a cycle has no time."""
    noted = oplog.entry("a" * 16, "1970-01-01T00:00:00.000Z", oplog.By(oplog.UNKNOWN, "default", ""), [])
    bare.put("state/txn.json", json.dumps(journal.record(None, {}, None, noted)))
    problems = [finding.problem for finding in look(bare.root).findings if finding.code == "journal-pending"]
    assert problems == ["holds an incomplete change"]


def test_receipt_of_a_dead_process_is_reported(bare: Project) -> None:
    """A receipt counts as undelivered once its process has ended, and not before."""
    whole_cycle(bare.root, close=False)
    answer = App(Workspace(str(bare.root))).call("task_close", {})
    assert codes(bare.root) == []
    answer.drop_delivery()
    finding = only(bare.root)
    assert finding.code == "unanswered-close"
    assert answer.result["structuredContent"]["cycle"] in finding.problem
    assert answered(bare.root, "task_close") == answer.result["structuredContent"]
    assert codes(bare.root) == []


def test_looking_takes_no_receipt(bare: Project) -> None:
    """After doctor has read the receipt of a close, the next close still returns its answer, once."""
    whole_cycle(bare.root, close=False)
    App(Workspace(str(bare.root))).call("task_close", {}).drop_delivery()
    assert codes(bare.root) == codes(bare.root) == ["unanswered-close"]
    assert answered(bare.root, "task_close")["total_cycles"] == 1


def test_many_leftovers_are_counted(made: Project) -> None:
    """Of many leftovers the first ones are listed and all are counted."""
    for number in range(CAP + 30):
        made.put(f"state/.nexus-tmp-{number:03}", "")
    made.put("state/artifacts/.nexus-tmp-x", "")
    report = look(made.root)
    assert [finding.code for finding in report.findings] == ["leftover"] * CAP
    assert report.more == {"leftover": 31}
    assert report.totals["warning"] == CAP + 31
    assert report.entries == 4 + CAP + 31


def test_many_receipt_files_are_counted(made: Project) -> None:
    """Of many files like receipts the first are looked into and all are counted."""
    for number in range(CAP + 5):
        made.put(f"state/closed-{number:03}.json", "{}")
    report = look(made.root)
    assert report.totals == {"error": 0, "warning": 5, "note": CAP}


def test_files_of_a_living_process_are_no_findings(bare: Project) -> None:
    """Files of a process that holds the lock are no finding; after its end they are."""
    interrupted_close(bare.root)
    bare.put("state/.nexus-tmp-1", "x")
    bare.put("state/closed-1.json", "{}")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", HOLDER, str(bare.state / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        finding = only(bare.root)
        assert finding.code == "lock-held"
        assert f"process {process.pid} (" in finding.problem
    assert codes(bare.root) == ["foreign-marker", "journal-pending", "leftover", "leftover"]


def test_leftovers_without_a_lock_file_are_reported(bare: Project) -> None:
    """Without a lock file no process holds the lock: leftovers are reported, and no lock file is created."""
    interrupted_close(bare.root)
    os.unlink(bare.state / "lock")
    assert codes(bare.root) == ["journal-pending", "leftover"]
    assert not (bare.state / "lock").exists()
