"""The projects that the browser tests and the pictures show, made by the tools themselves and by the bench's data."""

from __future__ import annotations

import base64
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nexus_mcp.server.app import App
from nexus_mcp.store import agents as tracker
from nexus_mcp.store import harness_files
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.support import Project, stamp

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE = "<script>window.bad = 1</script><img src=x onerror='window.bad=1'> \x1b[31mred \u202eoverride"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
DAY_MS = 86_400_000
_FIRST_MS = 1_767_323_045_250
"""When the first cycle of `typical` begins, in milliseconds since 1970."""

PAST = (
    (
        "Store bookmarks in one file",
        ("Which format?", "Who may write at the same time?"),
        ("JSON, so that git shows a change", "One writer: a lock file"),
    ),
    (
        "Import bookmarks from browsers",
        ("Which browsers?", "What about folders?"),
        ("Firefox and Chromium", "Folders become tags"),
    ),
    ("Search by title and tag", ("An index, or a scan?",), ("A scan: 2 000 bookmarks take 4 ms",)),
    ("Check links for rot", ("How often?", "Who is told?"), ("Once a week", "The list of dead links is an artifact")),
    ("북마크 동기화 (sync)", ("Which protocol?",), ("WebDAV",)),
    ("مزامنة العلامات 🌍", ("أي خادم؟",), ("خادم واحد لكل مستخدم",)),
)


class Maker:
    """Calls tools on one project, at times that the caller sets."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.project = Project(root)
        self.ms = _FIRST_MS
        self.workspace = Workspace(str(root))
        self.app = App(Workspace(str(root), "claude-code"), now=lambda: self.ms / 1000)

    def __call__(self, tool: str, **arguments: Any) -> Any:
        """Call the tool, and insist on success."""
        answer = self.app.call(tool, arguments)
        assert answer.result["isError"] is False, answer.result
        self.ms += 1000
        return answer.result.get("structuredContent")


def empty(root: Path) -> Path:
    """A folder without .nexus."""
    root.mkdir(parents=True)
    return root


def typical(root: Path, end_ms: int | None = None) -> Path:
    """Six closed cycles, a plan with four questions, eight tasks of three owners, agents, artifacts and notes.

    `end_ms` is the present: the plan began two hours before it.
    """
    call = Maker(root)
    end = end_ms or _FIRST_MS + 100 * DAY_MS
    for number, (topic, questions, decisions) in enumerate(PAST):
        call.ms = end - (len(PAST) - number) * 6 * DAY_MS
        call("plan_start", topic=topic, issues=list(questions), research_summary="The code was read before.")
        for place, decision in enumerate(decisions, 1):
            call(
                "plan_decide",
                issue_id=place,
                decision=decision,
                how_agents=["architect"],
                how_summary={"architect": f"{decision}. It is the simplest form that works."},
            )
        if number == 3:
            call("plan_update", action="reopen", issue_id=1)
            call("plan_decide", issue_id=1, decision="Every night")
        call("task_add", title=f"Write it: {topic}", context="See the decisions.", owner="engineer")
        call("task_add", title="Test it", context="See the decisions.", deps=[1], owner="tester")
        call.ms += (number % 3 + 1) * DAY_MS
        call("task_update", id=1, status="completed")
        call("task_update", id=2, status="completed")
        call("task_close")
    call.ms = end - 7_200_000
    call(
        "plan_start",
        topic="Links survive a restart",
        issues=[
            "Where are links stored?",
            "What happens with two writers?",
            "How are old links moved?",
            "Is there a limit?",
        ],
        research_summary="`store.py` keeps links **in memory** only.\n\n- 40 call sites\n- no migration so far",
    )
    call(
        "plan_decide",
        issue_id=1,
        decision="One JSON file beside the code, replaced atomically.\n\n- readers need no lock\n- `git diff` shows it",
        how_agents=["architect", "reviewer"],
        how_summary={
            "architect": "A file: there are at most 5 000 links.",
            "reviewer": "Agreed, if the write is atomic.",
        },
    )
    call("plan_decide", issue_id=2, decision="A lock file; the second writer waits for two seconds.")
    call("plan_decide", issue_id=3, decision="They are read once at the start, and written in the new form.")
    rows: tuple[tuple[str, str, list[int]], ...] = (
        ("Write links to the file", "engineer", []),
        ("Read links at the start", "engineer", [1]),
        ("Take the lock before a write", "engineer", [1]),
        ("Move old links", "engineer", [2]),
        ("Test a restart in the middle of a write", "tester", [2, 3]),
        ("Describe the file in the README", "writer", []),
        ("링크 이름에 한글 허용 😀", "engineer", []),
        ("اختبار الروابط العربية", "tester", [7]),
    )
    for place, (title, owner, deps) in enumerate(rows, 1):
        more = (
            {"acceptance": "The test `test_restart` passes.", "approach": "Begin with the test."} if place < 4 else {}
        )
        call(
            "task_add",
            title=title,
            context="Decided in question 1.",
            owner=owner,
            deps=deps,
            goal="Links are there after a restart",
            **more,
        )
    call("task_update", id=1, status="completed")
    call("task_update", id=2, status="in_progress")
    call("task_update", id=6, status="in_progress")
    call(
        "artifact_write",
        filename="survey.md",
        content="# Call sites\n\n| File | Calls |\n|---|---|\n| store.py | 12 |\n| cli.py | 28 |\n\nSee [the docs](https://example.com).\n",
    )
    call("artifact_write", filename="logs/restart.txt", content="start\nwrite 1\nkill\nstart\nread 1\n")
    call.project.put("state/artifacts/shot.png", PIXEL)
    call.project.put(
        "memory/empirical-lock-order.md", "<!-- tags: locks, store -->\n# Lock order\n\nTake the store's lock first.\n"
    )
    call.project.put("rules/tests-first.md", "<!-- tags: tests -->\nWrite the test before the code.\n")
    for agent, name, at in (("a1", "engineer", end - 400_000), ("a2", "writer", end - 1_500_000)):
        record(call.workspace, agent, name, at, call.ms)
    return root


def record(workspace: Workspace, agent: str, name: str, at_ms: int, now_ms: int) -> None:
    """Record an agent that runs, and one use of a tool by it."""
    store = Store(workspace, now=lambda: now_ms / 1000)
    event = {"kind": "spawn", "agent_id": agent, "agent_name": name, "session_id": "s1", "at": stamp(at_ms)}
    tracker.record(store, "claude-code", event)
    harness_files.log_tool_uses(
        store, [{"timestamp": stamp(at_ms + 200_000), "agent_id": agent, "tool": "Edit", "path": "store.py"}]
    )


def crowded(root: Path, count: int = 200) -> Path:
    """A list of many tasks: chains that join, some done, and three tasks that wait for each other."""
    rng = random.Random(7)
    owners = ("engineer", "tester", "writer", "reviewer")
    verbs = ("Write", "Test", "Move", "Review", "Describe", "Measure", "Split", "Replace")
    things = (
        "the parser",
        "the index",
        "the cache",
        "the importer",
        "the report",
        "error texts",
        "the journal",
        "the lock",
    )
    tasks: list[dict[str, Any]] = []
    for number in range(1, count + 1):
        near = range(max(1, number - 25), number)
        deps = sorted(rng.sample(near, min(len(near), rng.choice((0, 1, 1, 1, 2)))))
        done = number < count // 4 or (number < count // 2 and rng.random() < 0.4)
        tasks.append(
            {
                "id": number,
                "title": f"{rng.choice(verbs)} {rng.choice(things)} of part {number}",
                "context": "See the plan.",
                "owner": rng.choice(owners),
                "status": "completed" if done else "pending",
                "deps": deps,
                "created_at": stamp(_FIRST_MS + number * 60_000),
            }
        )
    for task in tasks:
        if task["status"] == "completed":
            task["deps"] = [dep for dep in task["deps"] if tasks[dep - 1]["status"] == "completed"]
    ready = [
        task
        for task in tasks
        if task["status"] == "pending" and all(tasks[dep - 1]["status"] == "completed" for dep in task["deps"])
    ]
    for task in ready[:5]:
        task["status"] = "in_progress"
    first, second, third = count - 5, count - 3, count - 1
    tasks[first - 1]["deps"], tasks[second - 1]["deps"], tasks[third - 1]["deps"] = [third], [first], [second]
    made = Project(root)
    root.mkdir(parents=True)
    made.put("state/tasks.json", {"goal": "Everything is moved", "decisions": [], "tasks": tasks})
    return root


def long(root: Path, history: Callable[[int], Path], count: int = 10_000) -> Path:
    """A project with a long history and nothing open. `history` returns a file with that many cycles."""
    (root / ".nexus/state").mkdir(parents=True)
    shutil.copyfile(history(count), root / ".nexus/history.json")
    return root


def hostile(root: Path) -> Path:
    """Hostile text in every field that a page shows."""
    call = Maker(root)
    for _ in range(2):
        call("plan_start", topic=HOSTILE, issues=[HOSTILE, HOSTILE], research_summary=HOSTILE)
        call("plan_decide", issue_id=1, decision=HOSTILE, how_agents=["architect"], how_summary={"architect": HOSTILE})
        call("task_add", title=HOSTILE, context=HOSTILE, owner=HOSTILE, goal=HOSTILE, decisions=[HOSTILE])
        if _ == 0:
            call("task_update", id=1, status="completed")
            call("task_close")
    call(
        "artifact_write",
        filename="x.md",
        content=f"{HOSTILE}\n\n[a](javascript:alert(1)) ![b](http://example.com/x.png)\n",
    )
    call("artifact_write", filename="page.html", content="<script>window.bad = 1</script>")
    call(
        "artifact_write",
        filename="x.svg",
        content='<svg xmlns="http://www.w3.org/2000/svg" onload="window.bad=1"><script>window.bad=1</script></svg>',
    )
    call.project.put("memory/note-x.md", f"<!-- tags: {HOSTILE[:20]} -->\n{HOSTILE}\n")
    return root
