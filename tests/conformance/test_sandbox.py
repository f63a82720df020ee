"""The folder of a fixture is filled, read and removed without leaving it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.tokens import fill_fixture
from nexus_mcp.conformance.trial.sandbox import Sandbox
from nexus_mcp.conformance.trial.snapshot import Snapshot, changed_paths, digest, snapshot
from nexus_mcp.conformance.trial.workspace_root import WorkspaceRoot
from tests.conformance.support import made

CONTEXT: dict[str, Any] = {"action": {"tool": "context"}}


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    root = WorkspaceRoot()
    yield root.sandbox()
    root.remove()


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder, os.O_RDONLY)
    yield fd
    os.close(fd)


def seen(folder: Path) -> Snapshot:
    with opened(folder) as fd:
        return snapshot(fd)


def test_project_is_an_empty_repository_with_the_precondition(sandbox: Sandbox) -> None:
    """A project is an empty repository with the files of the precondition, tokens in paths replaced."""
    state_files: dict[str, Any] = {
        "{STATE_ROOT}/{HARNESS_ID}/agent-tracker.json": [],
        ".nexus/history.json": {},
        "gone.json": None,
    }
    files = {"text": "é", "deep/link": {"symlink": "../text"}, "empty": {"directory": True}, ".git/HEAD": "odd"}
    fixture = made(CONTEXT, precondition={"state_files": state_files, "files": files})
    sandbox.lay(fill_fixture(fixture, sandbox.project, "mine"))
    assert {path: what for path, what in sandbox.snapshot().items() if not path.startswith(".git/")} == {
        ".git": f"folder with mode {Path(sandbox.project, '.git').stat().st_mode & 0o777:o}",
        ".nexus": "folder",
        ".nexus/history.json": digest(b"{}"),
        ".nexus/state": "folder",
        ".nexus/state/mine": "folder",
        ".nexus/state/mine/agent-tracker.json": digest(b"[]\n"),
        "deep": "folder",
        "deep/link": "-> ../text",
        "empty": "folder",
        "text": digest("é".encode()),
    }
    assert (sandbox.read(".git/HEAD"), sandbox.read(".git/config") != b"") == (b"odd", True)


def test_sandbox_reads_only_files_inside(sandbox: Sandbox, tmp_path: Path) -> None:
    """A file is read, also through links that stay inside; no file outside is read, and no FIFO is opened."""
    root = Path(sandbox.project)
    (tmp_path / "secret").write_text("secret")
    (root / "file").write_text("text")
    (root / "inside").symlink_to("file")
    (root / "outside").symlink_to(tmp_path / "secret")
    (root / "dangling").symlink_to("nothing")
    (root / "up").symlink_to("../../..")
    os.mkfifo(root / "pipe")
    paths = ("file", "inside", "outside", "dangling", "up/secret", "pipe", ".", "nothing", "file/below")
    assert [sandbox.read(path) for path in paths] == [b"text", b"text", b"", b"", b"", b"", b"", None, None]


@pytest.mark.parametrize("path", ["up/file", "up/new/file"])
def test_nothing_is_written_through_a_link(sandbox: Sandbox, tmp_path: Path, path: str) -> None:
    """A link on the way stops a write, and its target stays unchanged."""
    Path(sandbox.project, "up").symlink_to(tmp_path)
    (tmp_path / "file").write_text("kept")
    before = seen(tmp_path)
    with pytest.raises(OSError, match="a link is in the path"):
        sandbox.write(path, b"lost", None)
    assert changed_paths(before, seen(tmp_path)) == []


@pytest.mark.parametrize(
    ("content", "symlink", "what"), [(b"new", None, digest(b"new")), (None, "file", "-> file"), (None, None, None)]
)
@pytest.mark.parametrize("before", ["absent", "file", "link", "folder"])
def test_write_replaces_a_link_itself(
    sandbox: Sandbox, before: str, content: bytes | None, symlink: str | None, what: str | None
) -> None:
    """A write replaces any existing entry, including a link itself."""
    place = Path(sandbox.project, "a", "b")
    place.parent.mkdir()
    if before == "file":
        place.write_text("old")
    elif before == "link":
        place.symlink_to("elsewhere")
    elif before == "folder":
        (place / "c").mkdir(parents=True)
    sandbox.write("a/b", content, symlink)
    assert sandbox.snapshot() == {"a": "folder", **({"a/b": what} if what else {})}
