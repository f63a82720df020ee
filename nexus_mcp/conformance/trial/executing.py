"""Run an executor once on the bench of a fixture, and observe its status file and the task list.

The observations are the response of the step, so a fixture asserts them like any other response.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nexus_mcp.conformance.failures import Reply, TargetFailure
from nexus_mcp.conformance.processes import killing
from nexus_mcp.conformance.processes.process import Allowance, ServerProcess
from nexus_mcp.conformance.processes.starting import NAME_PROGRAM_HINT, make_environment
from nexus_mcp.conformance.trial.bench import load
from nexus_mcp.errors import HarnessFault

if TYPE_CHECKING:
    from nexus_mcp.conformance.fixture import Fixture, Run
    from nexus_mcp.conformance.settings import TargetOptions
    from nexus_mcp.conformance.target import Place
    from nexus_mcp.conformance.trial.bench import Bench

STATUS = "{status}"
SUBJECT = "the executor"
_COMPLETED = "completed"
_OTHERS = ("passed", "failed", "paused", "blocked", "skipped")
_PAUSE_S = 0.01
_BY_SIGNAL = 128


@dataclass
class Sightings:
    """Observations of a working executor.

    `unwhole` counts the reads of the status file that gave no JSON object, `unsummed` those in which `pending` is not
    `total` minus the other counts. `reverted` counts how often a completed task got another status. `statuses` are the
    statuses of the run, in the order in which they appeared.
    """

    unwhole: int = 0
    unsummed: int = 0
    reverted: int = 0
    statuses: list[str] = field(default_factory=list)
    _tasks: dict[Any, Any] = field(default_factory=dict)

    def look(self, bench: Bench) -> None:
        """Look at the status file and the task list once."""
        if os.path.exists(bench.status):
            self.status(load(bench.status))
        for row in bench.tasks():
            id_, now = row.get("id"), row.get("status")
            self.reverted += self._tasks.get(id_) == _COMPLETED != now
            self._tasks[id_] = now

    def status(self, value: Any) -> None:
        """Count one read of the status file."""
        if not isinstance(value, dict):
            self.unwhole += 1
            return
        run = value.get("run")
        name = run.get("status") if isinstance(run, dict) else None
        if isinstance(name, str) and self.statuses[-1:] != [name]:
            self.statuses.append(name)
        progress = value.get("progress")
        self.unsummed += isinstance(progress, dict) and not _is_summed(progress)


def _is_summed(progress: dict[str, Any]) -> bool:
    try:
        return bool(progress["pending"] == progress["total"] - sum(progress[name] for name in _OTHERS))
    except (KeyError, TypeError):
        return False


async def execute(run: Run, fixture: Fixture, bench: Bench, options: TargetOptions, place: Place) -> Reply:
    """Run the executor to its end, and return the observations as the response of the step.

    Raise TargetFailure when it prints too much, does not end or leaves processes behind, HarnessFault when it cannot be
    started.
    """
    assert options.run_command is not None
    command = [word.replace(STATUS, bench.status) for word in options.run_command]
    environment = {**make_environment(options, place.project, place.mark), **bench.environment(fixture)}
    bench.forget()
    bench.tell(fixture, command, environment)
    seen = Sightings()
    started = time.perf_counter()
    try:
        process = ServerProcess(
            [*command, *run.words],
            place.project,
            environment,
            allowance=Allowance(unrequested=sys.maxsize),
            on_line=lambda _: None,
            on_end=lambda: None,
        )
    except OSError as error:
        problem = f"The run command {command[0]} could not be started: {error.strerror}."
        raise HarnessFault([problem], next_step=NAME_PROGRAM_HINT) from error
    try:
        bench.began(process.pid)
        process.close_input()
        await _watch(process, bench, seen, options.run_timeout)
        code = await _exit_code_of(process, options)
    finally:
        process.kill()
    bench.forget()
    return Reply(_summary(code, bench, seen), process.stderr, seconds=time.perf_counter() - started)


async def _watch(process: ServerProcess, bench: Bench, seen: Sightings, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not process.death.is_dead and not process.fault:
        if time.monotonic() > deadline:
            raise TargetFailure(f"did not end within {seconds:g} s", SUBJECT)
        seen.look(bench)
        await asyncio.sleep(_PAUSE_S)
    seen.look(bench)


async def _exit_code_of(process: ServerProcess, options: TargetOptions) -> int:
    """Return the exit code as a shell reports it. Raise TargetFailure for a fault of the executor or of its end.

    If SIGKILL ended the executor, its other processes go on: the next executor has to end them.
    """
    if process.fault:
        raise TargetFailure(process.fault, SUBJECT)
    code = process.death.code
    if code == -signal.SIGKILL:
        process.release()
    elif complaint := await process.end(options.end_timeout):
        raise TargetFailure(complaint, SUBJECT)
    return _BY_SIGNAL - code if code < 0 else code


async def check_left(mark: str, seconds: float) -> None:
    """Wait until all processes of the fixture have ended; after `seconds`, kill the rest and raise TargetFailure.

    The last run of a fixture has to end the agents of a run that was killed.
    """
    deadline = time.monotonic() + seconds
    while left := await asyncio.to_thread(killing.living_marked, mark):
        if time.monotonic() > deadline:
            names = killing.format_names(left)
            await asyncio.to_thread(killing.kill_marked, mark)
            raise TargetFailure(f"ended, but processes that a run started still run: {names}", SUBJECT)
        await asyncio.sleep(_PAUSE_S)


def _summary(code: int, bench: Bench, seen: Sightings) -> dict[str, Any]:
    entries = bench.new_entries()
    for entry in entries:
        if entry.get("status") is not None:
            seen.unsummed += isinstance(entry["status"].get("progress"), dict) and not _is_summed(
                entry["status"]["progress"]
            )
    return {
        "exit": code,
        "status": load(bench.status),
        "tasks": [row.get("status") for row in bench.tasks()],
        "sessions": [_select(one, "task", "tasks", "status") for one in entries if one["kind"] == "session"],
        "checks": [_select(one, "passed", "tasks") for one in entries if one["kind"] == "check"],
        "second": next((one["exit"] for one in entries if one["kind"] == "second"), None),
        "met": [one["met"] for one in entries if one["kind"] == "met"],
        "seen": {
            "statuses": seen.statuses,
            "unwhole": seen.unwhole,
            "unsummed": seen.unsummed,
            "reverted": seen.reverted,
            "unchecked": count_unchecked(bench.tasks(), bench.journal()),
        },
    }


def _select(entry: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: entry.get(name) for name in names}


def count_unchecked(tasks: list[dict[str, Any]], journal: list[dict[str, Any]]) -> int:
    """Return how many tasks were completed although no check had passed since their last session ended.

    A session makes its task unchecked. A check that passes makes the task checked if it began after the end of the
    session, in the folder of the session or in a folder where no session of an unchecked task ran, such as a merged
    tree.
    """
    ids = [row.get("id") for row in tasks]
    waiting: dict[Any, str] = {}
    ended: set[Any] = set()
    wrong: set[Any] = set()
    for entry in journal:
        for id_, status in zip(ids, entry.get("tasks") or (), strict=False):
            if status == _COMPLETED and id_ in waiting:
                wrong.add(id_)
        if entry["kind"] == "session":
            waiting[entry["task"]] = entry["cwd"]
            ended.discard(entry["task"])
        elif entry["kind"] == "end":
            ended.add(entry["task"])
        elif entry["kind"] == "check" and entry["passed"]:
            homes = set(waiting.values())
            for id_, cwd in list(waiting.items()):
                if id_ in ended and (cwd == entry["cwd"] or entry["cwd"] not in homes):
                    del waiting[id_]
    wrong.update(row.get("id") for row in tasks if row.get("status") == _COMPLETED and row.get("id") in waiting)
    return len(wrong)
