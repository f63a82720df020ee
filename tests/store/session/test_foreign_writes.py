"""A process that has read the files before answers like a fresh one, after any write of another process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from nexus_mcp.server.app import App
from nexus_mcp.store import journal
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.support import Client, Project, task, tasks

COUNT = 1000
# Writes the numbers from 1 on into one task of many, now in the middle and now at an end, without our lock. Files of
# equal length follow each other within one tick of the clock, and each number is told once the file has it.
WRITER = """
import json, os, sys
path, count = sys.argv[1], int(sys.argv[2])
value = json.load(open(path))
for number in range(1, count + 1):
    value["goal"] = f"{number:06}"
    value["tasks"][number % len(value["tasks"])]["title"] = f"{number:06}"
    with open(path + ".new", "w") as file:
        file.write(json.dumps(value, indent=number % 50 and 2) + "\\n")
    os.replace(path + ".new", path)
"""


def test_constant_foreign_writes_are_read_whole(project: Project) -> None:
    """Each read is whole, never older than an earlier fresh read, never newer than a later one."""
    path = project.put("state/tasks.json", tasks(*(task(n, "000000") for n in range(1, 8)), goal="000000"))
    store = Store(Workspace(str(project.root)))
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(COUNT)]) as writer:
        seen = ""
        while seen != f"{COUNT:06}":
            assert writer.poll() in (None, 0)
            before = json.loads(path.read_bytes())["goal"]
            found: Any = store.tasks()
            after = json.loads(path.read_bytes())["goal"]
            assert before <= found["goal"] <= after
            assert max(item["title"] for item in found["tasks"]) == found["goal"]
            seen = found["goal"]
    assert store.tasks() == json.loads(path.read_bytes())


def test_two_servers_take_turns(make_app: Callable[..., App], project: Project, call: Client) -> None:
    """Two servers and a person change one file by turns: each answers as a server that has just been started."""
    other = Client(make_app(project.root), project)
    for number in range(1, 13):
        one, two = (call, other) if number % 2 else (other, call)
        one("task_add", title=f"é {number}", context="x" * number)
        two("task_update", id=number, status="completed")
        one("task_update", id=(number + 1) // 2, status="in_progress")
        if number % 4 == 0:
            text = project.get("state/tasks.json").replace(b'"pending"', b'"completed"').replace(b"    ", b"  ")
            project.put("state/tasks.json", text)
        fresh = Client(make_app(project.root), project)
        wanted = fresh("task_list")
        assert (one("task_list"), two("task_list")) == (wanted, wanted)
    assert [item["id"] for item in wanted["tasks"]] == list(range(1, 13))


def test_an_answer_may_be_changed(call: Client) -> None:
    """A caller may change its answer: the next answer equals the file."""
    call("task_add", title="Mine", context="Text", deps=[1])
    answer = call("task_list")
    answer["tasks"][0]["deps"].append("spoilt")
    answer["tasks"].clear()
    call("task_add", title="Second", context="Text")
    assert [(item["title"], item["deps"]) for item in call("task_list")["tasks"]] == [("Mine", [1]), ("Second", [])]


LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "plan_status": ("plan.json", {"active": False}),
    "task_list": ("tasks.json", {"exists": False}),
    "history_search": ("history.json", {"total": 2, "showing": 2}),
}


@pytest.mark.parametrize("tool", LOOKS)
def test_change_begun_during_a_read_is_completed(
    call: Client, project: Project, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    """A journal that appears while a file is read is completed, and the file is read again."""
    opened, after = LOOKS[tool]
    call("task_close")
    call("plan_start", topic="T", issues=["a"], research_summary="")
    call("task_add", title="Mine", context="Text")
    real = Folder.open
    journals: list[bool] = []

    def open_(folder: Folder, name: str, *others: Any) -> int:
        fd = real(folder, name, *others)
        if name == opened and not journals:
            # As a server dies that has just put the journal of a task_close in its place.
            with monkeypatch.context() as dying:
                dying.setattr(journal, "apply", _died)
                journals.append(False)
                journals[0] = App(Workspace(str(project.root))).call("task_close", {}).result["isError"]
        return fd

    monkeypatch.setattr(Folder, "open", open_)
    assert call.app.call(tool, {}).result["structuredContent"].items() >= after.items()
    assert journals == [True]
    assert not (project.state / "txn.json").exists()


def _died(*_: object) -> None:
    raise OSError(5, "gone")
