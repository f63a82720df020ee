"""Small runs of the benchmark scenarios, with our server and with one that answers wrongly."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import results
from benchmarks.data import history as generator
from benchmarks.data import project as places
from benchmarks.data.history import HEAD, TAIL
from benchmarks.figures import NODE, OURS, Figures
from benchmarks.goals import FIRST_WRITTEN, HISTORY_PARTS, PIPED, SIZES, WRITTEN
from benchmarks.peers.servers import Server, Session, script
from benchmarks.reader import Seen, look
from benchmarks.scenarios import Scenario, history, start, tasks
from benchmarks.scenarios.archive import Archive
from benchmarks.scenarios.bench import Bench
from tests.benchmarks.servers import Wrong

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


def test_work_on_history_is_answered_right_and_timed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_servers_restart_between_rounds(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some rounds servers are restarted; the first round of each server does not count."""
    begun: list[range] = []
    real = tasks._some_rounds

    def some(bench: Bench, made: Any, count: int, calls: int, turns: range) -> None:
        begun.append(turns)
        real(bench, made, count, calls, turns)

    monkeypatch.setattr(tasks, "TOGETHER", 2)
    monkeypatch.setattr(tasks, "_some_rounds", some)
    tasks.run(Bench([Wrong(OURS, ())], 3, frozenset(), bench.figures), count=5, calls=1)
    assert begun == [range(2), range(2, 3)]
    assert len(bench.figures.values["task_add-5"][OURS]) == 3


def test_others_are_as_warm_as_ours(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns and searches are five a round for everybody; of others at the largest size one, after one that warms up."""
    turned: dict[tuple[str, int], int] = {}
    searched: Counter[tuple[str, int]] = Counter()
    search = Archive.search

    def turns(work: Archive, _: object, count: int, **how: bool) -> list[tuple[float, float, float]]:
        turned.setdefault((work.server.name, work.size), count)
        return [(float(place),) * 3 for place in range(count)]

    def counted(work: Archive, session: Session) -> float:
        searched[work.server.name, work.size] += 1
        return search(work, session)

    monkeypatch.setattr(history, "SIZES", (20, 30))
    monkeypatch.setattr(Archive, "turns", turns)
    monkeypatch.setattr(Archive, "search", counted)
    history.run(Bench([Wrong(OURS, ()), Wrong(NODE, ())], 1, frozenset({"search", "close"}), bench.figures))
    assert turned == {(OURS, 20): 5, (OURS, 30): 5, (NODE, 20): 5, (NODE, 30): 2}
    # Ours are asked once more in the end, for the memory that it takes.
    assert searched == {(OURS, 20): 7, (OURS, 30): 7, (NODE, 20): 6, (NODE, 30): 2}
    assert bench.figures.values["close-30"] == {OURS: [2.0], NODE: [1.0]}


def test_call_is_listed_with_its_lower_limit(bench: Bench) -> None:
    """A write is listed with the disk's part, and with the same write behind a pipe; a first write with the disk's part
    at once and later.
    """
    tasks.run(Bench([Wrong(OURS, ())], 1, frozenset(), bench.figures), count=5, calls=1)
    for pause in (0.0, 0.001):
        start._first(Wrong(OURS, ()), "task_add", start.TASK, bench.figures, counts=True, pause=pause)
    series = {row: set(of) for row, of in bench.figures.values.items()}
    assert series == {
        "task_add-5": {OURS, WRITTEN, PIPED},
        "task_update-5": {OURS, WRITTEN, PIPED},
        "task_list-5": {OURS},
        "first-task_add": {OURS, FIRST_WRITTEN},
        "later-task_add": {OURS, FIRST_WRITTEN},
    }


def test_run_in_memory_has_a_file_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --keep, and without wrong answers, a run of several processes in memory is stored in a file of its own."""
    written: list[Path] = []
    monkeypatch.setattr(results, "write", lambda path, _: written.append(path))
    monkeypatch.setattr(results, "table", lambda _: {})
    monkeypatch.setattr(places, "PLACE", places.PLACE)
    figures = Figures()
    monkeypatch.setattr(command, "measure", lambda *_: figures)
    in_memory = ["--folder", "/dev/shm", "--rows"]
    assert command.main([*in_memory, "crowd"]) == 0
    assert command.main([*in_memory, "warm", "--keep"]) == 0
    assert written == []
    assert command.main([*in_memory, "crowd", "--keep"]) == 0
    figures.wrong.append("a task is lost")
    assert command.main([*in_memory, "crowd", "--keep"]) == 1
    assert written == [results.IN_MEMORY]


def test_wrong_answers_belong_to_the_rows_of_their_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong answers of a scenario belong to those of its rows that were selected."""
    monkeypatch.setattr(command, "available", lambda _: ([Server(OURS, ()), Server(NODE, ())], []))

    def lies(bench: Bench) -> None:
        bench.figures.expect(OURS, "answer", 1, 2)

    monkeypatch.setattr(command, "SCENARIOS", {"history": Scenario(frozenset({"search", "close"}), 1, lies)})
    figures = command.measure(frozenset({"close", "hook"}), 1)
    assert figures.of == {"ours: answer: 1 instead of 2": [f"close-{size}" for size in SIZES]}


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
    """A history that is missing for a moment counts as unreadable."""
    seen = Seen()
    look(tmp_path / "history.json", seen, parse=False)
    assert (seen.half, seen.sizes) == (1, {-1})
