"""Files beside a run: nothing that cannot be read is overwritten, and nothing acknowledged is lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from pydantic import ValidationError

from nexus_mcp.errors import StateError, StorageError
from nexus_mcp.run import events as ev
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.registry import NAME as PROCESSES
from nexus_mcp.run.registry import rows
from nexus_mcp.run.run_folder import EventLog, LogLost, read_log
from nexus_mcp.run.setup import Run
from nexus_mcp.store import atomic, tasks_extension
from nexus_mcp.store.folder import Folder
from tests.run.runs import GOOD, Ground


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with Folder.root(str(tmp_path)) as opened:
        yield opened


def test_an_event_after_a_failed_write_is_readable(folder: Folder) -> None:
    """A full disk leaves half a line: the next event, which is acknowledged, gets a line of its own."""
    real = atomic.write_all

    def half(fd: int, data: bytes) -> None:
        real(fd, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with EventLog(folder) as log:
        log.append(ev.Paused(reason="one"))
        with patch.object(atomic, "write_all", half), pytest.raises(StorageError):
            log.append(ev.Paused(reason="two"))
        log.append(ev.Paused(reason="three"))
    events, torn = read_log(folder)
    assert [event.reason for event in events if isinstance(event, ev.Paused)] == ["one", "three"]
    assert torn == 1


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tasks": []}', '{"tasks": {"x": {}}}', '{"tasks": {"1": 2}}'])
def test_a_damaged_extension_file_is_refused_and_stays(folder: Folder, tmp_path: Path, text: str) -> None:
    """It may hold files that a person added to tasks."""
    path = tmp_path / tasks_extension.HARNESS / tasks_extension.NAME
    path.parent.mkdir()
    path.write_text(text)
    for call in (
        lambda: tasks_extension.put(folder, {1: {"lease": {"run": "r"}}}),
        lambda: tasks_extension.free(folder),
        lambda: tasks_extension.lease_of(folder, 1),
    ):
        with pytest.raises(StateError, match=r"tasks\.extension\.json"):
            call()
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]", '[{"pid": "1"}]'])
def test_a_damaged_list_of_processes_is_refused(folder: Folder, tmp_path: Path, text: str) -> None:
    """Without its rows an orphan of a dead executor would go on unseen."""
    (tmp_path / PROCESSES).write_text(text)
    with pytest.raises(StateError, match=r"processes\.json"):
        rows(folder)


def test_no_process_outlives_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    """A session whose start cannot be recorded never begins, and its process ends."""
    ground = Ground(tmp_path, [{"id": 1, "title": "One"}], {"1": [[{"write": "a", "text": "1"}]]})
    pids: list[int] = []

    def refuse(run: Run) -> None:
        append = run.log.append

        def failing(event: ev.Event) -> ev.AnyEvent:
            if isinstance(event, ev.ProcessStarted):
                pids.append(event.pid)
                raise LogLost("events.jsonl", os.strerror(errno.ENOSPC))
            return append(event)

        run.log.append = failing  # type: ignore[method-assign]

    with pytest.raises(LogLost):
        ground.run(before=refuse)
    assert pids
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    assert "a" not in ground.tree()
    assert ground.run().task(1).state == "completed"


def test_reviewers_run_in_the_harness_for_checks(tmp_path: Path) -> None:
    """`harness: {do: …, check: …}`: the work and its review are sessions of different harnesses."""
    script = {"1-engineer": [[{"write": "a", "text": "1"}]], "tester": [[{"verdict": GOOD}]]}
    ground = Ground(tmp_path, [{"id": 1, "title": "One", "owner": "engineer"}], script)
    fake = ground.config().drivers["fake"]
    broken = {**fake.model_dump(), "command": ["false"], "resume": []}
    drivers = {"fake": fake.model_dump(), "broken": broken}
    state = ground.run(harness={"do": "fake", "check": "broken"}, drivers=drivers, review={"do": ["tester"]})
    assert (state.task(1).state, ground.statuses()) == ("paused", ["pending"])
    assert "no verdict" in state.task(1).reason


@pytest.mark.parametrize(
    "setting",
    [
        {"verifier_fixes": True},
        {"hooks": {"on-task": {"command": "true"}}},
        {"questions": {"fallback": "continue"}},
        {"questions": {"triggers": {"on-start": True}}},
    ],
)
def test_a_setting_without_an_effect_is_refused(setting: dict[str, object]) -> None:
    """Nothing that a run does not do can be switched on."""
    with pytest.raises(ValidationError):
        RunConfig.model_validate(setting)
