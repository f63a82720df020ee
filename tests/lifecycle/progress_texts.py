"""A plan and tasks, and the progress text that a model gets for them."""

from __future__ import annotations

from nexus_mcp.briefing.progress import HEAD
from tests.support import issue, plan, task, tasks

PLAN, TASKS = ".nexus/state/plan.json", ".nexus/state/tasks.json"
THE_PLAN = plan(topic="Storage", issues=[issue(1, "Where?"), issue(2, "How?", "decided", decision="In files")])
THE_TASKS = tasks(
    task(1, "Write", status="completed"),
    task(2, "Read", status="in_progress", owner="engineer"),
    task(3, "Index", deps=[1]),
    task(4, "Docs", deps=[2]),
    goal="Store",
)
PLAN_TEXT = """Plan 1, topic "Storage": 1 pending, 1 decided.
- issue 1, pending: "Where?"
- issue 2, decided: "How?": "In files\""""
TASKS_TEXT = """Tasks, goal "Store": 4 in all, 1 completed, 1 in progress, 2 pending. Ready: task 3.
- task 2, in progress: "Read", owner "engineer"
- task 3, ready: "Index\""""
BOTH = "\n\n".join((HEAD, PLAN_TEXT, TASKS_TEXT))
