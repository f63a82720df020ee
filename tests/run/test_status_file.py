"""The status file: a golden file for each state, its write points, and readers that never see half of it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from nexus_mcp import schemas
from nexus_mcp.catalog.load import load
from nexus_mcp.run import events as ev
from nexus_mcp.run import execute as execute_module
from nexus_mcp.run import status_writer
from nexus_mcp.run.begin import open_run
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.execute import Front, execute
from nexus_mcp.run.projection import RunRecord, apply, project
from nexus_mcp.run.run_folder import read_json
from nexus_mcp.run.setup import Options, Run
from nexus_mcp.run.status import Status, status_file
from nexus_mcp.run.status_writer import WRITE_POINTS, StatusPath, StatusWriter
from nexus_mcp.store.run_files import STATUS
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
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
    "pausing": (*RUNNING, ev.Paused(reason="why")),
    "interrupted": (*RUNNING, ev.RunEnded(status="interrupted")),
    "limit": (*RUNNING, ev.LimitReached(name="cost", value=5.0), ev.RunEnded(status="limit")),
    "precheck-failed": (),
    "dry-run": (),
}
GIVEN: dict[str, Status] = {"crashed": "crashed", "precheck-failed": "precheck-failed"}
"""Statuses that are in no log."""


def document(name: str) -> dict[str, Any]:
    """Return the status file of a state, as it is written."""
    state = RunRecord()
    for seq, event in enumerate(STATES[name], 1):
        made: Any = event.model_copy(update={"seq": seq, "at": AT})
        state = apply(state, made)
    tasks = [{**task, "status": "completed"} if name == "completed" and task["id"] == 1 else task for task in TASKS]
    config, is_dry = RunConfig(max_cost_usd=5.0), name == "dry-run"
    made = status_file(state, tasks, config, NOW, feature="Goal", status=GIVEN.get(name), dry_run=is_dry)
    found: dict[str, Any] = made.model_dump(mode="json")
    return found


@pytest.mark.parametrize("name", STATES)
def test_each_state_has_the_file_that_is_recorded(name: str) -> None:
    """Members and values are those of the golden file; `python -m tests.run.test_status_file` records them anew."""
    assert document(name) == json.loads((GOLDEN / f"{name}.json").read_text())


def test_each_status_has_a_golden_file() -> None:
    """No status of the schema is left out, and each file keeps the schema."""
    files = [json.loads(path.read_text()) for path in GOLDEN.glob("*.json")]
    assert {file["run"]["status"] for file in files} == set(get_args(Status))
    assert [schemas.faults(schemas.load("run/status"), file) for file in files] == [[]] * len(STATES)


def test_pending_is_what_is_left() -> None:
    """The numbers of each state add up."""
    for name in STATES:
        found = document(name)["progress"]
        others = found["passed"] + found["failed"] + found["paused"] + found["blocked"] + found["skipped"]
        assert found["pending"] == found["total"] - others


def test_the_file_is_written_at_each_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start of the attempt, each phase, the merge and the end of a task are seen in it when the next event comes."""
    monkeypatch.setattr(status_writer, "WAIT_S", 0.0)
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"write": "a", "text": "1"}]]})
    seen: list[tuple[str, str]] = []

    def listen(run: Run) -> None:
        def look(event: ev.AnyEvent) -> None:
            path = ground.root / ".nexus/state/runs" / ground.run_id / "status.json"
            current = json.loads(path.read_text())["current"] if path.exists() else None
            seen.append((event.type, current["phase"] if current else "none"))

        run.listeners += [StatusWriter(run).take, look]

    ground.run(before=listen)
    phases = [phase for kind, phase in seen if kind == "phase"]
    assert phases == ["setup", "implement", "verify", "merge"]
    assert ("task_done", "none") in seen


def test_secrets_are_in_no_status(tmp_path: Path) -> None:
    """A secret in the title of a task is in the file under the name of its variable, also at a chosen path."""
    secret = "sk-live-4f9Qz7Lw2Rt8"
    script = {"1": [[{"write": "a", "text": "1"}]]}
    ground = Ground(tmp_path, [{"id": 1, "title": f"Use {secret}"}], script, files={".gitignore": ".env\n"})
    (ground.root / ".env").write_text(f"API_KEY={secret}\n")
    chosen = tmp_path / "chosen.json"
    titles: list[str] = []

    def listen(run: Run) -> None:
        writer = StatusWriter(run)
        writer.paths.append(StatusPath(str(chosen)))

        def look(event: ev.AnyEvent) -> None:
            writer.take(event)
            for path in (chosen, ground.root / ".nexus/state/runs" / ground.run_id / "status.json"):
                current = json.loads(path.read_text()).get("current") if path.exists() else None
                titles.extend([current["title"]] if current else [])

        run.listeners.append(look)

    ground.run(before=listen, link=[".env"])
    assert set(titles) == {"Use [API_KEY]"}


def facts(value: dict[str, Any]) -> dict[str, Any]:
    """Return a status file without its times."""
    return {name: part for name, part in value.items() if name not in ("updatedAt", "lastHeartbeat", "durationMs")}


async def executed(ground: Ground, listen: Callable[[Run], Callable[[ev.AnyEvent], object]], **front: Any) -> str:
    """Begin a run as the command does, with a listener of its own; return its status."""
    workspace = Workspace(str(ground.root))
    opened = open_run(
        workspace=workspace,
        store=Store(workspace),
        config=ground.config(),
        options=Options(merge="never", is_headless=True),
        catalog=load(str(ground.root)),
    )
    async with opened as run:
        return (await execute(run, Front(event=listen(run), **front))).status


def stored(run: Run) -> dict[str, Any] | None:
    """Return the status file of a run, None before the first."""
    value: dict[str, Any] | None = read_json(run.folder, STATUS)
    return value


def test_the_file_follows_each_write_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each write point of a run the file has the state of the log; a command beside the run finds no older state."""
    monkeypatch.setattr(status_writer, "WAIT_S", 0.0)
    script = {"1": [[{"write": "a", "text": "1"}]], "2": [[{"exit": 3}]], "3": [[]]}
    rows = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}, {"id": 3, "title": "Three", "acceptance": "A file."}]
    ground = Ground(tmp_path, rows, script)
    late: list[str] = []
    kinds: set[str] = set()

    def listen(run: Run) -> Callable[[ev.AnyEvent], object]:
        def look(_: ev.AnyEvent) -> None:  # before the listener of the engine: the file is that of the event before
            last = run.log.events[-2]
            if last.type in WRITE_POINTS:
                kinds.add(last.type)
                state = project(run.log.events[:-1])
                made = status_file(state, run.tasks()["tasks"], run.config, NOW, feature="g").model_dump(mode="json")
                if (
                    facts(stored(run) or {})["run"] != made["run"]
                    or facts(stored(run) or {})["current"] != made["current"]
                ):
                    late.append(last.type)

        return look

    assert asyncio.run(executed(ground, listen)) == "failed"
    ground.find_run()
    assert late == []
    assert kinds >= {"run_started", "attempt_planned", "phase", "merged", "task_done", "task_failed", "task_paused"}
    last = json.loads((ground.root / ".nexus/state/runs" / ground.run_id / STATUS).read_text())
    assert (last["run"]["status"], last["current"], last["progress"]["pending"]) == ("failed", None, 0)


def test_phases_in_a_moment_are_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events for a person and the end are written at once, even if the wait for phases is long."""
    monkeypatch.setattr(status_writer, "WAIT_S", 1e6)
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}], {"2": [[{"exit": 3}]]})
    late: set[str] = set()
    written: list[str] = []
    real = StatusWriter.write

    def write(self: StatusWriter) -> None:
        written.append(self._run.log.events[-1].type)
        real(self)

    def listen(run: Run) -> Callable[[ev.AnyEvent], object]:
        def look(_: ev.AnyEvent) -> None:
            last = run.log.events[-2]
            if last.type in WRITE_POINTS and (stored(run) or {})["progress"]["failed"] < _failed(run):
                late.add(last.type)

        return look

    monkeypatch.setattr(StatusWriter, "write", write)
    assert asyncio.run(executed(ground, listen)) == "failed"
    ground.find_run()
    assert late == set()
    assert "phase" not in written[1:]
    assert written[-1] == "run_ended"
    last = json.loads((ground.root / ".nexus/state/runs" / ground.run_id / STATUS).read_text())
    assert (last["run"]["status"], last["progress"]["failed"]) == ("failed", 1)


def test_a_phase_that_waited_is_written_without_another_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session goes on only after the file shows its phase."""
    monkeypatch.setattr(status_writer, "WAIT_S", 0.01)
    monkeypatch.setattr(execute_module, "HEARTBEAT_S", 1e6)
    wait = 'until grep -q \'"implement"\' "$STATUS"; do sleep 0.01; done'
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"run": wait}, {"write": "a", "text": "1"}]]})
    monkeypatch.setenv("STATUS", str(tmp_path / "status.json"))
    path = StatusPath(str(tmp_path / "status.json"))
    assert asyncio.run(executed(ground, lambda _: lambda _: None, status_paths=[path])) == "completed"


def _failed(run: Run) -> int:
    events = run.log.events[:-1]
    return sum(event.type == "task_failed" for event in events)


def test_the_heart_beats_while_a_session_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two events the file is written again, and only its times change."""
    monkeypatch.setattr(execute_module, "HEARTBEAT_S", 0.01)
    wait = "while ! test -e ../go; do sleep 0.01; done"
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"run": wait}, {"write": "a", "text": "1"}]]})
    beats: list[dict[str, Any]] = []
    real = StatusWriter.write

    def write(self: StatusWriter) -> None:
        run = self._run
        before, seq = stored(run), len(run.log.events)
        real(self)
        if before is not None and run.log.events[-1].type == "session" and seq == len(run.log.events):
            beats.extend((before, stored(run) or {}))
            (ground.worktrees / run.state.run / "go").write_text("")

    monkeypatch.setattr(StatusWriter, "write", write)
    assert asyncio.run(executed(ground, lambda _: lambda _: None)) == "completed"
    assert len(beats) > 1
    assert facts(beats[-2]) == facts(beats[-1])


def test_a_reader_of_a_run_sees_whole_files_only(tmp_path: Path) -> None:
    """A reader in a loop, from before the start to after the end, finds no file that breaks the schema."""
    ground = Ground(tmp_path, [{"id": n, "title": f"Task {n}"} for n in (1, 2, 3)], {})
    path = StatusPath(str(tmp_path / "status.json"))
    is_over, wrong, seen = threading.Event(), [], set()
    schema = schemas.load("run/status")

    def read() -> None:
        while not is_over.is_set():
            data = (tmp_path / "status.json").read_bytes()
            try:
                value = json.loads(data)
            except ValueError:
                wrong.append(data)
                continue
            if value != {} and schemas.faults(schema, value):  # {}: it was tried whether the file can be written
                wrong.append(data)
            seen.add(value.get("run", {}).get("status"))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        asyncio.run(executed(ground, lambda _: lambda _: None, status_paths=[path]))
    finally:
        is_over.set()
        reader.join()
    assert wrong == []
    assert "running" in seen


def test_a_crash_is_written_by_the_next_start(tmp_path: Path) -> None:
    """The run that finds a log without an end writes `crashed`, before it says that it is running again."""
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"write": "a", "text": "1"}]]})

    class Died(Exception):
        pass

    def die(run: Run) -> Callable[[ev.AnyEvent], object]:
        def at(event: ev.AnyEvent) -> None:
            if event.type == "phase":
                raise Died

        return at

    with pytest.raises(Died):
        asyncio.run(executed(ground, die))
    statuses: list[str] = []

    def listen(run: Run) -> Callable[[ev.AnyEvent], object]:
        statuses.append((stored(run) or {})["run"]["status"])
        return lambda _: statuses.append((stored(run) or {})["run"]["status"])

    assert asyncio.run(executed(ground, listen)) == "completed"
    assert statuses[0] == "crashed"
    assert statuses[1] == "running"


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
