"""The journal is removed after the commit point, as by `git clean -fdx`: nothing completes the change."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store import journal
from nexus_mcp.workspace import Workspace
from tests.support import SMALLEST


@pytest.fixture
def app(tmp_path: Path) -> App:
    app = App(Workspace(str(tmp_path)))
    for tool in ("plan_start", "task_add"):
        app.call(tool, SMALLEST[tool]).confirm_delivery()
    return app


def _closed(app: App) -> Any:
    return app.call("task_close", {}).result["structuredContent"]


@pytest.mark.parametrize("gone", [".nexus", ".nexus/state", ".nexus/state/txn.json"])
def test_change_without_a_journal_is_reported_as_possibly_lost(app: App, tmp_path: Path, gone: str) -> None:
    """The error says so and names the calls that show the state; it promises nothing."""

    def cleaned(*_: object) -> None:
        path = tmp_path / gone
        path.unlink() if path.is_file() else shutil.rmtree(path)
        raise OSError(2, "No such file or directory")

    with patch.object(journal, "apply", cleaned):
        told = _closed(app)["error"]
    assert "may be lost" in told
    assert "history_search" in told
    assert "Do not repeat it" not in told


def test_change_with_a_journal_is_reported_as_recorded(app: App) -> None:
    """The next call completes it."""
    with patch.object(journal, "apply", side_effect=OSError(5, "Input/output error")):
        told = _closed(app)["error"]
    assert "Do not repeat it: the next call of any tool completes it" in told
    assert app.call("history_search", {}).result["structuredContent"]["total"] == 1


def test_journal_removed_after_the_change_is_no_error(app: App, tmp_path: Path) -> None:
    """The change was made, so the client gets a success."""
    real = journal.apply

    def apply(*arguments: Any) -> list[str]:
        kept = real(*arguments)
        (tmp_path / journal.SHOWN).unlink()
        return kept

    with patch.object(journal, "apply", apply):
        assert _closed(app)["closed"] is True
    assert app.call("history_search", {}).result["structuredContent"]["total"] == 1


def test_removed_workspace_is_reported_as_possibly_lost(app: App, tmp_path: Path) -> None:
    """With `.nexus` the history was removed, too: no call completes the change, although it had been applied."""
    real = journal.apply

    def apply(*arguments: Any) -> list[str]:
        kept = real(*arguments)
        shutil.rmtree(tmp_path / ".nexus")
        return kept

    with patch.object(journal, "apply", apply):
        told = _closed(app)["error"]
    assert "may be lost" in told
    assert "Do not repeat it" not in told


def test_recovery_with_a_removed_journal_promises_nothing(app: App, tmp_path: Path) -> None:
    """A later call that cannot complete the change says that it may be lost."""
    with patch.object(journal, "apply", side_effect=OSError(5, "Input/output error")):
        _closed(app)

    def gone(*_: object) -> None:
        (tmp_path / journal.SHOWN).unlink()
        raise OSError(5, "Input/output error")

    with patch.object(journal, "apply", gone):
        told = app.call("plan_status", {}).result["structuredContent"]["error"]
    assert "was removed" in told
    assert "history_search" in told
