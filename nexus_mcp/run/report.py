"""Write the report of a run, in Markdown and HTML: what was done, by whom, in how many attempts, and what is left.

Texts of tasks and agents are data: they are shown inert in Markdown, and escaped in HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from nexus_mcp.quoting import inert
from nexus_mcp.run import events as ev
from nexus_mcp.run import log_entries
from nexus_mcp.run.costs import cost_text
from nexus_mcp.run.projection import AttemptRecord, RunRecord, TaskRecord
from nexus_mcp.run.run_folder import write_file
from nexus_mcp.run.status import milliseconds
from nexus_mcp.state.tasks import COMPLETED
from nexus_mcp.store.folder import Folder

MARKDOWN, HTML = "report.md", "report.html"
_LONGEST = 400
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1d2129}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ddd;padding:.3rem .5rem;text-align:left;"
    "vertical-align:top}code,pre{background:#f4f5f7;border-radius:4px;padding:.1rem .3rem}pre{padding:.6rem;"
    "overflow:auto}.completed{color:#116329}.failed,.paused{color:#a40e26}"
    "@media(prefers-color-scheme:dark){body{background:#15181d;color:#dfe3e8}code,pre{background:#22262d}"
    "td,th{border-color:#333}.completed{color:#56d364}.failed,.paused{color:#ff7b72}}"
)


def markdown(state: RunRecord, document: Mapping[str, Any], log: Sequence[ev.AnyEvent], *, merge: str = "") -> str:
    """Return the report as Markdown. `document` is tasks.json; `merge` says why nothing was merged, "" if it was."""
    lines = [f"# {state.run}", "", *_summary(state, document), ""]
    lines += ["| Task | State | Agent | Attempts | Why |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in _rows(state, document)]
    steps = _timelines(log)
    for record in _worked(state):
        lines += ["", f"## Task {record.id}: {_text(_title(document, record.id))}", ""]
        lines += [f"- {_text(line)}" for line in steps.get(record.id, ())]
    lines += ["", "## What is left", "", *[f"- {line}" for line in _left(state, document, merge)]]
    return "\n".join(lines) + "\n"


def html(state: RunRecord, document: Mapping[str, Any], log: Sequence[ev.AnyEvent], *, merge: str = "") -> str:
    """Return the report as one HTML page without links to other hosts."""
    rows = "".join(
        f"<tr>{''.join(f'<td class={_class(cell)}>{escape(inert(cell))}</td>' for cell in row)}</tr>"
        for row in _rows(state, document)
    )
    head = "".join(f"<th>{name}</th>" for name in ("Task", "State", "Agent", "Attempts", "Why"))
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        f"<title>{escape(state.run)}</title><style>{_STYLE}</style></head><body><h1>{escape(state.run)}</h1>",
        *(f"<p>{escape(inert(line))}</p>" for line in _summary(state, document) if line),
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>",
    ]
    timelines = _timelines(log)
    for record in _worked(state):
        title = escape(inert(_title(document, record.id)))
        steps = "".join(f"<li>{escape(line)}</li>" for line in timelines.get(record.id, ()))
        parts.append(f"<details><summary>Task {record.id}: {title}</summary><ol>{steps}</ol></details>")
    left = "".join(f"<li>{escape(line.replace('`', ''))}</li>" for line in _left(state, document, merge))
    return "".join((*parts, f"<h2>What is left</h2><ul>{left}</ul></body></html>\n"))


def write(
    folder: Folder, text: str, state: RunRecord, document: Mapping[str, Any], log: Sequence[ev.AnyEvent], *, merge: str
) -> None:
    """Write both forms into the folder of the run; `text` is the Markdown. Raise StorageError."""
    write_file(folder, MARKDOWN, text.encode("utf-8", "backslashreplace"))
    page = html(state, document, log, merge=merge)
    write_file(folder, HTML, page.encode("utf-8", "backslashreplace"))


def next_commands(state: RunRecord, document: Mapping[str, Any], merge: str = "") -> list[str]:
    """Return the commands that go on from here, the most useful first; [] when everything is done and merged."""
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
    return [*found, f"nexus-mcp run merge {state.run}"] if merge else found


def _summary(state: RunRecord, document: Mapping[str, Any]) -> list[str]:
    ended = "running" if state.ended is None else state.ended.status
    goal = _text(str(document.get("goal", "")))
    return [goal, "", f"Status {ended}: {totals(state, document)}. Base commit {state.base[:10]}."]


def totals(state: RunRecord, document: Mapping[str, Any]) -> str:
    """Return how many tasks are completed, and what that took."""
    minutes = milliseconds(state.started_at, state.updated_at) / 60_000
    count = sum(len(task.attempts) for task in state.tasks.values())
    attempts = f"{count} attempt{'s' * (count != 1)}"
    done = sum(task["status"] == COMPLETED for task in document["tasks"])
    tasks = f"{done} of {len(document['tasks'])} tasks completed"
    return f"{tasks}, {attempts}, {minutes:.1f} minutes, {cost_text(state)}"


def _rows(state: RunRecord, document: Mapping[str, Any]) -> Iterable[list[str]]:
    for task in document["tasks"]:
        record = state.tasks.get(task["id"], TaskRecord(task["id"]))
        shown = "completed" if task["status"] == COMPLETED else record.state
        agents = ", ".join(dict.fromkeys(_agent(one) for one in record.attempts)) or str(task.get("owner", ""))
        yield [f"{task['id']} {task['title']}", shown, agents, str(len(record.attempts)), record.reason]


def _agent(attempt: AttemptRecord) -> str:
    return f"{attempt.agent or 'plain session'} ({attempt.harness}, {attempt.attempt.tier})"


def _worked(state: RunRecord) -> list[TaskRecord]:
    return [state.tasks[id_] for id_ in sorted(state.tasks) if state.tasks[id_].attempts]


def _timelines(log: Iterable[ev.AnyEvent]) -> dict[int, list[str]]:
    """Return for each task a line for each of its events that a person wants to see."""
    found: dict[int, list[str]] = {}
    for event in log:
        if event.task is not None and log_entries.level(event) != "debug":
            found.setdefault(event.task, []).append(f"{event.at[11:19]} {log_entries.message(event)}")
    return found


def _left(state: RunRecord, document: Mapping[str, Any], merge: str) -> list[str]:
    found = []
    for task in document["tasks"]:
        record = state.tasks.get(task["id"], TaskRecord(task["id"]))
        if task["status"] == COMPLETED:
            continue
        last = record.last
        place = f"; its work is on `{last.branch}`" if last is not None and last.branch else ""
        where = f" and in `{last.worktree}`" if last is not None and last.worktree and record.state != "failed" else ""
        reason = _text(record.reason) or "not started"
        found.append(f"Task {task['id']} is {record.state}: {reason}{place}{where}")
    if merge:
        found.append(f"Your branch does not have this run yet: {_text(merge)}.")
    commands = next_commands(state, document, merge)
    found += [f"Go on: `{command}`" for command in commands]
    return found or ["Nothing."]


def _title(document: Mapping[str, Any], id_: int) -> str:
    return next((str(task["title"]) for task in document["tasks"] if task["id"] == id_), "")


def _text(text: str) -> str:
    """Return stored text on one line that is neither Markdown nor HTML."""
    flat = " ".join(text.split())[:_LONGEST]
    return inert(flat).replace("\\", "\\\\").replace("<", "&lt;").replace("`", "'").replace("*", "\\*")


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|") or " "


def _class(text: str) -> str:
    return text if text in ("completed", "failed", "paused") else "plain"
