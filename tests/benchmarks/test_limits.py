"""A limit that a row is compared with does the same work as the server: it may not lose tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.bare import adding, answer_command, first_modules, load_time, parse_time
from benchmarks.client import Connection, NotMeasurable, payload
from benchmarks.data import history as generator
from benchmarks.data import project as places
from benchmarks.data.tasks import tasks_file
from benchmarks.figures import OURS, Figures
from benchmarks.goals import BARE_CROWD, PARSED, READ
from benchmarks.scenarios import limits, start
from benchmarks.scenarios.bench import Bench


def test_bare_processes_lose_nothing(tmp_path: Path) -> None:
    """Each of them adds under the lock: every id is there, once and in order."""
    tasks = tmp_path / "tasks.json"
    tasks.write_bytes(tasks_file(3))
    rate, times = adding(tasks, processes=3, calls=4)
    assert (rate > 0, len(times)) == (True, 12)
    assert [task["id"] for task in json.loads(tasks.read_bytes())["tasks"]] == list(range(1, 3 + 3 * 4 + 1))


def test_a_bare_server_answers_and_writes(tmp_path: Path) -> None:
    """The bare server returns the added task and writes the same bytes into another file."""
    tasks = tmp_path / "tasks.json"
    tasks.write_bytes(tasks_file(3))
    with Connection(answer_command(tasks), tmp_path) as bare:
        for _ in range(2):
            taken, line = bare.ask("tools/call", {"name": "task_add", "arguments": start.TASK})
    assert (taken > 0, payload(line)) == (True, {"task": {"id": 1, **start.TASK, "status": "pending", "deps": []}})
    assert tasks.read_bytes() == tasks_file(3)


def test_a_bare_process_that_fails_is_not_measured(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A file that is no JSON has no time."""
    (tmp_path / "history.json").write_text("{")
    with pytest.raises(NotMeasurable, match="no answer"):
        parse_time("json", tmp_path / "history.json")
    assert "JSONDecodeError" in capfd.readouterr().err


def test_each_row_gets_its_own_limits(tmp_path: Path, fast_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of a selected part gets its limits; no other row gets any."""
    monkeypatch.setattr(generator, "DATA", tmp_path)
    monkeypatch.setattr(places, "PLACE", fast_path)
    for name, value in (("SIZES", (20,)), ("LARGE", 20), ("CROWDS", (2,)), ("PROCESSES", 2), ("CALLS", 2)):
        monkeypatch.setattr(limits, name, value)
    monkeypatch.setattr(limits, "PARSED", {"json": PARSED["json"]})
    figures = Figures()
    limits.run(Bench([], 1, frozenset({"clone-plan", "crowd"}), figures))
    assert {row: set(series) for row, series in figures.values.items()} == {
        "clone-plan-20": {PARSED["json"], READ},
        "crowd-2": {BARE_CROWD},
        "crowd-p99-2": {BARE_CROWD},
    }
    assert OURS not in figures.values["crowd-2"]


def test_limit_of_a_first_call_loads_only_its_late_modules(fast_path: Path) -> None:
    """Those that a start does not load; one that only reads has fewer of them."""
    (fast_path / ".git").mkdir()
    names = {tool: first_modules(fast_path, tool, {}) for tool in ("task_list", "task_close")}
    assert set(names["task_list"]) < set(names["task_close"])
    assert "nexus_mcp.store.commit" in names["task_close"]
    assert "nexus_mcp.server.app" not in names["task_close"]
    assert load_time(names["task_list"]) > 0


def test_bare_first_write_creates_the_same_files(fast_path: Path) -> None:
    """The bare first write creates two folders, the .gitignore in one of them, and the tasks, as our server does."""
    start._first_write(fast_path)
    found = {str(path.relative_to(fast_path)) for path in fast_path.rglob("*")}
    assert found == {".nexus", ".nexus/.gitignore", ".nexus/state", ".nexus/state/tasks.json"}
