"""Define the calls of the demo: one whole cycle, in the order in which a coding agent would send them."""

from __future__ import annotations

from typing import Any, NamedTuple


class Step(NamedTuple):
    """One call. `show` names the printed fields of the response (empty: all; "task.id" is a nested field).

    `fails` marks a call that fails on purpose.
    """

    why: str
    tool: str
    arguments: dict[str, Any]
    show: tuple[str, ...] = ()
    fails: bool = False


class Chapter(NamedTuple):
    """A titled group of calls."""

    title: str
    steps: tuple[Step, ...]


TASK = ("task.id", "task.deps", "task.status")
READY = ("summary.total", "summary.completed", "summary.pending", "summary.ready")
REPORT = "# Load test\n\n10 000 links, 8 writers: no code used twice.\n"

CYCLE = (
    Chapter(
        "Plan",
        (
            Step(
                "Three questions are open.",
                "plan_start",
                {
                    "topic": "Keep short links across restarts",
                    "issues": ["Where are links stored?", "How are codes chosen?", "What happens to old links?"],
                    "research_summary": "Links live in a dict; codes are its length, so two writers may get the same.",
                },
            ),
            Step(
                "Settle them one by one.",
                "plan_decide",
                {"issue_id": 1, "decision": "SQLite, one table, the code is the primary key."},
            ),
            Step("", "plan_decide", {"issue_id": 2, "decision": "A counter in base 36."}),
            Step(
                "A wrong id is an error, and changes nothing.",
                "plan_decide",
                {"issue_id": 9, "decision": "Keep them for ever."},
                fails=True,
            ),
            Step("", "plan_decide", {"issue_id": 3, "decision": "Kept for a year after the last visit."}),
            Step("Review: a counter can be guessed.", "plan_update", {"action": "reopen", "issue_id": 2}),
            Step(
                "",
                "plan_decide",
                {
                    "issue_id": 2,
                    "decision": "Seven random characters; try again on a clash.",
                    "how_agents": ["architect"],
                    "how_summary": {"architect": "36^7 codes: a clash is rare, and the primary key catches it."},
                },
            ),
            Step("", "plan_status", {}, ("plan_id", "summary")),
        ),
    ),
    Chapter(
        "Work",
        (
            Step(
                "The decisions become tasks that wait for each other.",
                "task_add",
                {
                    "title": "Store links in SQLite",
                    "context": "shortlink/app.py keeps them in a dict",
                    "acceptance": "A link survives a restart",
                    "goal": "Links survive restarts",
                    "plan_issue": 1,
                    "owner": "engineer",
                },
                TASK,
            ),
            Step(
                "",
                "task_add",
                {
                    "title": "Random codes",
                    "context": "shorten() in shortlink/app.py",
                    "deps": [1],
                    "plan_issue": 2,
                    "owner": "engineer",
                },
                TASK,
            ),
            Step(
                "",
                "task_add",
                {"title": "Load test", "context": "8 writers at once", "deps": [1, 2], "owner": "tester"},
                TASK,
            ),
            Step("What can be started now?", "task_list", {}, READY),
            Step("", "task_update", {"id": 1, "status": "in_progress"}, TASK),
            Step("", "task_update", {"id": 1, "status": "completed"}, TASK),
            Step("Task 1 is done, so 2 is ready.", "task_list", {}, READY),
            Step("", "task_update", {"id": 2, "status": "completed"}, TASK),
            Step("Task 2 is done, so 3 is ready.", "task_list", {}, READY),
            Step("The tester leaves a report.", "artifact_write", {"filename": "load/report.md", "content": REPORT}),
            Step("", "task_update", {"id": 3, "status": "completed"}, TASK),
            Step("Where do we stand?", "context", {}),
        ),
    ),
    Chapter(
        "Close, and look back",
        (
            Step("Plan and tasks go into the history, together.", "task_close", {}),
            Step("Later, in another session:", "history_search", {"query": "sqlite"}),
        ),
    ),
)
