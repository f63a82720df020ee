"""The costs of an installation: native hooks as processes, OpenCode's resident process, and the installation itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.client import ROOT
from benchmarks.data.project import projects
from benchmarks.figures import OURS, PYTHON
from benchmarks.goals import FIVE_MS, INSTALLS, NATIVE, ONE_SECOND
from benchmarks.peers.servers import script
from benchmarks.scenarios.bench import Bench
from benchmarks.scenarios.start import bare_python

EDIT: dict[str, Any] = {"tool_name": "Edit", "tool_input": {"file_path": "src/store.py", "old_string": "a"}}
AGENT = {"agent_id": "a1", "agent_type": "engineer"}
PAYLOADS: dict[str, dict[str, Any]] = {
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "Go on with the store, please."},
    "SubagentStart": AGENT,
    "PreToolUse": {**EDIT, **AGENT},
    "PostToolUse": {**EDIT, **AGENT, "tool_response": {}},
    "SubagentStop": {**AGENT, "last_assistant_message": "Done."},
    "Stop": {"stop_hook_active": False},
    "SessionEnd": {"reason": "other"},
}
CALLS = 100


def run(bench: Bench) -> None:
    """Run one session per round in a project with a plan and 20 tasks, and one installation into an empty project."""
    figures = bench.figures
    with projects([OURS]) as made:
        project = made[OURS]
        project.give_plan()
        project.give_tasks(20)
        environment = {**os.environ, "NEXUS_PROJECT_ROOT": str(project.root), "PYTHONPATH": str(ROOT)}
        for turn in range(bench.rounds + 1):
            for event in NATIVE:
                payload = {"hook_event_name": event, "session_id": "s1", **PAYLOADS[event]}
                command = [*script(), "hook", "--native", "claude-code", "--gate", "auto", "--skills"]
                begun = time.perf_counter()
                done = subprocess.run(
                    command,
                    input=json.dumps(payload).encode(),
                    capture_output=True,
                    check=False,
                    cwd=project.root,
                    env=environment,
                )
                milliseconds = (time.perf_counter() - begun) * 1000
                figures.expect(OURS, f"native hook {event}", (done.returncode, done.stderr), (0, b""))
                bare = bare_python()
                if turn:
                    figures.add(f"native-{event}", OURS, milliseconds)
                    figures.add(f"native-{event}", PYTHON, bare)
            for name in INSTALLS:
                milliseconds = _install(bench, name)
                if turn:
                    figures.add(f"install-{name}", OURS, milliseconds)
                    figures.add(f"install-{name}", ONE_SECOND, 1000.0)
            slow = _resident(bench, project.root, environment)
            if turn:
                figures.add("resident", OURS, slow)
                figures.add("resident", FIVE_MS, 5.0)


def _install(bench: Bench, name: str) -> float:
    """Return the milliseconds of an installation into an empty project, with an empty home."""
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder) / "project", Path(folder) / "home"
        (root / ".git").mkdir(parents=True)
        home.mkdir()
        environment = {"HOME": str(home), "PATH": os.defpath, "PYTHONPATH": str(ROOT)}
        begun = time.perf_counter()
        done = subprocess.run([*script(), "install", name], capture_output=True, check=False, cwd=root, env=environment)
        milliseconds = (time.perf_counter() - begun) * 1000
    bench.figures.expect(OURS, f"install {name}", done.returncode, 0)
    return milliseconds


def _resident(bench: Bench, root: Path, environment: dict[str, str]) -> float:
    """Return the 95th percentile of the milliseconds from a report before a tool to its answer."""
    command = [*script(), "hook", "--native", "opencode", "--serve", "--gate", "auto"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root, env=environment)
    assert process.stdin is not None
    assert process.stdout is not None
    times = []
    try:
        report = {"event": "before", "session": "r", "tool": "edit", "input": {"filePath": "src/store.py"}}
        for number in range(CALLS + 1):
            line = json.dumps({**report, "id": number}).encode() + b"\n"
            begun = time.perf_counter()
            process.stdin.write(line)
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            if number:  # the first event loads its modules
                times.append((time.perf_counter() - begun) * 1000)
            bench.figures.expect(OURS, "resident hook", answer, {"id": number})
        process.stdin.close()
    finally:
        if process.wait(timeout=30) and sys.exc_info()[0] is None:
            bench.figures.expect(OURS, "end of the resident hook", process.returncode, 0)
    return sorted(times)[int(len(times) * 0.95) - 1]
