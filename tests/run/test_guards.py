"""Guards on the tools of a session: one message into it, in the place of a warning that nobody reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus_mcp.run import events as ev
from nexus_mcp.run.drivers.template import TemplateDriver
from nexus_mcp.run.projection import project
from nexus_mcp.run.run_folder import read_json, write_json
from nexus_mcp.store.conflicts import sweep
from nexus_mcp.store.folder import Folder
from tests.run.runs import Ground

TASKS = [{"id": 1, "title": "One"}]
WRITE = [{"write": "a", "text": "1"}]


def guards(ground: Ground) -> list[str]:
    return [event.name for event in ground.log() if isinstance(event, ev.Guard)]


def test_session_that_only_reads_is_told_once(tmp_path: Path) -> None:
    """It is ended and resumed with a message; that is no failure, uses up no attempt, and happens once."""
    script = {"1": [[{"read": 16}, {"hang": 60}], [{"read": 16}, *WRITE]]}
    ground = Ground(tmp_path, TASKS, script)
    state = ground.run()
    (attempt,) = state.task(1).attempts
    assert (state.task(1).state, attempt.attempt.mends) == ("completed", ())
    assert guards(ground) == ["investigation_cap", "investigation_cap"]
    ended = [event.guard for event in ground.log() if isinstance(event, ev.ProcessEnded)]
    assert ended == ["investigation_cap", ""]
    folder = ground.root / f".nexus/state/runs/{ground.run_id}/attempts/1-1"
    assert "changed no file yet" in (folder / "brief.md").read_text()
    assert ground.tree()["a"] == "1"


def test_harness_without_resume_gets_an_event_only(tmp_path: Path) -> None:
    """Its session goes on."""
    ground = Ground(tmp_path, TASKS, {"1": [[{"read": 16}, *WRITE]]})
    driver = ground.config().drivers["fake"].model_copy(update={"resume": []})
    state = ground.run(drivers={"fake": driver})
    assert state.task(1).state == "completed"
    assert guards(ground) == ["investigation_cap"]
    assert [event.guard for event in ground.log() if isinstance(event, ev.ProcessEnded)] == [""]


def test_running_the_checks_is_no_idle_tool(tmp_path: Path) -> None:
    """Tools after the last edit count from the last run of a check of the project."""
    check = "test ! -e broken"
    calm = [*WRITE, {"read": 12}, {"check": f"sh -c '{check}'"}, {"read": 12}]
    ground = Ground(tmp_path, TASKS, {"1": [calm]})
    ground.run()
    assert guards(ground) == []
    other = Ground(tmp_path / "other", TASKS, {"1": [[*WRITE, {"read": 13}, {"hang": 60}], [{"say": "done"}]]})
    assert other.run().task(1).state == "completed"
    assert guards(other) == ["post_edit_cap"]


def test_executor_that_died_after_the_guard_goes_on_with_the_message() -> None:
    """The log alone says that the session is to be resumed, and with which message."""
    log: list[ev.AnyEvent] = [
        ev.RunStarted(run="r", pid=1, host="h", base="b"),
        ev.AttemptPlanned(tier="standard", strategy="test-after", harness="x", base="b"),
        ev.ProcessStarted(role="owner", agent="", pid=2, create_time=1.0),
        ev.Session(id="S"),
        ev.ProcessEnded(code=143, guard="investigation_cap"),
    ]
    about = {"task": 1, "attempt": 1}
    last = project([event.model_copy(update={"seq": at, **about}) for at, event in enumerate(log)]).task(1).last
    assert last is not None
    assert (last.interrupted, last.nudge, last.sessions) == ("S", "investigation_cap", ())


def test_usage_of_a_resumed_session_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A harness may report the sum of the whole session at each end; the log has what came in addition."""
    monkeypatch.setattr(TemplateDriver, "totals", frozenset(("tokens", "cost")))
    usage = '{"kind": "usage", "input": %d, "output": %d, "cost_usd": %s}'
    first = [{"print": usage % (100, 10, 0.5)}, {"write": "broken", "text": "b"}]
    second = [{"print": usage % (250, 30, 0.75)}, {"run": "rm broken"}, *WRITE]
    ground = Ground(tmp_path, TASKS, {"1": [first, second]})
    state = ground.run()
    used = [(one.input, one.output, one.cost_usd) for one in ground.log() if isinstance(one, ev.Usage)]
    assert used == [(100, 10, 0.5), (150, 20, 0.25)]
    assert state.cost_usd == 0.75


def test_file_that_a_sweep_removed_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run writes without the lock of the project, whose holder removes temporary files."""
    rename = Folder.rename
    swept: list[str] = []

    def late(folder: Folder, one: str, other: str) -> None:
        if not swept:
            swept.append(other)
            sweep(folder)
        rename(folder, one, other)

    monkeypatch.setattr(Folder, "rename", late)
    with Folder.root(str(tmp_path)) as folder:
        write_json(folder, "processes.json", [1])
        assert read_json(folder, "processes.json") == [1]
    assert swept == ["processes.json"]
