"""The four tools of the plan, on plain values."""

from __future__ import annotations

from typing import Any

from tests.model.files import Kept, Refused


class Plans(Kept):
    """A model of the plan tools."""

    def plan_start(self, topic: str, issues: list[str], research_summary: str) -> Any:
        archived = self.plan is not None
        if archived:
            self._archive([])
        highest = max((c["plan"]["id"] for c in self.cycles or [] if c["plan"] is not None), default=0)
        self.plan = {
            "id": highest + 1,
            "topic": topic,
            "issues": [{"id": n, "title": title, "status": "pending"} for n, title in enumerate(issues, 1)],
            "research_summary": research_summary,
            "created_at": self.clock.stamp(),
        }
        self._wrote("state/plan.json")
        return {
            "created": True,
            "plan_id": highest + 1,
            "topic": topic,
            "issueCount": len(issues),
            "previousArchived": archived,
        }

    def plan_status(self) -> Any:
        if self.plan is None:
            return {"active": False}
        statuses = [issue["status"] for issue in self.plan["issues"]]
        answer = {
            "active": True,
            "plan_id": self.plan["id"],
            "topic": self.plan["topic"],
            "issues": self.plan["issues"],
            "summary": {
                "total": len(statuses),
                "pending": statuses.count("pending"),
                "decided": statuses.count("decided"),
            },
        }
        if "research_summary" in self.plan:
            answer["research_summary"] = self.plan["research_summary"]
        return answer

    def plan_update(self, action: str, issue_id: int | None = None, title: str = "") -> Any:
        if self.plan is None:
            raise Refused("No active plan session")
        if action not in {"add", "remove", "edit", "reopen"}:
            raise Refused("Unknown action")
        blank = not title.strip()
        if action == "add" and blank:
            raise Refused("title is required for add")
        if action in {"remove", "reopen"} and issue_id is None:
            raise Refused(f"issue_id is required for {action}")
        if action == "edit" and (blank or issue_id is None):
            raise Refused("issue_id and title are required for edit")
        issues = self.plan["issues"]
        if action == "add":
            made = {"id": 1 + max((i["id"] for i in issues), default=0), "title": title, "status": "pending"}
            issues.append(made)
            self._wrote("state/plan.json")
            return {"added": True, "issue": dict(made)}
        found = self._issue(issue_id)
        self._wrote("state/plan.json")
        if action == "remove":
            issues.remove(found)
            return {"removed": True, "issue": {"id": issue_id}}
        if action == "edit":
            found["title"] = title
            return {"edited": True, "issue": {"id": issue_id, "title": title}}
        found["status"] = "pending"
        found.pop("decision", None)
        return {"reopened": True, "issue": {"id": issue_id, "title": found["title"], "status": "pending"}}

    def plan_decide(self, issue_id: int, decision: str, **how: Any) -> Any:
        if self.plan is None:
            raise Refused("No active plan session")
        found = self._issue(issue_id)
        found.update({"status": "decided", "decision": decision, **how})
        self._wrote("state/plan.json")
        left = [{k: i[k] for k in ("id", "title", "status")} for i in self.plan["issues"] if i["status"] == "pending"]
        answer = {"decided": True, "issue": found["title"], "allComplete": not left}
        return {**answer, "remaining": left} if left else {**answer, "message": ...}

    def _issue(self, issue_id: int | None) -> Any:
        for issue in self.plan["issues"]:
            if issue["id"] == issue_id:
                return issue
        raise Refused(f"Issue {issue_id} not found")
