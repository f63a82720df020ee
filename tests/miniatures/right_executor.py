"""A small correct executor, which knows none of our code: the one that the miniatures of executors deviate from.

It gives each attempt a copy of the project in place of a git worktree.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Json = Any
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
