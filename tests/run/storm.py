"""Disturb a run at random moments, from a seed: kill the executor, start a second run, and call `run unlock`.

`python -m tests.run.storm --seed N --minutes M` makes rounds for M minutes; with `--sandbox bwrap` sessions, checks and
hooks run in bubblewrap. Each round is a run of six tasks with a
check that fails once, a conflict and reviews. At its end the integration branch has the same tree as without a storm,
each task is merged once, and no process, lease or lock is left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from nexus_mcp.run import events as ev
from tests.run.runs import GOOD, Ground, git
from tests.support import Json

TASKS: list[Json] = [
    {"id": 1, "title": "One", "owner": "engineer"},
    {"id": 2, "title": "Two", "owner": "engineer", "deps": [1]},
    {"id": 3, "title": "Three", "owner": "engineer"},
    {"id": 4, "title": "Four", "owner": "engineer"},
    {"id": 5, "title": "Five", "owner": "engineer"},
    {"id": 6, "title": "Six", "owner": "engineer", "deps": [4, 5]},
]
_SLOW = "sleep 0.$NEXUS_TASK"


def _shared(line: int) -> list[Json]:
    """Return a session that adds its line to a file that another task writes, too, and resolves their conflict."""
    add = f"touch shared; {_SLOW}; {{ grep -x '[45]' shared; echo {line}; }} | sort -u > new; mv new shared"
    return [{"run": add}]


SCRIPT: dict[str, Json] = {
    "1-engineer": [
        [{"run": f"if test -e f1; then rm -f broken; else touch broken; fi; {_SLOW}"}, {"write": "f1", "text": "1\n"}]
    ],
    "2-engineer": [[{"run": _SLOW}, {"write": "f2", "text": "2\n"}]],
    "3-engineer": [[{"write": "f3", "text": "3\n"}, {"run": f"{_SLOW}; git add f3; git commit -qm mine; true"}]],
    "4-engineer": [_shared(4)],
    "5-engineer": [_shared(5)],
    "6-engineer": [[{"write": "f6", "text": "6\n"}, {"run": _SLOW}]],
    "tester": [[{"verdict": GOOD}]],
}
TREE = {"README.md": "x", "f1": "1", "f2": "2", "f3": "3", "f6": "6", "shared": "4\n5"}
_PATIENCE_S = 180
_BUSY = 6


KINDS = ("kill", "kill", "kill", "second", "unlock", "stop", "terminate", "interrupt", "twice", "group", "pause")


def storm(folder: Path, seed: int, *, most: int = 8, sandbox: str = "none") -> dict[str, int]:
    """Carry out a round with at most `most` disturbances; return how often each one was made.

    Raise AssertionError.
    """
    chance = random.Random(seed)
    ground = Ground(folder, TASKS, SCRIPT)
    count: dict[str, int] = {}
    for _ in range(chance.randint(1, most)):
        jobs = str(chance.choice((1, 2, 3, 4)))
        _configure(ground, jobs, sandbox)
        process = ground.start("--trust", "--merge", "never", "--jobs", jobs)
        time.sleep(chance.uniform(0.05, 6.0))
        kind = chance.choice(KINDS)
        count[kind] = count.get(kind, 0) + 1
        _disturb(ground, process, kind)
        out, err = process.communicate(timeout=_PATIENCE_S)
        assert "Traceback" not in out + err, out + err
        if process.returncode == 0:
            break
        if chance.random() < 0.3:
            assert ground.cli("unlock")[0] == 0
    for _ in range(3):  # a run that a person paused goes on with the next one
        code, out, err = ground.cli("--trust", "--merge", "never", "--jobs", str(chance.choice((1, 2, 4))))
        if code == 0:
            break
    assert code == 0, f"{code}: {out}{err}"
    _check(ground)
    return count


def _configure(ground: Ground, jobs: str, sandbox: str) -> None:
    slow = "sleep 0.2; test ! -e broken"
    ground.configure(checks={"test": slow}, review={"do": ["tester"]}, jobs=int(jobs), sandbox=sandbox)


def _disturb(ground: Ground, process: subprocess.Popen[str], kind: str) -> None:
    if kind == "second":
        code, out, err = ground.cli("--trust", "--merge", "never")
        assert code in (0, _BUSY), f"{code}: {out}{err}"
    elif kind == "unlock":
        code, out, err = ground.cli("unlock")
        assert code in (0, _BUSY), f"{code}: {out}{err}"
    elif kind in ("stop", "pause"):
        ground.cli(kind)
    elif kind in ("interrupt", "twice"):
        for _ in range(1 + (kind == "twice")):
            process.send_signal(signal.SIGINT)
    elif kind == "terminate":
        process.send_signal(signal.SIGTERM)
    elif kind == "group":  # the harness, its children and the executor at once, as the system ends a login
        for one in [*psutil.Process(process.pid).children(recursive=True)] if process.poll() is None else []:
            one.kill()
        process.kill()
    else:
        process.kill()


def _check(ground: Ground) -> None:
    """Raise AssertionError unless the run ended as it does without a storm, and nothing of it is left."""
    assert ground.tree() == TREE, ground.tree()
    assert ground.statuses() == ["completed"] * len(TASKS)
    merged = [event.task for event in ground.log() if isinstance(event, ev.Merged)]
    assert sorted(task or 0 for task in merged) == [1, 2, 3, 4, 5, 6], merged
    branch = f"nexus/{ground.run_id}/integration"
    titles = git(ground.root, "log", "--merges", "--first-parent", "--format=%s", branch).split("\n")
    assert len({title.split(",")[0] for title in titles}) == len(titles) == len(TASKS), titles
    extension = json.loads((ground.root / ".nexus/state/nexus-mcp/tasks.extension.json").read_text())
    held = [id_ for id_, entry in extension["tasks"].items() if entry.get("lease")]
    assert not held, held
    assert not list((ground.root / ".git").rglob("*.lock"))
    left = [path.name for path in (ground.worktrees / ground.run_id).iterdir()]
    assert left in ([], ["integration"]), left
    inside = f"{ground.worktrees}{os.sep}"
    assert not [one for one in psutil.process_iter() if _is_in(one, inside)]
    assert not git(ground.root, "status", "--porcelain")


def _is_in(process: psutil.Process, inside: str) -> bool:
    try:
        return f"{process.cwd()}{os.sep}".startswith(inside) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--sandbox", choices=("none", "bwrap"), default="none")
    given = parser.parse_args()
    end, seed, total = time.monotonic() + given.minutes * 60, given.seed, dict[str, int]()
    while time.monotonic() < end:
        folder = Path(tempfile.mkdtemp(prefix="nexus-storm-"))
        try:
            found = storm(folder, seed, sandbox=given.sandbox)
        except BaseException:
            print(f"seed {seed}: see {folder}", flush=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)
        for kind, times in found.items():
            total[kind] = total.get(kind, 0) + times
        print(f"seed {seed}: the same tree; so far {total}", flush=True)
        seed += 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
