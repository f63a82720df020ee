"""The status file: a golden file for each state, its write points, and readers that never see half of it."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.run import events as ev
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.projection import RunRecord, apply
from nexus_mcp.run.setup import Run
from nexus_mcp.run.status import Status, status_file
from nexus_mcp.run.status_path import StatusPath
from tests.run.runs import Ground
from tests.support import Json

GOLDEN = Path(__file__).with_name("golden")
NOW = "2026-01-01T00:10:00.000Z"
AT = "2026-01-01T00:00:00.000Z"
TASKS: list[Json] = [{"id": n, "title": f"Task {n}", "status": "pending", "deps": []} for n in (1, 2)]
START = ev.RunStarted(run="run-2026-01-01T00-00-00-000Z", pid=7, host="h", base="b")
PLANNED = ev.AttemptPlanned(
    task=1, attempt=1, tier="standard", strategy="tdd-lite", harness="codex", model="m", agent="engineer"
)
RUNNING: tuple[ev.Event, ...] = (
    START,
    ev.TaskReady(task=1),
    PLANNED,
    ev.WorktreeMade(task=1, attempt=1, path="/w/1-1", branch="nexus/r/1-1", fence=3),
    ev.PhaseBegun(task=1, attempt=1, phase="implement"),
    ev.Usage(task=1, attempt=1, input=10, output=5, cost_usd=0.25),
)
STATES: dict[str, tuple[ev.Event, ...]] = {
    "starting": (START,),
    "running": RUNNING,
    "paused-task": (*RUNNING, ev.TaskPaused(task=1, reason="why"), ev.RunEnded(status="paused")),
    "failed": (*RUNNING, ev.TaskFailed(task=1, reason="why"), ev.RunEnded(status="failed")),
    "stalled": (*RUNNING, ev.TaskBlocked(task=2, reason="why"), ev.RunEnded(status="stalled")),
    "completed": (*RUNNING, ev.TaskDone(task=1), ev.TaskSkipped(task=2), ev.RunEnded(status="completed")),
    "question": (*RUNNING, ev.Question(task=1, attempt=1, id="q1", trigger="story-ambiguity", summary="Which?")),
    "crashed": RUNNING,
    "unknown-cost": (*RUNNING, ev.Usage(task=1, attempt=1)),
}


def document(name: str) -> dict[str, Any]:
    """Return the status file of a state, as it is written."""
    state = RunRecord()
    for seq, event in enumerate(STATES[name], 1):
        made: Any = event.model_copy(update={"seq": seq, "at": AT})
        state = apply(state, made)
    tasks = [{**task, "status": "completed"} if name == "completed" and task["id"] == 1 else task for task in TASKS]
    status: Status | None = "crashed" if name == "crashed" else None
    made = status_file(state, tasks, RunConfig(max_cost_usd=5.0), NOW, feature="Goal", status=status)
    found: dict[str, Any] = made.model_dump(mode="json")
    return found


@pytest.mark.parametrize("name", STATES)
def test_each_state_has_the_file_that_is_recorded(name: str) -> None:
    """Members and values are those of the golden file; `python -m tests.run.test_status_file` records them anew."""
    assert document(name) == json.loads((GOLDEN / f"{name}.json").read_text())


def test_pending_is_what_is_left() -> None:
    """The numbers of each state add up."""
    for name in STATES:
        found = document(name)["progress"]
        others = found["passed"] + found["failed"] + found["paused"] + found["blocked"] + found["skipped"]
        assert found["pending"] == found["total"] - others


def test_the_file_is_written_at_each_point(tmp_path: Path) -> None:
    """Start of the attempt, each phase, the merge and the end of a task are seen in it when the next event comes."""
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"write": "a", "text": "1"}]]})
    seen: list[tuple[str, str]] = []

    def listen(run: Run) -> None:
        def look(event: ev.AnyEvent) -> None:
            path = ground.root / ".nexus/state/runs" / ground.run_id / "status.json"
            current = json.loads(path.read_text())["current"] if path.exists() else None
            seen.append((event.type, current["phase"] if current else "none"))

        def add(event: ev.AnyEvent) -> None:  # after the engine's own listener, which is added when it is made
            if look not in run.listeners:
                run.listeners.append(look)
                look(event)

        run.listeners.append(add)

    ground.run(before=listen)
    phases = [phase for kind, phase in seen if kind == "phase"]
    assert phases == ["setup", "implement", "verify", "merge"]
    assert ("task_done", "none") in seen


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    """While the file is replaced a thousand times, each read gives a whole one."""
    target = StatusPath(str(tmp_path / "status.json"))
    texts = [json.dumps({"n": n, "filler": "x" * 5000}).encode() for n in (1, 2)]
    target.write(texts[0])
    is_over = threading.Event()
    wrong: list[bytes] = []

    def read() -> None:
        while not is_over.is_set():
            data = (tmp_path / "status.json").read_bytes()
            if data not in texts:
                wrong.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1000):
        target.write(texts[number % 2])
    is_over.set()
    reader.join()
    assert wrong == []
    assert not (tmp_path / "status.json.tmp").exists()


def test_a_path_that_goes_away_is_a_warning_later(tmp_path: Path) -> None:
    """At the start it is an error; when the folder is removed while the run works, the problem is kept for the end."""
    folder = tmp_path / "there"
    folder.mkdir()
    target = StatusPath(str(folder / "status.json"))
    (folder / "status.json").unlink()
    folder.rmdir()
    target.write(b"{}")
    assert target.problem


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for each in STATES:
        (GOLDEN / f"{each}.json").write_text(json.dumps(document(each), indent=2) + "\n")
