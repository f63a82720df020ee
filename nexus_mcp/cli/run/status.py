"""`nexus-mcp run status [RUN]`: print how far a run is, and whether its executor is alive."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command, count_noun
from nexus_mcp.cli.run.options import FOLLOW, POLL_S, PROJECT_ONLY, RUN, opened_store, run_name
from nexus_mcp.cli.workspace_options import JSON, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.run.status import StatusFile
    from nexus_mcp.run.view import View

_TITLE = 60
_QUESTION_SHOWN = 4000


def run(values: Values) -> int:
    """Print the status; with --follow show changes until no executor works on the run."""
    from nexus_mcp.run.view import open_view

    _, store = opened_store(values)
    is_followed, is_json = FOLLOW.name in values, JSON.name in values
    name, seen = run_name(values), 0
    with _screen(is_live=is_followed and not is_json) as show:
        while True:
            with open_view(store, name) as view:
                name = view.id
                is_over = view.holder is None
                tasks = store.tasks()
                if is_json and view.state.seq != seen:
                    print_json(view.status(tasks).model_dump(mode="json"))
                    sys.stdout.flush()
                elif not is_json:
                    show(view.state.seq, status_lines(view, view.status(tasks), tasks))
                seen = view.state.seq
            if not is_followed or is_over:
                return exits.OK
            time.sleep(POLL_S)


@contextmanager
def _screen(*, is_live: bool) -> Iterator[Callable[[int, list[str]], None]]:
    """Yield a function that shows (number of the last event, lines). On a terminal, with `is_live`, new lines replace
    the old ones; otherwise lines are printed if the number is new, separated by an empty line.
    """
    if not (is_live and sys.stdout.isatty()):
        shown: list[int] = []

        def add(seq: int, lines: list[str]) -> None:
            if shown[-1:] != [seq]:
                print("\n".join([*([""] if shown else []), *lines]), flush=True)
                shown.append(seq)

        yield add
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
        yield lambda _, lines: live.update(Text("\n".join(lines)), refresh=True)


def status_lines(view: View, status: StatusFile, document: dict[str, Any] | None) -> list[str]:
    """Return the lines of a run for people. `document` is tasks.json, None if there is none."""
    from nexus_mcp.quoting import inert
    from nexus_mcp.run.report import cost_text, next_commands

    progress = status.progress
    counts = ("failed", "paused", "blocked", "skipped", "pending")
    numbers = [f"{number} {name}" for name in counts if (number := getattr(progress, name))]
    found = [
        f"{status.run.id}: {status.run.status}  {inert(status.run.feature)}",
        f"{', '.join((f'{progress.passed} of {progress.total} tasks completed', *numbers))}; "
        f"{count_noun(status.iterations, 'attempt')}, {cost_text(view.state)}, {_long(status.durationMs)}",
    ]
    if view.holder is not None:
        found.append(f"at work: process {view.holder.pid} on {inert(view.holder.host)} since {view.holder.since}")
    tasks = document if document is not None and document.get("tasks") else view.header.get("tasks") or {"tasks": []}
    for question in status.questions:
        found.append(f"  question {question.id}: {inert(question.summary)[:_QUESTION_SHOWN]}")
        if view.holder is not None:
            found.append(f"    nexus-mcp run answer {question.id} TEXT")
    found += [f"  {_task(task, view, tasks['tasks'])}" for task in tasks["tasks"] if _is_chosen(task, view)]
    if view.is_crashed:
        found.append("Its executor died. nexus-mcp run continues the run; nothing is lost.")
    elif view.holder is None:
        found += [f"  {command}" for command in next_commands(view.state, tasks)]
    return found


def _is_chosen(task: dict[str, Any], view: View) -> bool:
    chosen = (view.header.get("options") or {}).get("tasks")
    return chosen is None or task["id"] in chosen


def _task(task: dict[str, Any], view: View, tasks: list[dict[str, Any]]) -> str:
    """Return the line of a task: its state or open dependencies, its last attempt, its title, and a reason."""
    from nexus_mcp.quoting import inert
    from nexus_mcp.state.tasks import COMPLETED

    record = view.state.task(task["id"])
    last, is_at_work = record.last, record.state in ("running", "merging")
    is_done = task.get("status") == COMPLETED
    done = {one["id"] for one in tasks if one.get("status") == COMPLETED}
    open_deps = [str(dep) for dep in task.get("deps", ()) if dep not in done]
    words: list[str] = ["completed" if is_done else record.state]
    if record.state == "waiting" and not is_done and open_deps:
        words = [f"waits for {', '.join(open_deps)}"]
    if last is not None:
        words += [last.phase] if is_at_work else []
        words += [f"attempt {last.attempt.number}"]
        words += [inert(last.agent or last.harness)] if is_at_work else []
    reason = f": {inert(' '.join(record.reason.split()))[:200]}" if record.reason and not is_done else ""
    title = inert(" ".join(str(task.get("title", "")).split())[:_TITLE])
    return f"task {task['id']}: {', '.join(words)}  {title}{reason}"


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
