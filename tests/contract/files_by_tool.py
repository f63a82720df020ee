"""The table of the files that each tool needs."""

from __future__ import annotations

from typing import Any

from tests.support import Project, plan, task, tasks

PLAN_TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("plan_start", {"topic": "T", "issues": [], "research_summary": "s"}),
    ("plan_status", {}),
    ("plan_update", {"action": "add", "title": "A"}),
    ("plan_decide", {"issue_id": 1, "decision": "d"}),
    ("task_close", {}),
]


TASK_TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("task_add", {"title": "T", "context": "C"}),
    ("task_list", {}),
    ("task_update", {"id": 1, "status": "completed"}),
    ("task_close", {}),
]


HISTORY_TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("plan_start", {"topic": "T", "issues": [], "research_summary": "s"}),
    ("task_close", {}),
    ("history_search", {}),
    ("history_search", {"query": "a"}),
]


FILES = {"state/plan.json": PLAN_TOOLS, "state/tasks.json": TASK_TOOLS, "history.json": HISTORY_TOOLS}


USES = [(file, tool, arguments) for file, tools in FILES.items() for tool, arguments in tools]


Use = tuple[str, str, dict[str, Any]]


def settle(project: Project) -> None:
    project.put("history.json", {"cycles": [{"branch": "a"}]})
    project.put("state/plan.json", plan())
    project.put("state/tasks.json", tasks(task(1)))
