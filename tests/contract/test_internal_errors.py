"""Internal errors: the message says whether files were changed."""

from __future__ import annotations

import errno
import os
from typing import Any
from unittest.mock import DEFAULT, Mock, patch

import pytest

from nexus_mcp import schemas
from nexus_mcp.server import response_json
from nexus_mcp.store import commit, journal
from nexus_mcp.store.session import SessionCache
from tests.support import SMALLEST, Client, Project, unpack

FULL = OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.mark.requirement("storage.disk")
@pytest.mark.parametrize("tool", ["task_add", "plan_status"])
def test_failed_load_before_writing_changes_nothing(call: Client, project: Project, tool: str) -> None:
    """If a schema or a state module cannot be loaded, no file changes, and the message says so with the reason."""
    call("plan_start", **SMALLEST["plan_start"])
    with patch.object(schemas, "load", side_effect=FULL), patch.object(SessionCache, "read", side_effect=FULL):
        message = call.error(tool, **SMALLEST[tool])
    assert message.startswith(f"Internal error in {tool} (OSError: Too many open files); nothing was changed.")


@pytest.mark.requirement("storage.disk")
@pytest.mark.parametrize("error", [FULL, ImportError("no hashlib")])
def test_failed_journal_load_changes_nothing(call: Client, project: Project, error: Exception) -> None:
    """The modules that a journal needs are loaded before the first write."""
    call("task_add", **SMALLEST["task_add"])
    with patch.object(journal, "digest", side_effect=error):
        assert "nothing was changed" in call.error("task_close")
    assert call("task_close")["archived"]["tasks"] == 1


@pytest.mark.requirement("storage.pending")
def test_failed_load_after_the_commit_point_is_completed_later(call: Client, project: Project) -> None:
    """If a module is missing after the commit point, the change is reported as recorded, and completes."""
    call("task_add", **SMALLEST["task_add"])
    with patch.object(journal, "apply", side_effect=ImportError("no hashlib")):
        content = unpack(call.app.call("task_close", {}))
    assert "is recorded in .nexus/state/txn.json" in content["error"]
    assert call.app.call("plan_status", {}).result["isError"] is False
    assert len(project.json("history.json")["cycles"]) == 1


@pytest.mark.requirement("storage.disk")
@pytest.mark.parametrize("when", ["writing", "answering"])
def test_error_after_writing_claims_no_unchanged_files(call: Client, project: Project, when: str) -> None:
    """After the first write no error claims that nothing was changed."""
    real: Any = commit.write_one

    def failing(*arguments: Any, **more: Any) -> None:
        real(*arguments, **more)
        if when == "writing":
            raise ZeroDivisionError

    failures = [MemoryError, DEFAULT] if when == "answering" else [DEFAULT]
    content = Mock(wraps=response_json.content, side_effect=failures)
    with patch.object(commit, "write_one", failing), patch.object(response_json, "content", content):
        result = call.app.call("task_add", SMALLEST["task_add"]).result
    told = result["structuredContent"]["error"]
    assert "check the present state before you repeat the call" in told
    assert "nothing was changed" not in told
    assert len(project.json("state/tasks.json")["tasks"]) == 1
