"""Projects to look at: typical, large with a cycle, with wide and with hostile texts."""

from __future__ import annotations

from typing import Any

from nexus_mcp.server.app import App
from nexus_mcp.state.times import stamp
from nexus_mcp.store import agents as tracker
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.support import Project

Call = tuple[str, dict[str, Any]]
HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202eevil\u202c <script>x</script> [bold red]x[/] [link=file:///etc]y[/link] "
    ":smile: \r\n\t\u200bend"
)
"""A text with escape sequences, bidirectional marks, markup of rich, HTML and line ends."""
WIDE = (
    "설정 파일 캐시의 키를 계산하고 버전을 함께 저장합니다",
    "اكتب دليل المستخدم للذاكرة",
    "Ship 🎉 the 日本語 release",
)
"""Titles with wide characters, a script from right to left, and emoji."""


def call(project: Project, *calls: Call, harness: str = "claude-code", client: str = "Claude Code") -> None:
    """Make these calls of tools in the project."""
    for tool, arguments in calls:
        answer = App(Workspace(str(project.root), harness)).call(tool, arguments, client)
        answer.confirm_delivery()
        assert answer.result["isError"] is False, answer.result


def task(title: str, **more: Any) -> Call:
    return "task_add", {"title": title, "context": "Why it is needed.", **more}


def plan(topic: str, *issues: str) -> Call:
    return "plan_start", {"topic": topic, "issues": list(issues), "research_summary": ""}


def status(task_id: int, to: str) -> Call:
    return "task_update", {"id": task_id, "status": to}


TYPICAL: tuple[Call, ...] = (
    plan("Read configuration files", "Which format?"),
    ("plan_decide", {"issue_id": 1, "decision": "TOML"}),
    task("Write the reader"),
    status(1, "completed"),
    ("task_close", {}),
    plan("Cache parsed files", "Where is the cache?", "Is there a switch?"),
    ("plan_decide", {"issue_id": 1, "decision": "In the cache folder of the user."}),
    task("Compute the key", owner="engineer", goal="Start in 200 ms"),
    task(
        "Write cache files atomically",
        owner="engineer",
        deps=[1],
        plan_issue=1,
        approach="Take the helper.\n\n- never follow a link\n- ignore a torn file",
        acceptance="A kill leaves the old file or the new one.",
        risk="A full disk.",
    ),
    task("Remove the old files"),
    task("Describe the cache", owner="writer", deps=[2, 3]),
    status(1, "completed"),
    status(2, "in_progress"),
)


def typical(project: Project) -> None:
    """A closed cycle, a plan with an open question, four tasks, one running agent."""
    call(project, *TYPICAL)
    store = Store(Workspace(str(project.root)))
    event = {"kind": "spawn", "agent_id": "a1", "agent_name": "engineer", "session_id": "s", "at": stamp(1_000.0)}
    tracker.record(store, "codex", event)


def large(project: Project) -> None:
    """200 tasks; 60, 61 and 62 wait for each other, 90 waits for a task that does not exist."""
    special = {60: [61], 61: [62], 62: [60], 90: [999]}
    rows = [
        {
            "id": number,
            "title": f"Move part {number} of the code to the new storage engine",
            "context": "c",
            "status": "completed" if number <= 20 else "pending",
            "deps": special.get(number, [number - 7] if number > 27 else []),
            "created_at": stamp(1_000.0 + number),
            "owner": ("engineer", "tester", "writer")[number % 3],
        }
        for number in range(1, 201)
    ]
    call(project, plan("Port everything", *(f"Question {number}?" for number in range(1, 15))))
    project.put("state/tasks.json", {"goal": "", "decisions": [], "tasks": rows})


def wide(project: Project) -> None:
    """Titles and owners in scripts with wide characters."""
    call(project, plan(WIDE[0], WIDE[1]), *(task(title, owner="엔지니어") for title in WIDE))


def hostile(project: Project) -> None:
    """Every text of plan, tasks and client is hostile."""
    calls = (
        plan(HOSTILE, HOSTILE),
        task(HOSTILE, owner=HOSTILE, approach=HOSTILE, acceptance=HOSTILE, risk=HOSTILE, goal=HOSTILE, plan_issue=1),
        task(HOSTILE, deps=[1], owner="x" * 150),
        task("w" * 300),
    )
    call(project, *calls, client=HOSTILE)
    event = {"kind": "spawn", "agent_id": HOSTILE, "agent_name": HOSTILE, "session_id": "s", "at": stamp(1_000.0)}
    tracker.record(Store(Workspace(str(project.root))), "codex", event)


def corrupt(project: Project) -> None:
    """A readable plan, a task list and a history that are no JSON."""
    call(project, plan("Printer", "Which colour?"), task("x"))
    project.put("state/tasks.json", '{"goal": "secret", ')
    project.put("history.json", "secret")


def empty(project: Project) -> None:
    """Nothing was done yet."""
