"""The operation log has an entry for each change, and never blocks a change."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp import schemas
from nexus_mcp.server.app import App
from nexus_mcp.store import journal, oplog
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.store.oplog_support import PLAN, TASK, answered, entries
from tests.support import Client, Clock, Project


def mark(data: bytes) -> dict[str, int]:
    return {"size": len(data), "crc32": zlib.crc32(data)}


@pytest.mark.requirement("oplog.entry")
def test_entry_has_tool_harness_and_client(project: Project, clock: Clock) -> None:
    """An entry has time, tool, harness, client, and the replaced content of the file."""
    app = App(Workspace(str(project.root), "claude-code"), "nx_", now=clock)
    app.call("nx_task_add", {**TASK, "title": "Ä"}, "Cl\ud800 1").confirm_delivery()
    first = project.get("state/tasks.json")
    clock.advance()
    app.call("nx_task_update", {"id": 1, "status": "completed"}).confirm_delivery()
    added, updated = entries(project.root)
    common = {"version": 1, "harness_id": "claude-code"}
    assert added == {
        **common,
        "id": added["id"],
        "at": clock.stamp(-125),
        "tool": "task_add",
        "client": "Cl\ud800 1",
        "what": "adds task 1",
        "files": [{"name": "tasks.json", "after": mark(first), "before": None}],
    }
    text = {
        "prefix": first.index(b'pending"'),
        "suffix": len(first) - first.index(b'",\n      "deps'),
        "text": "pending",
    }
    assert updated == {
        **common,
        "id": updated["id"],
        "at": clock.stamp(),
        "tool": "task_update",
        "client": "",
        "what": "sets task 1 to completed",
        "files": [
            {"name": "tasks.json", "after": mark(project.get("state/tasks.json")), "before": {**mark(first), **text}}
        ],
    }
    assert added["id"] != updated["id"]


@pytest.mark.requirement("oplog.entry")
def test_every_change_has_one(call: Client, project: Project) -> None:
    """Each successful change is one line that keeps the schema; a cycle is named, and then no earlier text is kept."""
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("plan_start", PLAN, "starts plan 1"),
        ("plan_update", {"action": "add", "title": "Three"}, "adds issue 3"),
        ("plan_update", {"action": "edit", "issue_id": 3, "title": "3"}, "edits issue 3"),
        ("plan_update", {"action": "remove", "issue_id": 3}, "removes issue 3"),
        ("plan_decide", {"issue_id": 1, "decision": "Yes"}, "decides issue 1"),
        ("plan_update", {"action": "reopen", "issue_id": 1}, "reopens issue 1"),
        ("task_add", TASK, "adds task 1"),
        ("task_update", {"id": 1, "status": "in_progress"}, "sets task 1 to in_progress"),
        ("artifact_write", {"filename": "a/b.md", "content": "x"}, ""),
        ("plan_start", PLAN, "starts plan 2"),
        ("task_close", {}, "archives 1 task and plan 2"),
        ("task_close", {}, "archives 0 tasks"),
    ]
    for name, arguments, _ in calls:
        call(name, **arguments)
    found = entries(project.root)
    assert [(entry["tool"], entry.get("what", "")) for entry in found] == [(name, what) for name, _, what in calls]
    assert [schemas.faults(schemas.load("oplog/entry"), entry) for entry in found] == [[]] * len(calls)
    cycles = [cycle["completed_at"] for cycle in project.json("history.json")["cycles"]]
    assert [entry["cycle"] for entry in found if "cycle" in entry] == cycles
    named = [[file["name"] for file in entry["files"]] for entry in found[-4:]]
    assert named == [["artifacts/a/b.md"], ["plan.json"], ["plan.json", "tasks.json"], []]
    assert all("before" in file for entry in found[:9] for file in entry["files"])
    assert not any("before" in file for entry in found[9:] for file in entry["files"])


@pytest.mark.requirement("oplog.entry")
def test_refusals_and_reads_have_none(call: Client, project: Project) -> None:
    """A failed call, a reading call and a hook add no line, and create no log."""
    call.error("task_update", id=1, status="pending")
    call("task_list")
    assert not project.nexus.exists()
    call("task_add", **TASK)
    before = entries(project.root)
    call.error("task_update", id=7, status="pending")
    call("context")
    assert entries(project.root) == before


@pytest.mark.requirement("oplog.in-order")
def test_four_processes_log_every_change_in_order(tmp_path: Path) -> None:
    """Of four processes at once every change is noted, whole, and in the order in which they were made."""
    code = (
        "import sys\nfrom tests.store.oplog_support import *\n"
        "for n in range(1, 16):\n"
        "    answered(Path(sys.argv[1]), 'task_add', {'title': 't', 'context': 'ä' * n}, sys.argv[2])"
    )
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(number)], env=where) for number in range(4)
    ]
    assert [process.wait(120) for process in running] == [0] * 4
    found = entries(tmp_path)
    assert sorted(entry["client"] for entry in found) == sorted("0123" * 15)
    assert [entry["what"] for entry in found] == [f"adds task {number}" for number in range(1, 61)]
    changes = [entry["files"][0] for entry in found]
    for earlier, later in itertools.pairwise(changes):
        assert {name: later["before"][name] for name in ("size", "crc32")} == earlier["after"]
    assert changes[-1]["after"] == mark((tmp_path / ".nexus/state/tasks.json").read_bytes())


@pytest.mark.requirement("oplog.bounded")
def test_log_stays_below_its_limit(tmp_path: Path) -> None:
    """The log loses its older half rather than grow beyond its limit; the newest change is always there."""
    with patch.object(oplog, "LIMIT", 2000):
        for number in range(1, 21):
            answered(tmp_path, "task_add", TASK)
            assert (tmp_path / ".nexus/state/oplog.jsonl").stat().st_size <= 2000
            assert entries(tmp_path)[-1]["what"] == f"adds task {number}"
    assert 1 < len(entries(tmp_path)) < 10


@pytest.mark.requirement("oplog.bounded")
def test_too_long_text_is_left_out_of_the_entry(tmp_path: Path) -> None:
    """The old content of a file is omitted if the line would become too long; the other fields stay."""
    answered(tmp_path, "artifact_write", {"filename": "a", "content": "\x01" * 50_000})  # \u0001 in JSON
    answered(tmp_path, "artifact_write", {"filename": "a", "content": "short"})
    answered(tmp_path, "artifact_write", {"filename": "a", "content": "x" * (1 << 20) + "x"})
    answered(tmp_path, "artifact_write", {"filename": "a", "content": "again"})
    kept = [entry["files"] for entry in entries(tmp_path)]
    assert [list(file) for (file,) in kept] == [
        ["name", "after", "before"],
        ["name", "after"],
        ["name", "after", "before"],
        ["name", "after"],
    ]
    assert kept[-1] == [{"name": "artifacts/a", "after": mark(b"again")}]


def test_lines_of_other_versions_are_no_entries(tmp_path: Path) -> None:
    """A line of a newer version, one that breaks the schema, and one that names a file elsewhere are not entries."""
    answered(tmp_path, "task_add", TASK)
    (good,) = entries(tmp_path)
    changes: list[dict[str, Any]] = [{"version": 2}, {"id": "x"}, {"more": 1}, {"files": {}}]
    for name in ("../history.json", "artifacts/../x", "artifacts", "artifacts/", "lock", "/etc/passwd", "a/plan.json"):
        changes.append({"files": [{"name": name, "after": None, "before": None}]})
    changes += [{"files": [{"name": "artifacts/a/b", "after": None}]}, {}]
    lines = [json.dumps({**good, **change}) for change in changes]
    (tmp_path / ".nexus/state/oplog.jsonl").write_text("\n".join(lines))
    with Folder.root(str(tmp_path)) as root, Folder.child(root, ".nexus") as nexus:  # type: ignore[union-attr]
        state = nexus.child("state")
        assert state is not None
        found = oplog.read(state)
        state.close()
    assert [entry is not None for _, entry in found] == [False] * 11 + [True, True]


def test_journal_without_an_entry_is_logged_anyway(project: Project, clock: Clock) -> None:
    """The call that completes a close of an older nexus-mcp adds its entry, with the known facts."""
    cycle: dict[str, Any] = {
        "schema_version": "0.5",
        "completed_at": clock.stamp(),
        "branch": "main",
        "plan": None,
        "tasks": [],
    }
    project.put("state/tasks.json", b'{"goal":"","decisions":[],"tasks":[]}')
    record = journal.record(cycle, {"tasks.json": (project.get("state/tasks.json"), None)}, None)
    assert "log" not in record
    project.put("state/txn.json", record)
    answered(project.root, "plan_status")
    assert entries(project.root) == [
        {
            "version": 1,
            "id": record["id"],
            "at": clock.stamp(),
            "tool": "unknown",
            "harness_id": "nexus-mcp",
            "client": "",
            "cycle": clock.stamp(),
            "files": [{"name": "tasks.json", "after": None}],
        }
    ]
