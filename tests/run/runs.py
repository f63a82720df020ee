"""Helpers of the tests of runs: a repository with a task list, a run on it with the fake harness, and its result."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nexus_mcp.catalog.load import load
from nexus_mcp.run import events as ev
from nexus_mcp.run.checks import environment, run_check
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.engine import LocalEngine
from nexus_mcp.run.projection import RunRecord, project
from nexus_mcp.run.run_folder import EventLog, read_log, run_folder, run_id
from nexus_mcp.run.setup import Options, Run
from nexus_mcp.run.worktrees import Repository
from nexus_mcp.store.folder import Folder
from nexus_mcp.store.store import Store
from nexus_mcp.workspace import Workspace
from tests.forked_commands import warm
from tests.support import Json, pretty

ROOT = Path(__file__).resolve().parents[2]
_PRELOAD = (
    "nexus_mcp.cli.run",
    "nexus_mcp.run.execute",
    "nexus_mcp.run.begin",
    "nexus_mcp.cli.run.start",
    "nexus_mcp.cli.run.work",
)
"""What a run imports, half of its processor time: what it imports is the business of tests/test_imports.py."""
GOOD = {"version": 1, "approved": True, "tests": {"allPassing": True}}


def git(where: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=where, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _there(folder: Folder | None) -> Folder:
    assert folder is not None
    return folder


class Ground:
    """A repository in a folder, with tasks and a script for the fake harness."""

    def __init__(
        self, folder: Path, tasks: list[Json], script: dict[str, Json], files: dict[str, str] | None = None
    ) -> None:
        self.root = folder / "project"
        self.root.mkdir(parents=True)
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "config", "user.email", "a@example.org")
        git(self.root, "config", "user.name", "A")
        for name, text in {"README.md": "x\n", **(files or {})}.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        state = self.root / ".nexus" / "state"
        state.mkdir(parents=True)
        (self.root / ".nexus" / ".gitignore").write_text("*\n")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "first")
        rows = [
            {"context": "c", "status": "pending", "deps": [], "created_at": "2026-01-01T00:00:00.000Z", **task}
            for task in tasks
        ]
        (state / "tasks.json").write_bytes(pretty({"goal": "g", "decisions": [], "tasks": rows}))
        self.script = folder / "script.json"
        self.script.write_text(json.dumps(script))
        self.worktrees = folder / "worktrees"
        self.run_id = ""

    @classmethod
    def at(cls, folder: Path, run: str) -> Ground:
        """Return the ground that another process made in `folder`, with its run."""
        found = cls.__new__(cls)
        found.root, found.script, found.worktrees = folder / "project", folder / "script.json", folder / "worktrees"
        found.run_id = run
        return found

    def config(self, **values: Any) -> RunConfig:
        command = [sys.executable, str(ROOT / "tests" / "run" / "fake_harness.py"), str(self.script)]
        fake = {"command": command, "resume": command, "format": "jsonl"}
        base = {
            "harness": "fake",
            "drivers": {"fake": fake},
            "worktrees": str(self.worktrees),
            "checks": {"test": "test ! -e broken"},
            "review": {},
            "jobs": 1,
        }
        return RunConfig.model_validate({**base, **values})

    def run(
        self, *, options: Options | None = None, before: Callable[[Run], object] | None = None, **values: Any
    ) -> RunRecord:
        """Work through the list, or go on with the run begun before; return the state after it."""
        return asyncio.run(self._run(self.config(**values), options or Options(), before))

    async def _run(self, config: RunConfig, options: Options, before: Callable[[Run], object] | None) -> RunRecord:
        workspace = Workspace(str(self.root))
        store = Store(workspace)
        self.run_id = self.run_id or run_id(time.time())
        with store.locked_state():
            pass
        with (
            Folder.root(str(self.root / ".nexus" / "state")) as state,
            run_folder(state, self.run_id, create=True) as folder,
            EventLog(_there(folder)) as log,
        ):
            repository = Repository(str(self.root), self.run_id, str(self.worktrees))
            base = await repository.head("HEAD")
            if not await repository.head(f"refs/heads/{repository.integration}"):
                await repository.publish("", base)
            run = Run(workspace, store, repository, config, options, _there(folder), log, load(str(self.root)))
            for name, command in config.active_checks().items():
                run.baseline[name] = await run_check(name, command, str(self.root), environment(), 60)
            run.emit(ev.RunStarted(run=self.run_id, pid=1, host="h", base=base))
            if before is not None:
                before(run)
            status = await LocalEngine(run, has_tests=True).work()
            run.emit(ev.RunEnded(status=status))
            return run.state

    def configure(self, **values: Any) -> None:
        """Write the configuration of `config` into the project, for the command line."""
        changed = self.config(**values).model_dump(mode="json", exclude_defaults=True)
        changed["review"] = values.get("review", {})
        (self.root / ".nexus" / "config.yml").write_text(json.dumps({"run": changed}))

    def environ(self) -> dict[str, str]:
        """Return the environment of a command: the user's state is in the folder of the ground."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NEXUS_")}
        return {**kept, "XDG_STATE_HOME": str(self.root.parent / "xdg"), "PYTHONPATH": str(ROOT)}

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `nexus-mcp run WORDS` in the project."""
        command = [sys.executable, "-m", "nexus_mcp", "run", *words]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.root, env=self.environ(), text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    def cli(self, *words: str) -> tuple[int, str, str]:
        """Return (exit code, stdout, stderr) of `nexus-mcp run WORDS`; the run that it made becomes that of the
        ground.
        """
        done = warm("nexus_mcp.cli", ("run", *words), preload=_PRELOAD, cwd=self.root, env=self.environ(), limit=60)
        self.find_run()
        return done.code, done.out, done.err

    def find_run(self) -> None:
        """Take the newest run of the project as that of the ground."""
        found = sorted((self.root / ".nexus/state/runs").glob("run-*"))
        self.run_id = found[-1].name if found else ""

    def tree(self) -> dict[str, str]:
        """Return path -> content of the integration branch."""
        ref = f"nexus/{self.run_id}/integration"
        names = git(self.root, "ls-tree", "-r", "--name-only", ref).split("\n")
        return {name: git(self.root, "show", f"{ref}:{name}") for name in names if not name.startswith(".nexus")}

    def statuses(self) -> list[str]:
        """Return the status of each task in tasks.json."""
        tasks = json.loads((self.root / ".nexus/state/tasks.json").read_text())["tasks"]
        return [task["status"] for task in tasks]

    def log(self) -> list[ev.AnyEvent]:
        """Return the events of the run."""
        with Folder.root(str(self.root / ".nexus/state")) as state, run_folder(state, self.run_id) as folder:
            assert folder is not None
            return read_log(folder)[0]

    def state(self) -> RunRecord:
        """Return the state that the log gives."""
        return project(self.log())
