"""Executors that are wrong, and the small correct one that they deviate from.

`python -m tests.miniatures.executor NAME STATUS [WORD …]` works through the task list of the folder that it runs in.
The correct one gives each attempt a copy of the project in place of a git worktree, and knows none of our code.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.miniatures.base import EXECUTOR, Json, Miniature

CORRECT = "correct"
RUN = "command run"
_PREFIX = "NEXUS_CONFORMANCE_"
_LEFT_OUT = (".nexus", ".git")


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass
class Executor:
    """A run of the task list. Each method that a miniature replaces does one thing."""

    status: Path
    root: Path
    words: Sequence[str]
    states: dict[int, str] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    active: dict[int, Path] = field(default_factory=dict)
    is_over: bool = False
    started: str = field(default_factory=now)

    def __post_init__(self) -> None:
        self.state = self.root / ".nexus" / "state"
        self.guard = threading.RLock()
        self.jobs = int(os.environ[f"{_PREFIX}JOBS"])
        self.budget = int(os.environ[f"{_PREFIX}ATTEMPTS"])
        self.home = Path(os.environ[f"{_PREFIX}WORKTREES"])
        self.integration = self.home / "integration"
        self.is_dry = "--dry-run" in self.words
        self.chosen = [int(word) for word in self.words if word.isdigit()]

    # The task list and the status file.

    def rows(self) -> list[Json]:
        rows: list[Json] = json.loads((self.state / "tasks.json").read_text())["tasks"]
        return rows

    def mine(self) -> list[Json]:
        return [row for row in self.rows() if not self.chosen or row["id"] in self.chosen]

    def set_status(self, id_: int, status: str) -> None:
        with self.guard:
            value = json.loads((self.state / "tasks.json").read_text())
            for row in value["tasks"]:
                if row["id"] == id_:
                    row["status"] = status
            self.put(self.state / "tasks.json", json.dumps(value))

    def put(self, path: Path, text: str) -> None:
        """Replace a file, whole or not at all."""
        fresh = path.with_name(f"{path.name}.tmp")
        fresh.write_text(text)
        fresh.replace(path)

    def progress(self) -> dict[str, int]:
        states = [
            "completed" if row["status"] == "completed" else self.states.get(row["id"], "waiting")
            for row in self.mine()
        ]
        named = {
            "passed": "completed",
            **{name: name for name in ("failed", "paused", "blocked", "skipped")},
        }
        found = {name: states.count(state) for name, state in named.items()}
        return {"total": len(states), **found, "pending": len(states) - sum(found.values())}

    def report(self, status: str) -> None:
        with self.guard:
            self.put(self.status, json.dumps(self.document(status)))

    def document(self, status: str) -> dict[str, Json]:
        rows = {row["id"]: row for row in self.rows()}
        active = [{"taskId": id_, "worktreePath": str(path), "phase": "implement"} for id_, path in self.active.items()]
        first = next(iter(self.active), None)
        current = None if first is None else self.current(rows[first])
        return {
            "version": 1,
            "run": {
                "id": "run-1",
                "feature": "Judge the executor",
                "startedAt": self.started,
                "status": status,
                "dryRun": self.is_dry,
                "pid": os.getpid(),
                "host": "here",
            },
            "progress": self.progress(),
            "cost": {"spent": None, "limit": None},
            "current": current,
            "parallel": {"enabled": self.jobs > 1, "maxConcurrency": self.jobs, "active": active},
            "questions": [],
            "iterations": sum(self.attempts.values()),
            "updatedAt": now(),
            "lastHeartbeat": now(),
            "durationMs": 1,
        }

    def current(self, row: Json) -> dict[str, Json]:
        names = {"complexity": "standard", "tddStrategy": "none", "model": "", "harness": "h", "tier": "standard"}
        return {
            **names,
            "taskId": row["id"],
            "storyId": str(row["id"]),
            "title": row["title"],
            "agent": row.get("owner", ""),
            "attempt": self.attempts.get(row["id"], 1),
            "phase": "implement",
        }

    # The run.

    def main(self) -> int:
        if self.is_dry:
            self.report("completed")
            return 0
        lock = self.locked()
        if lock is None:
            return 6
        with lock:
            if self.mine() and all(row["status"] == "completed" for row in self.mine()):
                self.report("completed")
                return 0
            if self.is_dirty() or self.has_circle():
                self.report("precheck-failed")
                return 5
            self.end_orphans()
            signal.signal(signal.SIGTERM, lambda *_: self.terminated())
            self.recover()
            self.report("running")
            self.work()
            return self.ended()

    def locked(self) -> Any:
        lock = (self.state / "run.lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            return None
        return lock

    def is_dirty(self) -> bool:
        words = ["git", "status", "--porcelain", "--untracked-files=no"]
        return bool(subprocess.run(words, cwd=self.root, capture_output=True, check=True).stdout.strip())

    def has_circle(self) -> bool:
        left = {row["id"]: set(row["deps"]) for row in self.rows()}
        while free := [id_ for id_, deps in left.items() if not deps & left.keys()]:
            for id_ in free:
                del left[id_]
        return bool(left)

    def end_orphans(self) -> None:
        for name in self.state.glob("agent-*.pid"):
            with suppress(ProcessLookupError):
                os.killpg(int(name.read_text()), signal.SIGKILL)
            name.unlink()

    def recover(self) -> None:
        """Take up what a dead run left in progress."""

    def terminated(self) -> None:
        self.end_orphans()
        self.report("paused")
        os._exit(143)

    def work(self) -> None:
        while ready := self.ready():
            threads = [threading.Thread(target=self.carry_out, args=(row,)) for row in ready[: self.jobs]]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        done = {row["id"] for row in self.rows() if row["status"] == "completed"}
        for row in self.mine():
            if row["status"] != "completed" and row["id"] not in self.states and not set(row["deps"]) <= done:
                self.states[row["id"]] = "blocked"

    def ready(self) -> list[Json]:
        done = {row["id"] for row in self.rows() if row["status"] == "completed"}
        return [
            row
            for row in self.mine()
            if row["status"] != "completed" and row["id"] not in self.states and set(row["deps"]) <= done
        ]

    def carry_out(self, row: Json) -> None:
        id_ = row["id"]
        result = "failed"
        for number in range(1, self.budget + 1):
            folder = self.copy(id_, number)
            self.attempts[id_] = number
            with self.guard:
                self.active[id_] = folder
            self.set_status(id_, "in_progress")
            self.report("running")
            before = self.files(folder)
            code = self.session(row, folder, number)
            if code == 0 and self.files(folder) == before:
                result = "paused"
                break
            if code == 0 and self.check(folder):
                result = "completed"
                break
        self.finish(row, result)

    def finish(self, row: Json, result: str) -> None:
        id_ = row["id"]
        folder = self.active[id_]
        with self.guard:
            if result == "completed":
                self.merge(folder)
            self.states[id_] = result
            del self.active[id_]
            self.set_status(id_, "completed" if result == "completed" else "pending")
            self.report("running")

    def copy(self, id_: int, number: int) -> Path:
        folder = self.home / f"{os.getpid()}-{id_}-{number}"
        previous = self.home / f"{os.getpid()}-{id_}-{number - 1}"
        source = previous if previous.exists() else self.integration if self.integration.exists() else self.root
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        return folder

    def files(self, folder: Path) -> dict[str, str]:
        return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}

    def session(self, row: Json, folder: Path, number: int) -> int:
        environ = {**os.environ, "NEXUS_TASK": str(row["id"]), "NEXUS_ATTEMPT": str(number)}
        process = subprocess.Popen(
            [os.environ[f"{_PREFIX}AGENT"]],
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        mark = self.state / f"agent-{process.pid}.pid"
        mark.write_text(str(process.pid))
        out, _ = process.communicate(row["title"])
        mark.unlink(missing_ok=True)
        return process.returncode or (0 if os.environ[f"{_PREFIX}DONE"] in out else 1)

    def check(self, folder: Path) -> bool:
        return subprocess.run([os.environ[f"{_PREFIX}CHECK"]], cwd=folder, check=False).returncode == 0

    def merge(self, folder: Path) -> None:
        shutil.copytree(folder, self.integration, dirs_exist_ok=True)

    def ended(self) -> int:
        found = self.progress()
        if found["passed"] == found["total"]:
            status, code = "completed", 0
        elif found["failed"]:
            status, code = "failed", 1
        else:
            status, code = "paused" if found["paused"] else "stalled", 3
        self.report(status)
        return code


# The deviations: each replaces one method of the correct executor.

Deviation = Callable[[type[Executor]], dict[str, Any]]


def _document(edit: Callable[[dict[str, Json]], object]) -> Deviation:
    """Return the deviation that edits each status file."""

    def members(right: type[Executor]) -> dict[str, Any]:
        def document(self: Executor, status: str) -> dict[str, Json]:
            value = right.document(self, status)
            edit(value)
            return value

        return {"document": document}

    return members


def _replaced(**methods: Callable[..., Any]) -> Deviation:
    return lambda _: methods


def _in_place(self: Executor, path: Path, text: str) -> None:
    with path.open("w") as file:
        for start in range(0, len(text), 40):
            file.write(text[start : start + 40])
            file.flush()
            threading.Event().wait(0.003)


def _completes_first(right: type[Executor]) -> dict[str, Any]:
    def check(self: Executor, folder: Path) -> bool:
        id_ = next(id_ for id_, path in self.active.items() if path == folder)
        self.set_status(id_, "completed")
        return right.check(self, folder)

    return {"check": check}


def _never_in_progress(right: type[Executor]) -> dict[str, Any]:
    def set_status(self: Executor, id_: int, status: str) -> None:
        if status != "in_progress":
            right.set_status(self, id_, status)

    return {"set_status": set_status}


def _counts_blocked_as_pending(right: type[Executor]) -> dict[str, Any]:
    def progress(self: Executor) -> dict[str, int]:
        found = right.progress(self)
        return {**found, "pending": found["pending"] + found["blocked"]}

    return {"progress": progress}


def _pending_lags(right: type[Executor]) -> dict[str, Any]:
    def progress(self: Executor) -> dict[str, int]:
        found = right.progress(self)
        return {**found, "pending": found["pending"] + bool(self.active) * found["passed"]}

    return {"progress": progress}


def _exits(status: str, code: int) -> Deviation:
    """Return the deviation that ends with another exit code, with the status as it should be."""

    def members(right: type[Executor]) -> dict[str, Any]:
        def ended(self: Executor) -> int:
            found = right.ended(self)
            return code if json.loads(self.status.read_text())["run"]["status"] == status else found

        return {"ended": ended}

    return members


def _says(status: str, instead: str) -> Deviation:
    """Return the deviation that writes another status."""

    def members(right: type[Executor]) -> dict[str, Any]:
        def report(self: Executor, name: str) -> None:
            right.report(self, instead if name == status else name)

        return {"report": report}

    return members


def _forgets_deps(right: type[Executor]) -> dict[str, Any]:
    def ready(self: Executor) -> list[Json]:
        return [row for row in self.mine() if row["status"] != "completed" and row["id"] not in self.states]

    return {"ready": ready}


def _starts_over(right: type[Executor]) -> dict[str, Any]:
    def recover(self: Executor) -> None:
        for row in self.mine():
            self.set_status(row["id"], "pending")

    return {"recover": recover}


def _locks_by_file(right: type[Executor]) -> dict[str, Any]:
    def locked(self: Executor) -> Any:
        try:
            return (self.state / "run.lock").open("x")
        except FileExistsError:
            return None

    return {"locked": locked}


def _works_in_the_checkout(right: type[Executor]) -> dict[str, Any]:
    def merge(self: Executor, folder: Path) -> None:
        right.merge(self, folder)
        shutil.copytree(folder, self.root, dirs_exist_ok=True)

    return {"merge": merge}


def _tries_once_more(right: type[Executor]) -> dict[str, Any]:
    def carry_out(self: Executor, row: Json) -> None:
        self.budget += 1
        right.carry_out(self, row)

    return {"carry_out": carry_out}


def _gives_up_at_once(right: type[Executor]) -> dict[str, Any]:
    def carry_out(self: Executor, row: Json) -> None:
        self.budget = 1
        right.carry_out(self, row)

    return {"carry_out": carry_out}


def _ignores_words(right: type[Executor]) -> dict[str, Any]:
    def mine(self: Executor) -> list[Json]:
        return self.rows()

    return {"mine": mine}


def _runs_when_dry(right: type[Executor]) -> dict[str, Any]:
    def main(self: Executor) -> int:
        was, self.is_dry = self.is_dry, False
        code = right.main(self)
        self.is_dry = was
        self.report("completed")
        return code

    return {"main": main}


def _no_status_when_done(right: type[Executor]) -> dict[str, Any]:
    def main(self: Executor) -> int:
        if not self.is_dry and all(row["status"] == "completed" for row in self.mine()):
            return 0
        return right.main(self)

    return {"main": main}


def _terminates_as_failed(right: type[Executor]) -> dict[str, Any]:
    def terminated(self: Executor) -> None:
        self.end_orphans()
        os._exit(1)

    return {"terminated": terminated}


def _completes_unchanged(right: type[Executor]) -> dict[str, Any]:
    def files(self: Executor, folder: Path) -> dict[str, str]:
        return {"": str(object())}

    return {"files": files}


def _believes_a_dead_session(right: type[Executor]) -> dict[str, Any]:
    def session(self: Executor, row: Json, folder: Path, number: int) -> int:
        right.session(self, row, folder, number)
        return 0

    return {"session": session}


def _refuses_running(right: type[Executor]) -> dict[str, Any]:
    def locked(self: Executor) -> Any:
        return (self.state / "run.lock").open("a")

    return {"locked": locked}


def _one_at_a_time(right: type[Executor]) -> dict[str, Any]:
    def work(self: Executor) -> None:
        self.jobs = 1
        right.work(self)

    return {"work": work}


_ROWS: tuple[tuple[str, str, Deviation], ...] = (
    ("run-status-no-host", "The status file has no host.", _document(lambda value: value["run"].pop("host"))),
    (
        "run-status-no-story",
        "The status file has no storyId.",
        _document(lambda value: (value["current"] or {}).pop("storyId", None)),
    ),
    ("run-status-in-place", "The status file is written in place, piece by piece.", _replaced(put=_in_place)),
    ("run-pending-lags", "While a task is active, pending counts completed tasks, too.", _pending_lags),
    ("run-pending-has-blocked", "pending counts the blocked tasks, too.", _counts_blocked_as_pending),
    ("run-dry-works", "A dry run starts agents.", _runs_when_dry),
    ("run-no-order", "Tasks are started before their dependencies are done.", _forgets_deps),
    ("run-failed-exits-0", "A run that failed ends with 0.", _exits("failed", 0)),
    ("run-paused-exits-0", "A run that waits for a person ends with 0.", _exits("paused", 0)),
    ("run-stalled-exits-0", "A run in which nothing is ready ends with 0.", _exits("stalled", 0)),
    ("run-stalled-completes", "A run in which nothing is ready says completed.", _says("stalled", "completed")),
    ("run-ignores-the-task", "The id of a task on the command line is ignored.", _ignores_words),
    ("run-silent-when-done", "With nothing left to do no status file is written.", _no_status_when_done),
    ("run-starts-over", "Completed tasks are done again.", _starts_over),
    ("run-dirty", "A run starts on uncommitted changes.", _replaced(is_dirty=lambda _: False)),
    ("run-circle", "A circle of dependencies is not found.", _replaced(has_circle=lambda _: False)),
    ("run-one-at-a-time", "The number of jobs is ignored.", _one_at_a_time),
    ("run-completes-first", "A task is completed before its check.", _completes_first),
    ("run-no-check", "The agent is believed, and no check runs.", _replaced(check=lambda _, __: True)),
    ("run-never-in-progress", "tasks.json does not say that a task is in progress.", _never_in_progress),
    ("run-dead-session", "A session that ended with an error counts as a success.", _believes_a_dead_session),
    ("run-tries-more", "A task has more attempts than are allowed.", _tries_once_more),
    ("run-gives-up", "A task has one attempt, whatever is allowed.", _gives_up_at_once),
    ("run-in-the-checkout", "The work is written into the user's checkout.", _works_in_the_checkout),
    ("run-not-alone", "A second run is not refused.", _refuses_running),
    ("run-leaves-orphans", "The agents of a dead run go on.", _replaced(end_orphans=lambda _: None)),
    ("run-lock-stays", "The lock file of a dead run refuses each later one.", _locks_by_file),
    ("run-terminated-fails", "SIGTERM ends with 1.", _terminates_as_failed),
    ("run-unchanged", "A task on which the agent changed nothing is completed.", _completes_unchanged),
)
DEVIATIONS = {name: deviation for name, _, deviation in _ROWS}
MINIATURES = tuple(Miniature(name, wrong, (RUN,), None, EXECUTOR) for name, wrong, _ in _ROWS)


def main(arguments: Sequence[str]) -> int:
    name, status, *words = arguments
    kind = Executor if name == CORRECT else type(name, (Executor,), DEVIATIONS[name](Executor))
    found: int = kind(Path(status), Path.cwd(), words).main()
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
