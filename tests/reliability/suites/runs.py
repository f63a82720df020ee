"""Kill the executor of a run after an event, cut its log as a power cut does, start two at once: the run goes on.

What must hold: the run that goes on ends with the same integration tree, each task is completed once, no work of an
attempt is lost, and no process of the dead executor is left. Of two runs of a project one is refused.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from nexus_mcp.catalog.load import load
from nexus_mcp.errors import NexusError
from nexus_mcp.run import events as ev
from nexus_mcp.run.begin import open_run
from nexus_mcp.run.execute import Front, execute
from nexus_mcp.run.run_folder import RunBusy
from nexus_mcp.run.setup import Options
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.reliability.suite import Json, Piece, Suite, Tally
from tests.run.runs import GOOD, Ground

_EVENTS = 80
"""More than a run of these tasks has; a kill after the end counts as a whole run."""
_LATEST = 60
"""Each run has at least as many events."""
_APART = 14
"""The quick form kills after every event of this number; the seed says which is the first."""
_TORN = ("half", "zeros", "unsynced")
"""What a power cut leaves of the last line: half of it, zeros in its place, or nothing of events without an effect."""
_UNSYNCED = (
    *(b'"usage"', b'"session"', b'"phase"', b'"guard"', b'"checkout"', b'"task_ready"', b'"worktree_made"'),
    *(b'"process_ended"', b'"collected"', b'"check"', b'"verdict"', b'"task_done"'),
)
"""Events that announce no effect: a power cut may take them, also several."""
_PATIENCE_S = 60.0
_TASKS: list[Json] = [
    {"id": 1, "title": "One", "owner": "engineer"},
    {"id": 2, "title": "Two", "owner": "engineer", "deps": [1]},
    {"id": 3, "title": "Three", "owner": "engineer"},
]
_SCRIPT: dict[str, Json] = {
    # The first session of task 1 breaks the check, and the one after it mends that.
    "1-engineer": [
        [{"run": "if test -e f1; then rm -f broken; else touch broken; fi"}, {"write": "f1", "text": "1\n"}]
    ],
    "2-engineer": [[{"write": "f2", "text": "2\n"}]],
    "3-engineer": [[{"write": "f3", "text": "3\n"}]],
    "tester": [[{"verdict": GOOD}]],
}
_SLOW = [[{"run": "exec sleep 300"}], *_SCRIPT["3-engineer"]]
_TREE = {"README.md": "x", "f1": "1", "f2": "2", "f3": "3"}
_KILLS, _CUTS = "kills at an event", "power cuts of the log"
_PAIRS, _WHOLE = "pairs of runs at once", "runs without a kill"

Stop = Callable[[ev.AnyEvent], bool]


def plan(seed: int, quick: bool) -> Sequence[Json]:
    """Return pieces: a kill, a cut, an orphan that goes on, or two runs."""
    first: list[Json] = [{"kind": "orphan"}, {"kind": "two"}]
    if quick:
        places = range(2 + seed % _APART, _LATEST, _APART)
        kills = [{"kind": "kill", "at": at} for at in places]
        # The cuts come first: a planted fault is then detected by a piece with a fixed number.
        return [*first, *({"kind": torn, "at": places[0] + 9 * n} for n, torn in enumerate(_TORN)), *kills]
    kinds = ("kill", *_TORN)
    return [*first * 10, *({"kind": kind, "at": at} for at in range(2, _EVENTS) for kind in kinds)]


def work(piece: Piece) -> Tally:
    kind = piece.item["kind"]
    if kind == "two":
        return _two(piece.folder)
    script = {**_SCRIPT, "3-engineer": _SLOW} if kind == "orphan" else _SCRIPT
    ground = Ground(piece.folder, _TASKS, script)
    at = piece.item.get("at", 0)
    stop: Stop = _slow_began if kind == "orphan" else lambda event: event.seq >= at
    tally = Tally()
    was_killed = _killed(ground, stop)
    ground.find_run()
    tally.counts[_WHOLE if not was_killed else _CUTS if kind in _TORN else _KILLS] += 1
    if was_killed and kind in _TORN:
        _cut(ground, kind)
    is_over = ground.state().ended is not None  # then there is nothing to go on with
    tally.failures += _goes_on(ground, begins=1 if is_over else 2)
    return tally


def _slow_began(event: ev.AnyEvent) -> bool:
    """Return whether the session that does not end by itself is at work."""
    return isinstance(event, ev.Session) and event.task == _TASKS[-1]["id"]


def _killed(ground: Ground, stop: Stop) -> bool:
    """Run in a child that is killed right after the first event for which `stop` is true; return whether it was."""
    pid = os.fork()
    if pid == 0:
        with suppress(BaseException):
            _run(ground, lambda event: _die() if stop(event) else None)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _run(ground: Ground, listen: Callable[[ev.AnyEvent], object] = lambda _: None) -> str:
    """Begin a run, or go on with the unfinished one, as the command line does; return its status."""
    return asyncio.run(_work(ground, listen))


async def _work(ground: Ground, listen: Callable[[ev.AnyEvent], object]) -> str:
    workspace = Workspace(str(ground.root))
    opened = open_run(
        workspace=workspace,
        store=Store(workspace),
        config=ground.config(jobs=2, review={"do": ["tester"]}),
        options=Options(merge="never", is_headless=True),
        catalog=load(str(ground.root)),
    )
    async with opened as run:
        run.listeners.insert(0, listen)
        return (await execute(run, Front())).status


def _cut(ground: Ground, kind: str) -> None:
    """Leave of the log what a power cut may leave, with every process dead."""
    for process in _alive(ground.run_id):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    path = ground.root / ".nexus/state/runs" / ground.run_id / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    last = lines.pop()
    if kind == "half":
        lines.append(last[: len(last) // 2])
    elif kind == "zeros":
        lines.append(bytes(len(last)))
    else:
        lines.append(last)
        while len(lines) > 1 and any(b'"type":' + name in lines[-1].replace(b": ", b":") for name in _UNSYNCED):
            lines.pop()
    path.write_bytes(b"".join(lines))


def _goes_on(ground: Ground, begins: int) -> list[str]:
    """Go on with the run, and return what is wrong afterwards. `begins` is how often its log says that it began."""
    try:
        status = _run(ground)
    except NexusError as error:
        return [f"the run does not go on: {error}"]
    found = []
    if status != "completed":
        reasons = {one.id: (one.state, one.reason) for one in ground.state().tasks.values()}
        found.append(f"the run ends as {status}: {reasons}")
    if ground.statuses() != ["completed"] * len(_TASKS):
        found.append(f"tasks.json says {ground.statuses()}")
    if ground.tree() != _TREE:
        found.append(f"the integration tree is {ground.tree()}")
    done = [event.task for event in ground.log() if event.type == "task_done"]
    if sorted(done) != [1, 2, 3]:  # type: ignore[type-var]
        found.append(f"tasks were completed: {done}")
    if (began := sum(event.type == "run_started" for event in ground.log())) != begins:
        found.append(f"the log says {began} times that the run began, not {begins}: an event is lost")
    psutil.wait_procs(_alive(ground.run_id), timeout=_PATIENCE_S)  # a killed process needs a moment to end
    if left := _alive(ground.run_id):
        found.append(f"{len(left)} processes are left")
        for process in left:
            with suppress(psutil.Error):
                process.kill()
    return found


def _alive(run: str) -> list[psutil.Process]:
    """Return the sessions of a run that are alive, by the variable that each gets."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("NEXUS_RUN") == run and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _two(folder: Path) -> Tally:
    """Start two runs at once: one works, the other is refused, and the tasks are done once."""
    ground = Ground(folder, _TASKS, _SCRIPT)
    gate_end, gate = os.pipe()
    children = [_waiting(ground, gate_end, gate) for _ in range(2)]
    os.close(gate_end)
    os.close(gate)  # both begin
    until = time.monotonic() + _PATIENCE_S
    codes: list[Any] = []
    for pid in children:
        while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0 and time.monotonic() < until:
            time.sleep(0.02)
        if ended[0] == 0:
            os.kill(pid, signal.SIGKILL)
            ended = os.waitpid(pid, 0)
        codes.append(os.waitstatus_to_exitcode(ended[1]))
    ground.find_run()
    tally = Tally()
    tally.counts[_PAIRS] += 1
    if sorted(codes) != [0, 6]:
        tally.failures.append(f"two runs at once end with {codes}")
        return tally
    tally.failures += [] if ground.tree() == _TREE else [f"the integration tree is {ground.tree()}"]
    return tally


def _waiting(ground: Ground, gate_end: int, gate: int) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(gate)
            os.read(gate_end, 1)
            code = 0 if _run(ground) == "completed" else 3
        except RunBusy:
            code = 6
        finally:
            os._exit(code)
    return pid


SUITE = Suite(
    name="runs",
    title="the executor of a run, killed after each event, its log cut, two at once",
    goal=(_KILLS, _LATEST),
    plan=plan,
    work=work,
    mutants=("orphans-left", "run-unlocked", "torn-line-joined"),
    seconds=300.0,
)
