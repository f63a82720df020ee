"""Undo refuses a hostile log and changes nothing, and every later call works."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.errors import NexusError
from tests.store.oplog_support import PLAN, answered, files, take_back

ENTRY: dict[str, Any] = {
    "version": 1,
    "id": "0" * 16,
    "at": "2026-01-02T03:04:05.250Z",
    "tool": "task_add",
    "harness_id": "x",
    "client": "c",
}
EMPTY: dict[str, Any] = {"size": 0, "crc32": 0, "prefix": 0, "suffix": 0, "text": ""}


def comes(name: str) -> dict[str, Any]:
    """A file that undo should make."""
    return {"name": f"artifacts/{name}", "after": None, "before": EMPTY}


def stays_away(name: str) -> dict[str, Any]:
    return {"name": f"artifacts/{name}", "after": None, "before": None}


def plant(root: Path, *of: list[dict[str, Any]]) -> None:
    lines = [json.dumps({**ENTRY, "id": f"{number:016x}", "files": files}) for number, files in enumerate(of)]
    (root / ".nexus/state/oplog.jsonl").write_text("\n".join(lines) + "\n")


@pytest.mark.requirement("undo.refused", "undo.all-or-nothing")
@pytest.mark.parametrize(
    "planted",
    [
        [[comes("a"), comes("a/b")]],
        [[comes("a"), stays_away("a/b")]],
        [[comes("A"), stays_away("a/b")]],
        [[comes("\u00e9"), stays_away("e\u0301/b")]],
        [[comes("a/b/c"), comes("a")]],
        [[comes("a")], [stays_away("a/b")]],
        [[comes("x/y")]],
        [[comes("x/y"), comes("c")]],
    ],
    ids=str,
)
def test_incompatible_files_are_refused(tmp_path: Path, planted: list[list[dict[str, Any]]]) -> None:
    """A file that would be the folder of another, and one whose folder is missing, are refused before the journal."""
    answered(tmp_path, "plan_start", PLAN)
    answered(tmp_path, "artifact_write", {"filename": "other", "content": ""})
    plant(tmp_path, *planted)
    before = files(tmp_path)
    with pytest.raises(NexusError, match=r"both as a file and as a folder|its folder is gone"):
        take_back(tmp_path, len(planted))
    assert files(tmp_path) == before
    assert not (tmp_path / ".nexus/state/txn.json").exists()
    answered(tmp_path, "task_list")


@pytest.mark.requirement("undo.refused")
@pytest.mark.parametrize("others", [[], [comes("c")]], ids=["alone", "with another"])
def test_delta_to_invalid_text_is_refused(tmp_path: Path, others: list[dict[str, Any]]) -> None:
    """Bytes that are not UTF-8 are refused, by one rule for one file and for several."""
    answered(tmp_path, "artifact_write", {"filename": "a.md", "content": "a\u00e9z"})
    after, was = "a\u00e9z".encode(), b"a\xc3z"
    mark = {"size": len(after), "crc32": zlib.crc32(after)}
    before = {"size": len(was), "crc32": zlib.crc32(was), "prefix": 2, "suffix": 1, "text": ""}
    plant(tmp_path, [{"name": "artifacts/a.md", "after": mark, "before": before}, *others])
    with pytest.raises(NexusError, match="is not UTF-8 text; nothing was changed"):
        take_back(tmp_path)
    assert files(tmp_path) == {"artifacts/a.md": after}


@pytest.mark.requirement("undo.refused")
def test_artifact_that_was_no_text_cannot_be_restored(tmp_path: Path) -> None:
    """Content that was no text is not stored, even if the replaced bytes by themselves would be text."""
    answered(tmp_path, "artifact_write", {"filename": "a.md", "content": "zz"})
    (tmp_path / ".nexus/state/artifacts/a.md").write_bytes(b"a\xc3z")
    answered(tmp_path, "artifact_write", {"filename": "a.md", "content": "a\u00e9z"})
    answered(tmp_path, "plan_start", PLAN)
    before = files(tmp_path)
    with pytest.raises(NexusError, match="was not kept"):
        take_back(tmp_path, 2)
    assert files(tmp_path) == before
