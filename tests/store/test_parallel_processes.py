"""Several processes on one project lose no acknowledged write and make none twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ADD = """
import sys
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
app = App(Workspace(sys.argv[1]))
for number in range(int(sys.argv[3])):
    answer = app.call("task_add", {"title": f"{sys.argv[2]}-{number}", "context": "c"})
    assert not answer.result["isError"], answer.result
    print(answer.result["structuredContent"]["task"]["id"], flush=True)
"""
START = """
import sys
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
app = App(Workspace(sys.argv[1]))
for number in range(int(sys.argv[3])):
    arguments = {"topic": f"{sys.argv[2]}-{number}", "issues": ["a"], "research_summary": ""}
    answer = app.call("plan_start", arguments)
    assert not answer.result["isError"], answer.result
    print(answer.result["structuredContent"]["plan_id"], flush=True)
"""
CLOSE = """
import sys
from nexus_mcp.server.app import App
from nexus_mcp.workspace import Workspace
app = App(Workspace(sys.argv[1]))
for number in range(int(sys.argv[3])):
    answer = app.call("task_close", {})
    assert not answer.result["isError"], answer.result
    print(answer.result["structuredContent"]["archived"]["tasks"], flush=True)
    answer.confirm_delivery()
"""


def together(root: Path, *programs: tuple[str, int]) -> list[list[int]]:
    """Run the programs at once, each this often; return the numbers that each printed."""
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(root), str(index), str(times)], stdout=subprocess.PIPE)
        for index, (code, times) in enumerate(programs)
    ]
    printed = [process.communicate(timeout=120)[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * len(running)
    return [[int(number) for number in numbers] for numbers in printed]


def test_tasks_of_four_processes_are_all_there(tmp_path: Path) -> None:
    """Four processes adding 25 tasks each end with 100 tasks, numbered 1 to 100."""
    answered = together(tmp_path, *[(ADD, 25)] * 4)
    stored = json.loads((tmp_path / ".nexus/state/tasks.json").read_text())["tasks"]
    assert sorted(number for numbers in answered for number in numbers) == list(range(1, 101))
    assert [task["id"] for task in stored] == list(range(1, 101))
    assert {task["title"] for task in stored} == {f"{who}-{number}" for who in range(4) for number in range(25)}


def test_plans_of_four_processes_are_all_archived(tmp_path: Path) -> None:
    """Every plan that was started is in the history or open, with an id of its own."""
    answered = together(tmp_path, *[(START, 8)] * 4)
    cycles = json.loads((tmp_path / ".nexus/history.json").read_text())["cycles"]
    last = json.loads((tmp_path / ".nexus/state/plan.json").read_text())
    plans = [*(cycle["plan"] for cycle in cycles), last]
    assert [plan["id"] for plan in plans] == list(range(1, 33))
    assert {plan["topic"] for plan in plans} == {f"{who}-{number}" for who in range(4) for number in range(8)}
    assert sorted(number for numbers in answered for number in numbers) == list(range(1, 33))
    times = [cycle["completed_at"] for cycle in cycles]
    assert times == sorted(set(times))


def test_simultaneous_adding_and_closing_archives_each_task_once(tmp_path: Path) -> None:
    """Whatever the closers catch, each added task is archived once or still open, and each close has its cycle."""
    answered = together(tmp_path, (ADD, 30), (ADD, 30), (CLOSE, 12), (CLOSE, 12))
    cycles = json.loads((tmp_path / ".nexus/history.json").read_text())["cycles"]
    left = tmp_path / ".nexus/state/tasks.json"
    still_open = json.loads(left.read_text())["tasks"] if left.exists() else []
    titles = [task["title"] for cycle in cycles for task in cycle["tasks"]] + [task["title"] for task in still_open]
    assert sorted(titles) == sorted(f"{who}-{number}" for who in range(2) for number in range(30))
    assert len(cycles) == 24
    assert sorted(n for numbers in answered[2:] for n in numbers) == sorted(len(cycle["tasks"]) for cycle in cycles)
