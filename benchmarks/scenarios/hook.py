"""A hook as a harness runs it, a process with its params on stdin, beside an interpreter that does nothing."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

from benchmarks.client import ROOT
from benchmarks.data.project import projects
from benchmarks.figures import OURS, PYTHON
from benchmarks.goals import HOOKS
from benchmarks.peers.servers import script
from benchmarks.scenarios.bench import Bench
from benchmarks.scenarios.start import bare_python

HARNESS = "claude-code"  # a harness with a capability map: without one, an event about a tool does no work
EDIT = {"tool": "Edit", "tool_input": {"file_path": "src/store.py", "old_string": "a", "new_string": "b"}}
PARAMS: dict[str, dict[str, Any]] = {
    "session_start": {"source": "startup", "session_id": "s1"},
    "user_message": {"prompt": "Go on with the store, please.", "session_id": "s1"},
    "agent_spawn": {"agent_name": "engineer", "agent_id": "a1"},
    "pre_tool_use": {**EDIT, "agent_id": "a1"},
    "post_tool_use": {**EDIT, "agent_id": "a1", "status": "ok"},
    "context_compact": {"session_id": "s1"},
    "agent_complete": {"agent_id": "a1", "last_message": "Done.", "files_touched": ["store.py"]},
    "session_end": {},
}
# The events that warn about the unfinished tasks of the project.
WARNING = ("session_start", "session_end")


def run(bench: Bench) -> None:
    """Run one session per round, in a project with a plan and 20 tasks: it starts, an agent works, the session ends.

    Only our hooks are measured, because upstream has none.
    """
    figures = bench.figures
    with projects([OURS]) as made:
        project = made[OURS]
        project.give_plan()
        project.give_tasks(20)
        environment = {**os.environ, "NEXUS_PROJECT_ROOT": str(project.root), "PYTHONPATH": str(ROOT)}
        for turn in range(bench.rounds + 1):
            for hook in HOOKS:
                begun = time.perf_counter()
                done = subprocess.run(
                    [*script(), "hook", hook],
                    input=json.dumps({"harness_id": HARNESS, **PARAMS[hook]}).encode(),
                    capture_output=True,
                    check=False,
                    cwd=project.root,
                    env=environment,
                )
                milliseconds = (time.perf_counter() - begun) * 1000
                figures.expect(OURS, f"hook {hook}", done.returncode, 0)
                said = json.loads(done.stdout)["warnings"] if hook not in WARNING else []
                figures.expect(OURS, f"warnings of hook {hook}", said, [])
                bare = bare_python()
                if turn:
                    figures.add(f"hook-{hook}", OURS, milliseconds)
                    figures.add(f"hook-{hook}", PYTHON, bare)
