"""`nexus-mcp run attach TASK`: follow the transcript of the last attempt of a task."""

from __future__ import annotations

import json
import sys
import time

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command
from nexus_mcp.cli.run.options import POLL_S, PROJECT_ONLY, TASK, opened_store, task_of
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values

_LIMIT = 64 << 20
_RESULT_SHOWN = 300


def run(values: Values) -> int:
    """Print the transcript, and follow it while the attempt runs. Raise UsageError for a task without an attempt."""
    from nexus_mcp.run.run_folder import read_file
    from nexus_mcp.run.view import open_view

    _, store = opened_store(values)
    task, run_name, seen = task_of(values), "", 0
    shown = 0  # the attempt whose lines were printed
    while True:
        with open_view(store, run_name) as view:
            run_name = view.id
            record = view.state.task(task)
            if record.last is None:
                raise UsageError(f"Task {task} has no attempt in {view.id}.")
            if record.last.attempt.number != shown:
                shown, seen = record.last.attempt.number, 0
            place = ("attempts", f"{task}-{record.last.attempt.number}", "transcript.jsonl")
            lines = (read_file(view.folder, place, _LIMIT) or b"").split(b"\n")[:-1]  # a truncated line is left out
            for line in lines[seen:]:
                _show(line)
            seen = len(lines)
            is_over = view.holder is None or record.state not in ("running", "merging")
        sys.stdout.flush()
        if is_over:
            return exits.OK
        time.sleep(POLL_S)


def _show(line: bytes) -> None:
    try:
        entry: Any = json.loads(line)
    except ValueError:
        return
    if not isinstance(entry, dict):
        return
    from nexus_mcp.quoting import inert_lines

    stamp = str(entry.get("timestamp", ""))[11:19]
    if entry.get("type") == "message":
        content = entry.get("content")
        if not isinstance(content, str):
            tools = [part.get("name", "") for part in content or () if isinstance(part, dict)]
            content = f"tool {', '.join(map(str, tools))}"
        elif entry.get("role") == "tool_result":
            content = content[:_RESULT_SHOWN]
        print(f"{stamp} {inert_lines(str(entry.get('role', '')))}: {inert_lines(content)}")
    elif entry.get("type") in ("session", "session_info"):
        print(f"{stamp} session of {inert_lines(str(entry.get('agent') or entry.get('harness', '')))}")


COMMAND = Command(
    "attach",
    "follow what the agent of a task does",
    "Shows the transcript of the last attempt of a task, until the attempt ends.",
    PROJECT_ONLY,
    run,
    argument=TASK,
    examples=(("nexus-mcp run attach 3", "follow what the agent of task 3 does"),),
)
