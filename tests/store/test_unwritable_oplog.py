"""With an unwritable operation log every change succeeds, and one warning is logged."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp import log
from nexus_mcp.errors import StateError, StorageError
from nexus_mcp.server.app import App
from nexus_mcp.state import oplog as log_entries
from nexus_mcp.store import jsonl, oplog
from nexus_mcp.store.codec import compact, decode
from nexus_mcp.store.folder import Folder
from nexus_mcp.workspace import Workspace
from tests.store.crash_points import failing_at
from tests.store.oplog_support import PLAN, TASK, answered, entries, files, take_back
from tests.support import SMALLEST


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    """Return the warnings of the test; earlier warnings count as new."""
    seen: list[str] = []
    with patch.object(log, "warning", seen.append), patch.object(oplog, "_warned", set()):
        yield seen


@pytest.mark.requirement("oplog.no-hindrance", "oplog.own-file")
@pytest.mark.parametrize("kind", ["folder", "link", "dangling", "hard link", "pipe"])
def test_other_file_in_place_of_the_log_is_kept(tmp_path: Path, kind: str, warnings: list[str]) -> None:
    """With another file in the log's place every change is made and answered; one warning names the file, which
    stays.
    """
    answered(tmp_path, "plan_start", PLAN)
    place, outside = tmp_path / ".nexus/state/oplog.jsonl", tmp_path / "outside"
    place.unlink()
    outside.write_bytes(b"kept")
    make: dict[str, Callable[[], object]] = {
        "folder": place.mkdir,
        "link": lambda: place.symlink_to(outside),
        "dangling": lambda: place.symlink_to(tmp_path / "nowhere"),
        "hard link": lambda: place.hardlink_to(outside),
        "pipe": lambda: os.mkfifo(place),
    }
    make[kind]()
    before = place.lstat()
    for name in ("plan_decide", "task_add", "task_update", "artifact_write", "plan_start", "task_close"):
        answered(tmp_path, name, SMALLEST[name])
    assert len(json.loads((tmp_path / ".nexus/history.json").read_bytes())["cycles"]) == 2
    assert (place.lstat().st_ino, place.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert outside.read_bytes() == b"kept"
    assert not (tmp_path / "nowhere").exists()
    assert len(warnings) == 1
    assert "could not record a change in .nexus/state/oplog.jsonl" in warnings[0]
    assert "nothing was changed" not in warnings[0]
    assert "call again" not in warnings[0]


@pytest.mark.requirement("oplog.no-hindrance")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EMFILE])
@pytest.mark.parametrize("name", ["task_add", "task_close", "artifact_write"])
def test_failing_log_does_not_fail_the_change(tmp_path: Path, name: str, code: int, warnings: list[str]) -> None:
    """If any call of writing the log fails, the change succeeds, one warning is logged, and the next change is
    logged.
    """
    noting = "note_cycle" if name == "task_close" else "note"
    real = getattr(oplog, noting)
    failed: list[str] = []
    number = 0

    def add(*arguments: Any) -> None:
        with failing_at(number, code) as seen:
            real(*arguments)
        failed.extend(seen.names[number - 1 : number])

    while len(failed) == number:
        number += 1
        answered(tmp_path, "task_add", TASK)
        before = files(tmp_path)
        with patch.object(oplog, noting, add):
            answered(tmp_path, name, SMALLEST[name])
        assert files(tmp_path) != before or (name, number) > ("artifact_write", 1)
    assert failed == ["open", "pread", "write"] + ["open", "fsync"] * (name == "task_close")
    assert len(warnings) == 1
    answered(tmp_path, "task_add", TASK)
    log_ = (tmp_path / ".nexus/state/oplog.jsonl").read_bytes()
    assert json.loads(log_.splitlines()[-1])["tool"] == "task_add"


@pytest.mark.requirement("oplog.entry")
@pytest.mark.parametrize("name", ["task_add", "artifact_write"])
def test_unconfirmed_change_is_logged(tmp_path: Path, name: str) -> None:
    """A visible change has an entry, although its call failed because the disk did not confirm it."""
    answered(tmp_path, name, SMALLEST[name])
    real = Folder.rename

    def rename(self: Folder, old: str, new: str) -> None:
        real(self, old, new)
        unsynced.start()

    unsynced = patch.object(Folder, "sync", side_effect=OSError(errno.EIO, "Input/output error"))
    with patch.object(Folder, "rename", rename):
        answer = App(Workspace(str(tmp_path))).call(name, SMALLEST[name])
    unsynced.stop()
    assert "did not confirm" in answer.result["structuredContent"]["error"]
    assert [entry["tool"] for entry in entries(tmp_path)] == [name, name]


@pytest.mark.requirement("oplog.no-hindrance")
def test_failed_entry_does_not_fail_the_change(tmp_path: Path, warnings: list[str]) -> None:
    """Not even a fault of our own in noting fails a change."""
    with patch.object(oplog, "_line", side_effect=ZeroDivisionError("oops")):
        answered(tmp_path, "task_add", TASK)
    assert files(tmp_path).keys() == {"tasks.json"}
    assert warnings == [
        "could not record a change in .nexus/state/oplog.jsonl: oops. The change was made; undo stops at it."
    ]


SMALL: dict[str, Any] = {
    "version": 1,
    "id": "0" * 16,
    "at": "2026-01-02T03:04:05.250Z",
    "tool": "t",
    "harness_id": "x",
    "client": "",
    "files": [],
}


@pytest.mark.requirement("oplog.bounded")
def test_bad_lines_cost_nothing(tmp_path: Path) -> None:
    """Lines too short for an entry are not parsed, and none is when an entry is looked for that is not there."""
    (tmp_path / "oplog.jsonl").write_bytes(b"{x}\n" * 10_000 + compact(SMALL).encode())
    with patch.object(jsonl, "decode", wraps=decode) as parse, Folder.root(str(tmp_path)) as state:
        assert oplog.read(state)[-1] == (10_001, SMALL)
        assert parse.call_count == 1
        assert oplog.skip_if_logged(state, SMALL) is None
        assert parse.call_count == 2
        other = {**SMALL, "id": "1" * 16}
        assert oplog.skip_if_logged(state, other) is other
        assert parse.call_count == 2


@pytest.mark.requirement("oplog.bounded")
def test_too_large_log_is_refused(tmp_path: Path) -> None:
    """A log of more than twice the limit is refused, and not read."""
    with (tmp_path / "oplog.jsonl").open("wb") as file:
        file.truncate(2 * oplog.LIMIT + 1)
    with Folder.root(str(tmp_path)) as state, pytest.raises(StateError, match="larger than the 2 MiB"):
        oplog.read(state)


@pytest.mark.requirement("oplog.bounded", "oplog.own-file")
def test_foreign_log_is_kept_aside(tmp_path: Path, warnings: list[str]) -> None:
    """A file without an entry of ours in its older half is renamed whole, and a new log is begun."""
    answered(tmp_path, "task_add", TASK)
    state = tmp_path / ".nexus/state"
    foreign = (b'{"foreign": "%s"}\n' % (b"x" * 100)) * 90
    for name in ("conflict-oplog.jsonl", "conflict-oplog.2.jsonl"):
        (state / "oplog.jsonl").write_bytes(foreign)
        with patch.object(oplog, "LIMIT", 10_000):
            answered(tmp_path, "task_add", TASK)
        assert (state / name).read_bytes() == foreign
        assert [entry["tool"] for entry in entries(tmp_path)] == ["task_add"]
    assert len(warnings) == 2


@pytest.mark.requirement("oplog.no-hindrance", "undo.all-or-nothing")
@pytest.mark.parametrize("tool", ["task_close", "plan_start"])
def test_missing_checksum_module_does_not_fail_a_close(tmp_path: Path, tool: str, warnings: list[str]) -> None:
    """A module that cannot be loaded (no descriptor left) fails no change with a cycle; undo then changes nothing."""
    answered(tmp_path, "plan_start", PLAN)
    answered(tmp_path, "task_add", TASK)
    before = files(tmp_path)
    with patch.object(log_entries, "file_after", side_effect=ImportError("No module named 'zlib'")):
        with pytest.raises(StorageError, match="nothing was changed"):
            take_back(tmp_path, 2)
        assert files(tmp_path) == before
        answered(tmp_path, tool, SMALLEST[tool])
    assert len(json.loads((tmp_path / ".nexus/history.json").read_bytes())["cycles"]) == 1
    assert not (tmp_path / ".nexus/state/txn.json").exists()
    assert len(warnings) == 1
    assert "No module named 'zlib'" in warnings[0]
