"""Undo refuses with a reason, and changes nothing."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.errors import NewerVersion, PathRefused, StateError, UndoRefused
from nexus_mcp.state.oplog import undone_ids
from tests.store.oplog_support import PLAN, TASK, answered, entries, files, take_back
from tests.support import SMALLEST

LOG = ".nexus/state/oplog.jsonl"
Spoil = Callable[[Path], object]


def _edit(name: str, change: Callable[[bytes], bytes]) -> Spoil:
    return lambda root: (root / name).write_bytes(change((root / name).read_bytes()))


def _log_entry(**change: Any) -> Spoil:
    def spoil(root: Path) -> None:
        *others, last = entries(root)
        (root / LOG).write_text("".join(json.dumps(entry) + "\n" for entry in [*others, {**last, **change}]))

    return spoil


NO_FILE: list[dict[str, Any]] = [{"name": "tasks.json", "after": None, "before": None}]
SPOILED: dict[str, tuple[Spoil, int, str]] = {
    "edited": (_edit(".nexus/state/tasks.json", lambda data: data.replace(b"Do", b"Go")), 1, "something else changed"),
    "removed": (lambda root: (root / ".nexus/state/tasks.json").unlink(), 1, "tasks.json is not what task_update of"),
    "older edited": (_edit(".nexus/state/plan.json", lambda data: data + b" "), 3, "plan.json is not what plan_start"),
    "too many": (
        lambda root: None,
        5,
        "nothing was changed. nexus-mcp undo 4 takes all 4 back",
    ),
    "torn": (_edit(LOG, lambda data: data + b'{"version": 1, "to'), 1, "Line 5 of the operation log cannot be read"),
    "torn before": (_edit(LOG, lambda data: b"x" + data), 4, "Line 1 of the operation log cannot be read"),
    "newer": (_log_entry(version=2), 1, "Line 4 of the operation log cannot be read"),
    "no text kept": (_log_entry(files=[{"name": "tasks.json", "after": None}]), 1, "was not kept"),
    "wrong text": (
        _edit(LOG, lambda data: data.replace(b'"text":"pending"', b'"text":"completed"')),
        1,
        "has a wrong record",
    ),
    "another file": (_log_entry(files=[{**NO_FILE[0], "name": "../../x"}]), 1, "cannot be read"),
    "no log": (lambda root: (root / LOG).unlink(), 1, "has no changes that can be taken back"),
}


@pytest.mark.requirement("undo.refused", "undo.all-or-nothing")
@pytest.mark.parametrize("case", SPOILED)
def test_refused_undo_takes_nothing_back(tmp_path: Path, case: str) -> None:
    """A file that differs from the log is named, and no change is taken back."""
    spoil, count, problem = SPOILED[case]
    answered(tmp_path, "task_add", TASK)
    answered(tmp_path, "plan_start", PLAN)
    answered(tmp_path, "artifact_write", SMALLEST["artifact_write"])
    answered(tmp_path, "task_update", SMALLEST["task_update"])
    spoil(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(UndoRefused) as refused:
        take_back(tmp_path, count)
    assert problem in str(refused.value)
    assert "nothing was changed" in str(refused.value)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.requirement("undo.refused")
@pytest.mark.parametrize("there", ["nothing", ".nexus", ".nexus/state"])
def test_undo_without_a_log_is_refused(tmp_path: Path, there: str) -> None:
    """Where there is no log there is nothing to take back, and nothing is made."""
    root = tmp_path / "project"
    (root / ("" if there == "nothing" else there)).mkdir(parents=True)
    before = list(root.rglob("*"))
    with pytest.raises(UndoRefused, match="no changes that can"):
        take_back(root)
    assert list(root.rglob("*")) == before


@pytest.mark.requirement("undo.refused")
def test_unreadable_log_is_refused(tmp_path: Path) -> None:
    """A link in the log's place is not followed, and a log of a size that is none of ours is not read."""
    answered(tmp_path, "task_add", TASK)
    log = tmp_path / LOG
    log.rename(tmp_path / "away.jsonl")
    log.symlink_to(tmp_path / "away.jsonl")
    with pytest.raises(PathRefused):
        take_back(tmp_path)
    log.unlink()
    with log.open("wb") as file:
        file.truncate(9 << 20)
    with pytest.raises(StateError, match=r"larger .* The next recorded change shortens it or sets it aside\."):
        take_back(tmp_path)
    assert files(tmp_path).keys() == {"tasks.json"}
    answered(tmp_path, "task_update", SMALLEST["task_update"])
    assert take_back(tmp_path)["files"] == {"tasks.json": True}


@pytest.mark.requirement("undo.history")
def test_forged_undo_of_a_close_is_ignored(tmp_path: Path) -> None:
    """No change before a cycle is undone, even if another line of the log claims that the close was taken back."""
    answered(tmp_path, "task_add", TASK)
    answered(tmp_path, "task_close")
    close = entries(tmp_path)[-1]
    answered(tmp_path, "task_add", TASK)
    _log_entry(undoes=[close["id"]])(tmp_path)
    assert undone_ids(list(enumerate(entries(tmp_path)))) == set()
    with pytest.raises(UndoRefused, match="only grows"):
        take_back(tmp_path)


@pytest.mark.requirement("undo.history")
@pytest.mark.parametrize("barrier", ["task_close", "plan_start"])
def test_a_cycle_is_never_crossed(tmp_path: Path, barrier: str) -> None:
    """Undo never removes a cycle: it stops at that change, which it names."""
    answered(tmp_path, "plan_start", PLAN)
    answered(tmp_path, "task_add", TASK)
    answered(tmp_path, barrier, SMALLEST[barrier])
    answered(tmp_path, "task_add", TASK)
    at = entries(tmp_path)[2]["at"]
    with pytest.raises(
        UndoRefused, match=f"{barrier} of {at} put a cycle into the history, which only grows"
    ) as refused:
        take_back(tmp_path, 2)
    assert "nexus-mcp undo 1 takes back as much as possible" in str(refused.value)
    take_back(tmp_path, 1)
    with pytest.raises(UndoRefused, match="only grows"):
        take_back(tmp_path, 1)


@pytest.mark.requirement("undo.valid")
def test_log_with_invalid_content_is_refused(tmp_path: Path) -> None:
    """Undo writes no content that a later read would refuse, whatever the log contains."""
    answered(tmp_path, "plan_start", PLAN)
    answered(tmp_path, "plan_decide", SMALLEST["plan_decide"])
    for bad, error in ((b"{", StateError), (b'{"id": 1}', StateError), (b'{"schema_version": "1.0", ', NewerVersion)):
        data = (tmp_path / ".nexus/state/plan.json").read_bytes()
        text = bad + data[1:] if error is NewerVersion else bad
        before = {"size": len(text), "crc32": zlib.crc32(text), "prefix": 0, "suffix": 0, "text": text.decode()}
        after = {"size": len(data), "crc32": zlib.crc32(data)}
        _log_entry(files=[{"name": "plan.json", "after": after, "before": before}])(tmp_path)
        with pytest.raises(error):
            take_back(tmp_path)
        assert (tmp_path / ".nexus/state/plan.json").read_bytes() == data
