"""A plan of three tasks that `nexus-mcp run` does with a client: a crash, a rejected verdict and a conflict.

All three begin at once. GREET and PART change the same line: PART ends its first session after GREET is merged, so that
it conflicts. LEAVE is killed in its first session, and tries to change tasks and plan in its second one.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import psutil

from tests.e2e.model.conversation import Conversation
from tests.e2e.model.script import Step, Turn
from tests.e2e.model.server import Model, Request
from tests.e2e.running import Done, Running
from tests.e2e.scratch import PROGRAM, Scratch, wait_until

GREET, LEAVE, PART = "Write the greeting", "Write the leaving", "Write the parting"
LOOK, WAIT = "Look at the words", "Wait for the words"
NEVER_READ = "NEVER-READ"
FORBIDDEN = ("task_add", "task_update", "task_close", "plan_start", "plan_update", "plan_decide")
GOOD = {"version": 1, "approved": True, "tests": {"allPassing": True, "passCount": 1, "failCount": 0}}
BAD = {**GOOD, "approved": False, "reasoning": "The greeting names nobody."}
_LIMIT_S = 900
_PRECHECK_S = 120
_VARIABLES = ("NEXUS_RUN", "NEXUS_TASK", "NEXUS_ATTEMPT", "NEXUS_AGENT", "NEXUS_WORKTREE")
_CONFIG: dict[str, Any] = {
    "jobs": 3,
    "checks": {"test": "! grep -q '<<<<<<<' words.txt"},
    "guards": {"default": {"stale_warn_s": 200, "stale_abort_s": 900}},
    "session_timeout_s": 900,
}


class Client(Protocol):
    """What the tests need of a client. `hands` are its turns that work on files."""

    scratch: Scratch
    model: Model
    program: Path

    @property
    def env(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class Hands:
    """How the model of a client works: the turns that write a file, replace it, run a shell, and give a verdict.

    `read` reads so many lines of a file. `find` are turns before the first call of a tool of ours; `files` are further
    files of the project.
    """

    write: Callable[[Path, str], Turn]
    replace: Callable[[Path, str], Sequence[Turn]]
    shell: Callable[[str], Turn]
    verdict: Callable[[dict[str, Any]], Turn]
    read: Callable[[Path, int], Turn]
    find: Sequence[Turn] = ()
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass
class PlanRun:
    """A run on the scratch project of a client, and what was seen on the way."""

    client: Client
    harness: str
    hands: Hands
    kept: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def worktrees(self) -> Path:
        return self.client.scratch.home / "worktrees"

    @property
    def state(self) -> Path:
        return self.client.scratch.root / ".nexus" / "state"

    def configure(self, tasks: Sequence[dict[str, Any]], models: dict[str, str]) -> None:
        """Commit the configuration and a file that all tasks change, and add the tasks."""
        scratch = self.client.scratch
        run = {**_CONFIG, "harness": self.harness, "worktrees": str(self.worktrees), **self.config}
        scratch.write(".nexus/config.yml", json.dumps({"run": run, "models": {self.harness: models}}))
        for name, text in {"words.txt": "silence\n", "wait.sh": 'sleep "$1"\n', **self.hands.files}.items():
            scratch.write(name, text)
        scratch.git("config", "user.name", "Test")
        scratch.git("config", "user.email", "test@example.invalid")
        for task in tasks:
            scratch.call("task_add", **{"context": "Words.", "acceptance": "The word is there.", **task})
        scratch.git("add", ".")
        scratch.git("commit", "-q", "-m", "Words")

    def worktree(self, name: str) -> Path:
        """Return the worktree of an attempt, as `1-2`."""
        (found,) = self.worktrees.glob(f"run-*/{name}")
        return found

    def start(self, *words: str, **env: str) -> Running:
        """Start `nexus-mcp run` with more options."""
        path = os.pathsep.join((str(self.client.program.parent), self.client.env["PATH"]))
        temporary = self.client.scratch.home / "tmp"  # Codex has no sandbox where its home is in the temporary folder
        temporary.mkdir(exist_ok=True)
        command: list[str | Path] = [PROGRAM, "run", "--headless", "--trust", "--merge", "never", *words]
        return Running(
            command, {**self.client.env, "PATH": path, "TMPDIR": str(temporary), **env}, self.client.scratch.root
        )

    def run(self, *words: str, **env: str) -> Done:
        """Run to the end, and keep what was left of its processes."""
        running = self.start(*words, **env)
        try:
            out, err = running.process.communicate(timeout=_LIMIT_S)
            self.kept["left"] = [" ".join(process.cmdline()) for process in running.left()]
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the run did not end: {self.events()[-5:]}") from None
        finally:
            running.kill()
        return Done(running.process.returncode, out, err)

    def precheck(self, *without: str, **env: str) -> Done:
        """Return the end of `nexus-mcp run precheck`, without some variables and with others."""
        path = os.pathsep.join((str(self.client.program.parent), self.client.env["PATH"]))
        kept = {name: value for name, value in self.client.env.items() if name not in without}
        environ = {**kept, "PATH": path, **env}
        return Running([PROGRAM, "run", "precheck"], environ, self.client.scratch.root).wait(_PRECHECK_S)

    def folder(self) -> Path:
        """Return the folder of the run."""
        (found,) = (self.state / "runs").glob("run-*")
        return found

    def events(self, *types: str) -> list[dict[str, Any]]:
        """Return the events of the log, of these types."""
        lines = (self.folder() / "events.jsonl").read_text(encoding="utf-8").splitlines()
        found = [json.loads(line) for line in lines]
        return [event for event in found if event["type"] in types] if types else found

    def requests(self, pattern: str) -> list[Request]:
        """Return the requests of the model whose user wrote the pattern, in order."""
        found = re.compile(pattern)
        return [one for one in self.client.model.with_tools() if one.conversation.last_matching(found) >= 0]

    def attempt(self, name: str, file: str) -> Any:
        """Return a JSON file of an attempt."""
        return json.loads((self.folder() / "attempts" / name / file).read_text(encoding="utf-8"))

    def text_of(self, name: str, file: str) -> str:
        """Return a file of an attempt."""
        return (self.folder() / "attempts" / name / file).read_text(encoding="utf-8")

    def tree(self) -> dict[str, str]:
        """Return path → text of the integration branch, without the state of nexus-mcp."""
        git = self.client.scratch.git
        ref = f"nexus/{self.folder().name}/integration"
        names = [name for name in git("ls-tree", "-r", "--name-only", ref).splitlines() if ".nexus" not in name]
        return {name: git("show", f"{ref}:{name}") for name in names}

    def wait_for_merge_of(self, task: int) -> None:
        wait_until(lambda: any(event["task"] == task for event in self.events("task_done")), _LIMIT_S)

    def kill_session(self, task: int) -> None:
        """Kill the process of a session as a crash does: at once, and it alone."""
        os.kill(self._row(task)["pid"], signal.SIGKILL)

    def environ_of_session(self, task: int) -> dict[str, str]:
        """Return the variables of the session of a task."""
        return psutil.Process(self._row(task)["pid"]).environ()

    def _row(self, task: int) -> dict[str, Any]:
        rows: list[dict[str, Any]] = json.loads((self.state / "processes.json").read_text(encoding="utf-8"))
        return next(row for row in rows if row["task"] == task)

    def servers(self, task: int) -> list[dict[str, str]]:
        """Return cwd and variables of each server of ours that a session of the task has started."""
        found = []
        for process in psutil.process_iter():
            try:
                environ, words = process.environ(), process.cmdline()
                if "serve" in words and "--harness-id" in words and environ.get("NEXUS_TASK") == str(task):
                    found.append({"cwd": process.cwd(), **{name: environ.get(name, "") for name in _VARIABLES}})
            except (psutil.Error, OSError):
                continue
        return [one for one in found if one["cwd"].startswith(str(self.worktrees))]


MakeRun = Callable[..., PlanRun]
"""Make a run of (harness, script of this module, more arguments of the script)."""


def three_tasks(run: PlanRun, models: dict[str, str]) -> None:
    """Script the three tasks, run them, and keep the checkout before and after."""
    run.configure([{"title": title, "owner": "engineer"} for title in (GREET, LEAVE, PART)], models)
    script, hands = run.client.model.script, run.hands
    verdicts, starts = [BAD, GOOD], [1, 2]

    def judge_greeting(_: Conversation) -> Turn:
        return hands.verdict(verdicts.pop(0))

    def leave(_: Conversation) -> Turn:
        if starts.pop(0) == 1:
            run.kill_session(2)
            return {"text": NEVER_READ}
        run.kept["servers"] = run.servers(2)
        run.kept["session"] = run.environ_of_session(2)
        return hands.write(run.worktree("2-2") / "leaving.txt", "farewell\n")

    def part(_: Conversation) -> Turn:
        run.wait_for_merge_of(1)
        return hands.write(run.worktree("3-1") / "parting.txt", "goodbye\n")

    def put(name: str, text: str) -> list[Step]:
        count = len(hands.replace(Path(), ""))
        return [partial(_replace, run, name, text, place) for place in range(count)]

    own, judge = "(?s){}.*Do the whole task", "(?s){}.*Another agent says"
    calls = [{"tool": name, "input": {"id": 1, "status": "completed"}} for name in FORBIDDEN]
    all_calls: Turn = {"calls": [*calls, {"tool": "task_list", "input": {}}]}
    script.on("work was not accepted", *put("1-1", "hello, Ann\n"), {"text": "Named."})
    script.on("Your branch conflicts", *put("3-1", "hello, Ann\ngoodbye\n"), {"text": "Resolved."})
    script.on(own.format(GREET), *put("1-1", "hello\n"), {"text": "Greeted."})
    script.on(judge.format(GREET), judge_greeting, {"text": "Judged."})
    script.on(own.format(LEAVE), leave, *hands.find, all_calls, {"text": "Left."})
    script.on(judge.format(LEAVE), hands.verdict(GOOD), {"text": "Judged."})
    script.on(own.format(PART), part, *put("3-1", "goodbye\n"), {"text": "Parted."})
    script.on(judge.format(PART), hands.verdict(GOOD), {"text": "Judged."})
    scratch = run.client.scratch
    run.kept["before"] = _checkout(scratch)
    run.kept["done"] = run.run(REPL_ID="x", NEXUS_PROJECT_ROOT=str(scratch.root))
    run.kept["after"] = _checkout(scratch)


def _replace(run: PlanRun, name: str, text: str, place: int, _: Conversation) -> Turn:
    return run.hands.replace(run.worktree(name) / "words.txt", text)[place]


def guarded(run: PlanRun, models: dict[str, str], abort_s: int) -> None:
    """Run two tasks: LOOK reads until it is told to change something; WAIT uses a tool for long, then is silent."""
    run.config = {"review": {}, "jobs": 2, "checks": {"test": "true"}, "guards": {"default": {"investigation_cap": 10}}}
    run.configure([{"title": title, "owner": "engineer"} for title in (LOOK, WAIT)], models)
    script, hands = run.client.model.script, run.hands
    starts = [1, 2]

    def look(_: Conversation) -> Turn:
        return {"calls": [hands.read(run.worktree("1-1") / "words.txt", number) for number in range(1, 12)]}

    def be_ended(_: Conversation) -> Turn:
        wait_until(lambda: any(event["task"] == 1 for event in run.events("process_ended")), _LIMIT_S)
        return {"text": NEVER_READ}

    def wait(_: Conversation) -> Turn:
        if starts.pop(0) == 1:
            run.kept["asked"] = time.monotonic()
            return hands.shell(f"sh wait.sh {abort_s + 5}")
        return hands.write(run.worktree("2-2") / "waited.txt", "late\n")

    def be_silent(_: Conversation) -> Turn:
        if starts:
            run.kept["waited"] = time.monotonic() - run.kept["asked"]
            run.kept["before silence"] = run.events("guard")
            wait_until(lambda: any(event["task"] == 2 for event in run.events("process_ended")), _LIMIT_S)
        return {"text": "Waited."}

    def looked(_: Conversation) -> Turn:
        return hands.write(run.worktree("1-1") / "looked.txt", "seen\n")

    script.on("used many tools and changed no file", looked, {"text": "Looked."})
    script.on(f"(?s){LOOK}.*Do the whole task", look, be_ended)
    script.on(f"(?s){WAIT}.*Do the whole task", wait, be_silent)
    milliseconds = str(abort_s * 1000)
    run.kept["abort"] = abort_s
    run.kept["done"] = run.run(NEXUS_STALE_WARN_MS="1000", NEXUS_STALE_ABORT_MS=milliseconds)


def refused(run: PlanRun, models: dict[str, str]) -> None:
    """Run a task whose sessions the service refuses for a wrong key."""
    run.config = {"review": {}}
    run.configure([{"title": GREET, "owner": "engineer"}], models)
    run.client.model.script.on(GREET, {"refused": 401, "text": "Invalid API key"})
    run.kept["done"] = run.run()


def _checkout(scratch: Scratch) -> dict[str, Any]:
    """Return what a run must not touch: the files of the project and of its git folder that belong to the user."""
    files = {name: data for name, data in scratch.project_bytes().items() if not name.startswith(".nexus/state/")}
    git = {name: (scratch.root / ".git" / name).read_bytes() for name in ("HEAD", "config", "info/exclude")}
    refs = [line for line in scratch.git("for-each-ref").splitlines() if "refs/heads/nexus/" not in line]
    return {"files": files, "git": git, "refs": refs, "status": scratch.git("status", "--porcelain")}
