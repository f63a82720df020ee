"""The four tools of the tasks, on plain values."""

from __future__ import annotations

from typing import Any

from tests.model.files import Kept, Refused


class Tasks(Kept):
    """A model of the task tools."""

    def task_add(
        self, title: str, context: str, goal: str = "", decisions: tuple[str, ...] = (), **optional: Any
    ) -> Any:
        if self.tasks is None:
            self.tasks = {"goal": "", "decisions": [], "tasks": []}
        made = {
            "id": 1 + max((t["id"] for t in self.tasks["tasks"]), default=0),
            "title": title,
            "context": context,
            "status": "pending",
            "deps": [],
            "created_at": self.clock.stamp(),
            **optional,
        }
        if goal.strip():
            self.tasks["goal"] = goal
        self.tasks["decisions"] += decisions
        self.tasks["tasks"].append(made)
        self._wrote("state/tasks.json")
        return {"task": made}

    def task_list(self) -> Any:
        if self.tasks is None:
            return {"exists": False}
        rows = self.tasks["tasks"]
        statuses = [row["status"] for row in rows]
        done = {row["id"] for row in rows if row["status"] == "completed"}
        return {
            "goal": self.tasks["goal"],
            "tasks": rows,
            "summary": {
                "total": len(rows),
                "completed": statuses.count("completed"),
                "pending": statuses.count("pending"),
                "blocked": statuses.count("in_progress"),
                "ready": [row["id"] for row in rows if row["status"] == "pending" and set(row["deps"]) <= done],
            },
        }

    def task_update(self, id: int, status: str) -> Any:
        if self.tasks is None:
            raise Refused("tasks.json not found")
        for row in self.tasks["tasks"]:
            if row["id"] == id:
                row["status"] = status
                self._wrote("state/tasks.json")
                return {"task": row}
        raise Refused(f"Task id {id} not found")

    def task_close(self) -> Any:
        if self.plan is None and self.tasks is None and self.lost is not None:
            answer, self.lost = self.lost, None
            return answer
        plan, tasks = self.plan, self.tasks
        rows = tasks["tasks"] if tasks is not None else []
        decided = [i for i in plan["issues"] if i["status"] == "decided"] if plan is not None else []
        topics = [plan["topic"] if plan is not None else "", tasks["goal"] if tasks is not None else ""]
        cycle = self._archive(rows)
        self.plan = self.tasks = None
        return {
            "closed": True,
            "cycle": cycle["completed_at"],
            "branch": self.branch,
            "archived": {"plan": plan is not None, "decisions": len(decided), "tasks": len(rows)},
            "deleted": [name for name, had in (("plan.json", plan), ("tasks.json", tasks)) if had is not None],
            "total_cycles": len(self.cycles or []),
            "memoryHint": {
                "taskCount": len(rows),
                "decisionCount": len(decided),
                "cycleTopics": [text for text in topics if text],
            },
        }
