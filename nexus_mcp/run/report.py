"""Collect the report of a run: its tasks with their agents and attempts, and the remaining work.

Texts of tasks and agents are data: in Markdown they are escaped. report_html.py renders the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nexus_mcp.quoting import ESCAPED, inert
from nexus_mcp.run import events as ev
from nexus_mcp.run import log_entries
from nexus_mcp.run.projection import AttemptRecord, RunRecord, TaskRecord
from nexus_mcp.run.status import milliseconds
from nexus_mcp.state.tasks import COMPLETED

UNKNOWN = "unknown cost"
_LONGEST = 400
_MINUTE_S = 60
_MARKUP = re.compile(r"[\\*\[\]~&|]|(?<![^\W_])_|_(?![^\W_])")
"""Characters that can begin or end markup within a line of Markdown; `[` also begins an image."""


def markdown(state: RunRecord, document: Mapping[str, Any], log: Sequence[ev.AnyEvent], *, merge: str = "") -> str:
    """Return the report as Markdown. `document` is tasks.json; `merge` says why the work is not merged, or is ""."""
    lines = [f"# {state.run}", "", *_summary(state, document), ""]
    lines += ["| Task | State | Agent | Attempts | Why |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows(state, document)]
    steps = timelines(log)
    for record in attempted_tasks(state):
        lines += ["", f"## Task {record.id}: {_text(title_of(document, record.id))}", ""]
        lines += [f"- {_text(line)}" for line in steps.get(record.id, ())]
    lines += ["", "## What is left", "", *[f"- {line}" for line in remaining_steps(state, document, merge, _text)]]
    return "\n".join(lines) + "\n"


def next_commands(state: RunRecord, document: Mapping[str, Any], merge: str = "") -> list[str]:
    """Return the commands for the next steps, the most useful first; [] if no step is left."""
    questions = state.open_questions()
    asking = {one.task for one in questions}
    found = [f"nexus-mcp run answer {one.id} TEXT" for one in questions]
    for task in document["tasks"]:
        record = state.tasks.get(task["id"])
        is_stuck = record is not None and record.state in ("paused", "failed")
        if task["status"] != COMPLETED and is_stuck and task["id"] not in asking:
            found.append(f"nexus-mcp run retry {task['id']}")
    is_over = state.ended is not None and state.ended.status in ("completed", "failed")
    if found or not is_over:
        found.append("nexus-mcp run")
    if merge and state.unverified:  # `run merge` refuses unverified work
        return [*found, f"git diff HEAD...nexus/{state.run}/integration"]
    return [*found, f"nexus-mcp run merge {state.run}"] if merge else found


def _summary(state: RunRecord, document: Mapping[str, Any]) -> list[str]:
    return [_text(str(document.get("goal", ""))), "", status_line(state, document)]


def status_line(state: RunRecord, document: Mapping[str, Any]) -> str:
    """Return one line with the status of the run, its totals and its base commit."""
    ended = "running" if state.ended is None else state.ended.status
    return f"Status {ended}: {totals(state, document)}. Base commit {state.base[:10]}."


def totals(state: RunRecord, document: Mapping[str, Any]) -> str:
    """Return a text with the number of completed tasks, the attempts, the time and the cost."""
    seconds = milliseconds(state.started_at, state.updated_at) / 1000
    took = f"{seconds / 60:.1f} minutes" if seconds >= _MINUTE_S else f"{seconds:.0f} seconds"
    count = sum(len(task.attempts) for task in state.tasks.values())
    attempts = f"{count} attempt{'s' * (count != 1)}"
    done = sum(task["status"] == COMPLETED for task in document["tasks"])
    tasks = f"{done} of {len(document['tasks'])} tasks completed"
    return f"{tasks}, {attempts}, {took}, {cost_text(state)}"


def cost_text(state: RunRecord) -> str:
    """Return the text of the cost so far. An unknown cost is never shown as 0.

    If the cost of a session is missing, the sum is a lower bound.
    """
    if state.is_cost_known and not state.unpriced:
        return f"{state.cost_usd:.2f} USD"
    return f"at least {state.cost_usd:.2f} USD" if state.cost_usd else UNKNOWN


def rows(state: RunRecord, document: Mapping[str, Any]) -> Iterable[list[str]]:
    """Yield the cells of each task: id and title, state, agents, number of attempts, reason."""
    for task in document["tasks"]:
        record = state.tasks.get(task["id"], TaskRecord(task["id"]))
        shown = "completed" if task["status"] == COMPLETED else record.state
        agents = ", ".join(dict.fromkeys(_agent(one) for one in record.attempts)) or str(task.get("owner", ""))
        yield [f"{task['id']} {task['title']}", shown, agents, str(len(record.attempts)), record.reason]


def _agent(attempt: AttemptRecord) -> str:
    return f"{attempt.agent or 'plain session'} ({attempt.harness}, {attempt.attempt.tier})"


def attempted_tasks(state: RunRecord) -> list[TaskRecord]:
    """Return the tasks with an attempt in the order of their ids."""
    return [state.tasks[id_] for id_ in sorted(state.tasks) if state.tasks[id_].attempts]


def timelines(log: Iterable[ev.AnyEvent]) -> dict[int, list[str]]:
    """Return task id -> a line for each event of the task whose level is not `debug`."""
    found: dict[int, list[str]] = {}
    for event in log:
        if event.task is not None and log_entries.level(event) != "debug":
            found.setdefault(event.task, []).append(f"{event.at[11:19]} {log_entries.message(event)}")
    return found


def remaining_steps(state: RunRecord, document: Mapping[str, Any], merge: str, text: Callable[[str], str]) -> list[str]:
    """Return a line for each task and step that is left, with commands, branches and paths between backticks, or the
    line "Nothing." if none is left. `text` escapes stored texts for the format of the report.
    """
    found = []
    for task in document["tasks"]:
        record = state.tasks.get(task["id"], TaskRecord(task["id"]))
        if task["status"] == COMPLETED:
            continue
        last = record.last
        place = f" Its work is on `{last.branch}`" if last is not None and last.branch else ""
        where = f" and in `{last.worktree}`" if last is not None and last.worktree and record.state != "failed" else ""
        reason = text(record.reason) or "not started"
        found.append(
            f"Task {task['id']} is {record.state}: {_end_sentence(reason)}{place}{where}{'.' if place else ''}"
        )
    if merge:
        found.append(f"Your branch does not have this run yet: {_end_sentence(text(merge))}")
    commands = next_commands(state, document, merge)
    found += [f"Go on: `{command}`" for command in commands]
    return found or ["Nothing."]


def _end_sentence(text: str) -> str:
    """Return a text with a full stop at its end, unless it already ends with punctuation."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def title_of(document: Mapping[str, Any], id_: int) -> str:
    """Return the title of a task, "" if the task no longer exists."""
    return next((str(task["title"]) for task in document["tasks"] if task["id"] == id_), "")


def _text(text: str) -> str:
    """Return stored text on one line that is neither Markdown nor HTML."""
    flat = inert(" ".join(text.split())[:_LONGEST]).replace("`", "'")
    return ESCAPED.join(_MARKUP.sub(r"\\\g<0>", part) for part in flat.split(ESCAPED)).replace("<", ESCAPED)


def _cell(text: str) -> str:
    return _text(text) or " "
