"""`nexus-mcp run status [RUN]`: print how far a run is, and whether its executor is alive."""

from __future__ import annotations

import sys
import time

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, count_noun
from nexus_mcp.cli.run.options import FOLLOW, POLL_S, PROJECT_ONLY, RUN, opened_store, run_name
from nexus_mcp.cli.workspace_options import JSON, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.run.status import StatusFile
    from nexus_mcp.run.view import View
    from nexus_mcp.store.store import Store


def run(values: Values) -> int:
    """Print the status; with --follow after each change until the run ends."""
    from nexus_mcp.run.view import open_view

    _, store = opened_store(values)
    name, seen = run_name(values), 0
    while True:
        with open_view(store, name) as view:
            name = view.id
            if view.state.seq != seen:
                seen = view.state.seq
                _show(view, store, values)
            is_over = view.holder is None
        if FOLLOW.name not in values or is_over:
            return exits.OK
        time.sleep(POLL_S)


def _show(view: View, store: Store, values: Values) -> None:
    status = view.status(store.tasks())
    if JSON.name in values:
        print_json(status.model_dump(mode="json"))
    else:
        _print(view, status)
    sys.stdout.flush()


def _print(view: View, status: StatusFile) -> None:
    from nexus_mcp.quoting import inert
    from nexus_mcp.run.costs import cost_text
    from nexus_mcp.run.report import next_commands

    progress, spent = status.progress, cost_text(view.state)
    print(f"{status.run.id}: {status.run.status}  {inert(status.run.feature)}")
    print(
        f"{progress.passed} of {progress.total} tasks completed, {progress.failed} failed, {progress.paused} paused, "
        f"{progress.blocked} blocked, {progress.skipped} skipped, {progress.pending} pending; "
        f"{count_noun(status.iterations, 'attempt')}, {spent}, {_long(status.durationMs)}"
    )
    if view.holder is not None:
        print(f"at work: process {view.holder.pid} on {inert(view.holder.host)} since {view.holder.since}")
    for record in view.state.tasks.values():
        last = record.last
        is_at_work = record.state in ("running", "merging")
        phase = "" if last is None else f"{f', {last.phase}' if is_at_work else ''}, attempt {last.attempt.number}"
        reason = f": {inert(' '.join(record.reason.split()))[:200]}" if record.reason else ""
        print(f"  task {record.id}: {record.state}{phase}{reason}")
    for question in status.questions:
        print(f"  question {question.id}: {inert(question.summary)[:500]}")
        print(f"    nexus-mcp run answer {question.id} TEXT")
    if view.is_crashed:
        print("Its executor died. nexus-mcp run takes it up again; nothing is lost.")
    elif view.holder is None:
        for command in next_commands(view.state, view.header.get("tasks") or {"tasks": []}):
            print(f"  {command}")


def _long(ms: int) -> str:
    return f"{ms // 60_000} min" if ms >= 60_000 else f"{ms // 1000} s"


COMMAND = Command(
    "status",
    "show how far a run is",
    "Shows the tasks of a run, its questions, and whether its executor is alive.",
    (FOLLOW, JSON, *PROJECT_ONLY),
    run,
    argument=RUN,
    examples=(("nexus-mcp run status --follow", "show the run until it ends"),),
)
