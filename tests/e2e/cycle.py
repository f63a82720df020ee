"""The work of a cycle as a list of turns, the same in each client, with one wrong call and one of wrong types."""

from __future__ import annotations

from typing import Any

from tests.e2e.model.script import Turn


def tool(name: str, /, **arguments: Any) -> Turn:
    """Return a turn that calls one tool."""
    return {"tool": name, "input": arguments}


WORK: tuple[Turn, ...] = (
    tool("plan_start", topic="Keep links", issues=["Where are links?", "How are codes?"], research_summary="A dict."),
    tool("plan_decide", issue_id=1, decision="SQLite, one table."),
    tool("plan_decide", issue_id=2, decision="Six random characters."),
    tool("task_add", title="Store", context="Write the store.", acceptance="A restart keeps links."),
    tool("task_add", title="Codes", context="Random codes.", deps=[1]),
    tool("task_update", id=99, status="completed"),
    tool("task_update", id="one", status="done"),
    tool("task_update", id=1, status="in_progress"),
    tool("artifact_write", filename="reports/run.md", content="# Run\n\nAll is fine.\n"),
    tool("task_update", id=1, status="completed"),
    tool("task_update", id=2, status="completed"),
)
"""The turns from the plan to the last completed task; the test adds task_close and history_search."""
