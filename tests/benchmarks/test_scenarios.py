"""Small runs of what is measured, with our server and with one that answers wrongly."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.data import history as generator
from benchmarks.data import project as places
from benchmarks.data.history import HEAD, TAIL
from benchmarks.figures import OURS, Figures
from benchmarks.goals import HISTORY_PARTS
from benchmarks.peers.servers import Server, script
from benchmarks.reader import Seen, look
from benchmarks.scenarios import history, tasks
from benchmarks.scenarios.bench import Bench

# Lists one task too few, whatever was added.
FORGETFUL = """
import json, sys
count = 5
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    name = asked["params"].get("name")
    count += name == "task_add"
    content = {"task_add": {"task": {"id": count}}, "task_update": {"task": {"status": "in_progress"}}}.get(
        name, {"tasks": [{"id": n + 1, "status": "in_progress" if n < 1 else "pending"} for n in range(count - 1)]})
    result = {"tools": []} if asked["method"] == "tools/list" else {"structuredContent": content}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.fixture
def bench(tmp_path: Path, fast_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """One round of the work on history, with our server alone."""
    monkeypatch.setattr(generator, "DATA", tmp_path)
    monkeypatch.setattr(places, "PLACE", fast_path)
    return Bench([Server(OURS, (*script(), "serve"))], 1, HISTORY_PARTS, Figures())


def test_work_on_history(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is right and no reader sees half a file; each kind of work has a time, by a fresh server too."""
    monkeypatch.setattr(history, "SIZES", (20,))
    monkeypatch.setattr(history, "LARGE", 20)
    monkeypatch.setattr(history, "OFTEN", 1)
    history.run(bench)
    assert bench.figures.wrong == []
    assert bench.figures.values.keys() == {f"{part}-20" for part in HISTORY_PARTS}
    assert all(value > 0 for row in bench.figures.values.values() for value in row[OURS])


def test_a_wrong_answer_is_noticed(bench: Bench) -> None:
    """A server that is fast because it forgets a task is not fast, but wrong."""
    forgetful = Server(OURS, (sys.executable, "-c", FORGETFUL))
    tasks.run(Bench([forgetful], 0, frozenset(), bench.figures), count=5, calls=1)
    told = [text.partition(":")[2].strip().partition(":")[0] for text in bench.figures.wrong]
    assert told == ["task_add, task.title", "task_update, task.id", "task_list, goal"]


@pytest.mark.parametrize(
    ("data", "parse", "half"),
    [
        (HEAD + b"    {}" + TAIL, True, 0),
        (HEAD + b"    {}" + TAIL[:-1], False, 1),
        (HEAD + b'    {"a": ' + TAIL, False, 0),
        (HEAD + b'    {"a": ' + TAIL, True, 1),
        (b"", False, 1),
    ],
)
def test_half_a_file_is_seen(tmp_path: Path, data: bytes, parse: bool, half: int) -> None:
    """A look counts a file that does not end as a history does, or with parsing one that is no JSON, and its size."""
    path = tmp_path / "history.json"
    path.write_bytes(data)
    seen = Seen()
    look(path, seen, parse=parse)
    assert seen == Seen(looks=1, half=half, sizes={len(data)})


def test_no_file_is_half_a_file(tmp_path: Path) -> None:
    """A history that is gone for a moment is one that a reader cannot read."""
    seen = Seen()
    look(tmp_path / "history.json", seen, parse=False)
    assert (seen.half, seen.sizes) == (1, {-1})
