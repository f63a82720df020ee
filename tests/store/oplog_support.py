"""Helpers of the operation log's tests: calls, the entries of the log, and undo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nexus_mcp.server.app import App
from nexus_mcp.state.oplog import By
from nexus_mcp.store.store import Store, undo
from nexus_mcp.workspace import Workspace

PLAN: dict[str, Any] = {"topic": "Topic", "issues": ["One", "Two"], "research_summary": ""}
TASK: dict[str, Any] = {"title": "Do it", "context": "Because"}
BY = By("undo", "nexus-mcp", "test")


def answered(root: Path, name: str, arguments: dict[str, Any] | None = None, client: str = "Client 1") -> Any:
    """The answer of a call that succeeds."""
    answer = App(Workspace(str(root), "claude-code")).call(name, arguments, client)
    answer.confirm_delivery()
    assert answer.result["isError"] is False, answer.result
    return answer.result["structuredContent"]


def entries(root: Path) -> list[dict[str, Any]]:
    """Every line of the log, each of which has to be readable."""
    log = root / ".nexus/state/oplog.jsonl"
    return [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []


def take_back(root: Path, count: int = 1, *, dry_run: bool = False) -> dict[str, Any]:
    return undo(Store(Workspace(str(root))), BY, count, dry_run=dry_run)


def files(root: Path) -> dict[str, bytes]:
    """The files that undo may touch, by their path from .nexus/state."""
    state = root / ".nexus/state"
    found = [state / "plan.json", state / "tasks.json", *(state / "artifacts").rglob("*")]
    return {path.relative_to(state).as_posix(): path.read_bytes() for path in found if path.is_file()}
